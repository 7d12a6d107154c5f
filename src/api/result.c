/* SPDX-License-Identifier: MIT */
#include "api/result.h"

#include "base/alloc.h"
#include <shoal/errors.h>
#include <stdio.h>

int shoal_result_status(const shoal_result_t *result)
{
    return result->status;
}

shoal_fate_t shoal_result_fate(const shoal_result_t *result)
{
    return result->fate;
}

const shoal_reply_t *shoal_result_reply(const shoal_result_t *result)
{
    return result->reply;
}

const char *shoal_result_detail(const shoal_result_t *result)
{
    return result->detail;
}

uint32_t shoal_result_attempts(const shoal_result_t *result)
{
    return result->attempts;
}

uint64_t shoal_result_ticket(const shoal_result_t *result)
{
    return result->ticket;
}

bool shoal_result_is_settled(const shoal_result_t *result)
{
    return result->is_settled;
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

shoal__owned_result_t *shoal__result_new(void)
{
    shoal__arena_t *arena = shoal__arena_new();
    shoal__owned_result_t *owned =
        arena ? shoal__arena_alloc(arena, sizeof *owned) : NULL;

    if (!owned) {
        shoal__arena_release(arena);
        return NULL;
    }
    owned->arena = arena;
    owned->kept = NULL;
    return owned;
}

/* A tree is there for good if it is retained; a view has to be copied. */
static const shoal_reply_t *keep_reply(shoal__owned_result_t *to,
                                       const shoal_reply_t *reply)
{
    if (!reply->arena)
        return shoal__reply_copy(reply, to->arena);
    to->kept = shoal_reply_retain(reply);
    return to->kept;
}

void shoal__result_keep(shoal__owned_result_t *to, const shoal_result_t *from)
{
    to->result = *from;
    to->result.detail = to->detail;
    to->detail[0] = '\0';
    if (from->detail[0])
        snprintf(to->detail, sizeof to->detail, "%s", from->detail);
    if (!from->reply)
        return;
    to->result.reply = keep_reply(to, from->reply);
    if (!to->result.reply) {
        to->result.status = SHOAL_ENOMEM;
        to->result.is_settled = false;
        to->result.fate = SHOAL_FATE_REPLY_LOST;
        snprintf(to->detail, sizeof to->detail, "no memory to keep the reply");
    }
}

void shoal_result_release(shoal_result_t *result)
{
    shoal__owned_result_t *owned = (shoal__owned_result_t *)result;

    if (!owned)
        return;
    shoal_reply_release(owned->kept);
    shoal__arena_release(owned->arena);
}
