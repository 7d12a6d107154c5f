/* SPDX-License-Identifier: MIT */
#include <shoal/result.h>

#include "client/owned_result.h"
#include <shoal/errors.h>

/* A call that was refused, or is pending, left none. */
static const char no_result[] = "there is no result";

int shoal_result_status(const shoal_result_t *result)
{
    return result ? result->status : SHOAL_EINVAL;
}

shoal_fate_t shoal_result_fate(const shoal_result_t *result)
{
    return result ? result->fate : SHOAL_FATE_UNKNOWN;
}

const shoal_reply_t *shoal_result_reply(const shoal_result_t *result)
{
    return result ? result->reply : NULL;
}

const char *shoal_result_detail(const shoal_result_t *result)
{
    return result ? result->detail : no_result;
}

const char *shoal_result_error(const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);

    if (!result)
        return no_result;
    if (result->status < 0)
        return result->detail[0] ? result->detail : shoal_strerror(result->status);
    return reply && reply->type == SHOAL_REPLY_ERROR ? reply->as.text.data : NULL;
}

bool shoal_result_is_offline(const shoal_result_t *result)
{
    return result && result->is_offline;
}

uint32_t shoal_result_attempts(const shoal_result_t *result)
{
    return result ? result->attempts : 0;
}

uint32_t shoal_result_redirects(const shoal_result_t *result)
{
    return result ? result->redirects : 0;
}

const char *shoal_result_node(const shoal_result_t *result)
{
    return result && result->node ? result->node : "";
}

int shoal_result_slot(const shoal_result_t *result)
{
    return result ? (int)result->slot_1 - 1 : -1;
}

bool shoal_result_was_reordered(const shoal_result_t *result)
{
    return result && result->was_reordered;
}

uint64_t shoal_result_ticket(const shoal_result_t *result)
{
    return result ? result->ticket : 0;
}

bool shoal_result_is_settled(const shoal_result_t *result)
{
    return result && result->is_settled;
}

size_t shoal_result_parts(const shoal_result_t *result)
{
    return result && result->parts ? result->parts->count : 0;
}

const shoal_result_t *shoal_result_part(const shoal_result_t *result, size_t index)
{
    return index < shoal_result_parts(result) ? &result->parts->items[index] : NULL;
}

const char *shoal_fate_name(shoal_fate_t fate)
{
    switch (fate) {
    case SHOAL_FATE_REPLIED:
        return "replied";
    case SHOAL_FATE_NOT_EXECUTED:
        return "not executed";
    case SHOAL_FATE_UNKNOWN:
        return "unknown";
    case SHOAL_FATE_REPLY_LOST:
        return "reply lost";
    }
    return "?";
}

void shoal_result_release(shoal_result_t *result)
{
    shoal__result_release((shoal__owned_result_t *)result);
}
