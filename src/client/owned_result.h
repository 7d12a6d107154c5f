/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_OWNED_RESULT_H
#define SHOAL_CLIENT_OWNED_RESULT_H

/* A result that outlives its callback: for completion queues as a copy in their arena,
 * for callers that block with an arena of its own.  The waiting thread allocates that
 * arena.  It has room for a small reply, so that the loop thread allocates nothing for
 * one. */

#include "core/result.h"
#include "resp/reply.h"

typedef struct shoal__owned_result {
    shoal_result_t result;     /* first: what the caller holds */
    shoal__arena_t *arena;     /* of this, and of the reply if it was copied */
    const shoal_reply_t *kept; /* retained instead */
    shoal__arena_t *parts;     /* of the result's parts, retained; or NULL */
} shoal__owned_result_t;

/* NULL: no memory.  Given back with shoal__result_release(). */
shoal__owned_result_t *shoal__result_new(void);
void shoal__result_release(shoal__owned_result_t *owned); /* NULL is allowed */

/* As shoal__result_copy() for `to`, which is new; a reply and parts that can be retained are
 * not copied. */
void shoal__result_keep(shoal__owned_result_t *to, const shoal_result_t *from);

#endif
