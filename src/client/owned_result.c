/* SPDX-License-Identifier: MIT */
#include "client/owned_result.h"

#include <shoal/errors.h>
#include <string.h>

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

/* A reply in an arena is retained; a view into the read buffer is copied. */
static const shoal_reply_t *keep_reply(shoal__owned_result_t *to,
                                       const shoal_reply_t *reply)
{
    if (!reply->arena)
        return shoal__reply_copy(reply, to->arena);
    to->kept = shoal_reply_retain(reply);
    return to->kept;
}

/* Without memory for the words the result has its code alone. */
static const char *keep_detail(shoal__owned_result_t *to, const char *detail)
{
    size_t bytes = strlen(detail) + 1;
    char *copy = bytes > 1 ? shoal__arena_alloc(to->arena, bytes) : NULL;

    return copy ? memcpy(copy, detail, bytes) : "";
}

void shoal__result_keep(shoal__owned_result_t *to, const shoal_result_t *from)
{
    to->result = *from;
    to->result.detail = keep_detail(to, from->detail);
    if (!from->reply)
        return;
    to->result.reply = keep_reply(to, from->reply);
    if (!to->result.reply) {
        to->result.status = SHOAL_ENOMEM;
        to->result.is_settled = false;
        to->result.fate = SHOAL_FATE_REPLY_LOST;
        to->result.detail = "no memory to keep the reply";
    }
}

void shoal__result_release(shoal__owned_result_t *owned)
{
    if (!owned)
        return;
    shoal_reply_release(owned->kept);
    shoal__arena_release(owned->arena);
}
