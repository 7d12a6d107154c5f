/* SPDX-License-Identifier: MIT */
#include "client/owned_result.h"

#include <shoal/errors.h>
#include <stdio.h>

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

void shoal__result_release(shoal__owned_result_t *owned)
{
    if (!owned)
        return;
    shoal_reply_release(owned->kept);
    shoal__arena_release(owned->arena);
}
