/* SPDX-License-Identifier: MIT */
#include "core/result.h"

#include <shoal/errors.h>
#include <string.h>

/* NULL: there is no such text, or no memory for it. */
static const char *copy_text(const char *text, shoal__arena_t *arena)
{
    size_t bytes = text ? strlen(text) + 1 : 0;
    char *copy = bytes > 1 ? shoal__arena_alloc(arena, bytes) : NULL;

    return copy ? memcpy(copy, text, bytes) : NULL;
}

/* A part has no parts. */
static void copy_one(shoal_result_t *to, const shoal_result_t *from,
                     shoal__arena_t *arena)
{
    const char *detail = copy_text(from->detail, arena);
    bool is_said = from->detail && from->detail[0];

    *to = *from;
    if (!detail)
        to->detail = is_said ? "no memory for the reason" : "";
    else
        to->detail = detail;
    to->node = copy_text(from->node, arena);
    to->parts = NULL;
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

shoal__result_parts_t *shoal__result_parts_new(shoal__arena_t *arena, size_t count)
{
    shoal__result_parts_t *parts =
        shoal__arena_alloc(arena, sizeof *parts + count * sizeof *parts->items);

    if (!parts)
        return NULL;
    memset(parts, 0, sizeof *parts + count * sizeof *parts->items);
    parts->arena = arena;
    parts->count = count;
    return parts;
}

void shoal__result_copy(shoal_result_t *to, const shoal_result_t *from,
                        shoal__arena_t *arena)
{
    const shoal__result_parts_t *theirs = from->parts;
    shoal__result_parts_t *parts;

    copy_one(to, from, arena);
    parts = theirs ? shoal__result_parts_new(arena, theirs->count) : NULL;
    for (size_t i = 0; parts && i < theirs->count; i++)
        copy_one(&parts->items[i], &theirs->items[i], arena);
    to->parts = parts;
}
