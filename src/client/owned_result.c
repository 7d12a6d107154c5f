/* SPDX-License-Identifier: MIT */
#include "client/owned_result.h"

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
    owned->parts = NULL;
    return owned;
}

/* A reply in an arena is retained; a view into the read buffer is copied. */
void shoal__result_keep(shoal__owned_result_t *to, const shoal_result_t *from)
{
    shoal_result_t rest = *from;

    if (from->reply && from->reply->arena) {
        to->kept = shoal_reply_retain(from->reply);
        rest.reply = NULL;
    }
    if (from->parts) {
        shoal__arena_retain(from->parts->arena);
        to->parts = from->parts->arena;
        rest.parts = NULL;
    }
    shoal__result_copy(&to->result, &rest, to->arena);
    if (to->kept)
        to->result.reply = to->kept;
    to->result.parts = from->parts;
}

void shoal__result_release(shoal__owned_result_t *owned)
{
    if (!owned)
        return;
    shoal_reply_release(owned->kept);
    shoal__arena_release(owned->parts);
    shoal__arena_release(owned->arena);
}
