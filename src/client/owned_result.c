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

/* Without memory for the words the result has its code alone. */
static const char *copy_words(const char *words, shoal__arena_t *arena)
{
    size_t bytes = strlen(words) + 1;
    char *copy = bytes > 1 ? shoal__arena_alloc(arena, bytes) : NULL;

    return copy ? memcpy(copy, words, bytes) : "";
}

void shoal__result_copy(shoal_result_t *to, const shoal_result_t *from,
                        shoal__arena_t *arena)
{
    *to = *from;
    to->detail = copy_words(from->detail, arena);
    to->node = from->node ? copy_words(from->node, arena) : NULL;
    if (!from->reply)
        return;
    to->reply = shoal__reply_copy(from->reply, arena);
    if (!to->reply) {
        to->status = SHOAL_ENOMEM;
        to->is_settled = false;
        to->fate = SHOAL_FATE_REPLY_LOST;
        to->detail = "no memory to keep the reply";
    }
}

/* A reply in an arena is retained; a view into the read buffer is copied. */
void shoal__result_keep(shoal__owned_result_t *to, const shoal_result_t *from)
{
    shoal_result_t rest = *from;

    if (from->reply && from->reply->arena) {
        to->kept = shoal_reply_retain(from->reply);
        rest.reply = NULL;
    }
    shoal__result_copy(&to->result, &rest, to->arena);
    if (to->kept)
        to->result.reply = to->kept;
}

void shoal__result_release(shoal__owned_result_t *owned)
{
    if (!owned)
        return;
    shoal_reply_release(owned->kept);
    shoal__arena_release(owned->arena);
}
