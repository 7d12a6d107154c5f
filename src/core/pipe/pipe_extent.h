/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_EXTENT_H
#define SHOAL_CORE_PIPE_EXTENT_H

/* What is sent and given up together, how far it got, and what becomes of it: what the
 * endings of one command (pipe_give_up.c) and of all (pipe_endings.c) have in common. */

#include "core/pipe/pipe.h"
#include "core/settle_rule.h"

/* No caller waits for its result, nor for what it begins: a unit may begin with requests of
 * our own. */
static inline bool shoal__request_is_unwanted(const shoal__request_t *request)
{
    return (request->flags & (SHOAL__REQUEST_ZOMBIE | SHOAL__REQUEST_GONE)) ||
           (request->flags & (SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_UNIT)) ==
               SHOAL__REQUEST_INTERNAL;
}

/* A unit, or one command. */
typedef struct shoal__extent {
    uint64_t first, last;
    bool is_whole; /* no part was answered or given up: it can be sent again */
} shoal__extent_t;

void shoal__extent_find(const shoal__request_ring_t *ring, uint64_t at,
                        shoal__extent_t *ret_extent);
/* The same for requests in turn: a long unit is walked once, not once for each part. */
void shoal__extent_follow(const shoal__request_ring_t *ring, uint64_t at,
                          shoal__extent_t *extent);

/* Was the last byte of the request handed over? */
static inline bool shoal__pipe_is_written(const shoal__pipe_t *pipe, uint64_t at)
{
    return at - pipe->ring.head < pipe->ring.sent - pipe->ring.head;
}

/* Did a byte of it leave?  What is committed has not: the server has not seen it. */
bool shoal__pipe_has_left(const shoal__pipe_t *pipe, const shoal__extent_t *extent);

/* How far the request at `at` got. */
shoal__progress_t shoal__pipe_progress(const shoal__pipe_t *pipe, uint64_t at,
                                       const shoal__extent_t *extent);

/* What settle_rule.c decides about it. */
shoal__settlement_t shoal__pipe_settle(const shoal__pipe_t *pipe, uint64_t at,
                                       const shoal__extent_t *extent,
                                       shoal__ending_t ending, bool may_retry,
                                       bool is_guilty);

#endif
