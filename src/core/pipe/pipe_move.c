/* SPDX-License-Identifier: MIT */
#include "core/pipe/pipe_move.h"

#include <assert.h>
#include <shoal/errors.h>
#include <string.h>

static void take_in(shoal__pipe_t *pipe, const shoal__request_t *request,
                    const char *bytes)
{
    shoal__request_t adopted = *request;

    /* Its ticket is not the highest of this ring. */
    adopted.flags |= SHOAL__REQUEST_RETRIED;
    memcpy(shoal__buffer_reserve(&pipe->log, adopted.bytes), bytes, adopted.bytes);
    shoal__pipe_push(pipe, &adopted);
}

int shoal__pipe_adopt(shoal__pipe_t *pipe, const shoal__request_t *request,
                      const char *bytes, uint64_t now_us)
{
    if (!shoal__pipe_reserve(pipe, request->bytes, 1))
        return SHOAL_ENOMEM;
    take_in(pipe, request, bytes);
    shoal__stage_times_taken(&pipe->times, 1, now_us);
    return 0;
}

uint64_t shoal__pipe_watermark(const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    const shoal__request_t *next = shoal__request_ring_at(ring, ring->sent);
    bool is_begun = pipe->part_bytes > 0;
    uint64_t first, last;

    if (ring->sent == ring->tail)
        return ring->sent;
    if ((next->flags & SHOAL__REQUEST_UNIT) &&
        (is_begun || !(next->flags & SHOAL__REQUEST_UNIT_FIRST))) {
        shoal__request_ring_unit(ring, ring->sent, &first, &last);
        return last + 1;
    }
    return ring->sent + is_begun;
}

/* ---- a walk over what may move ---- */

typedef struct walk {
    shoal__pipe_t *from;
    shoal__pipe_picks_fn picks;
    void *data;
    uint64_t at, end; /* the command or unit that was picked last */
    size_t offset;    /* of its bytes in the log */
    size_t bytes;
} walk_t;

static walk_t begin_walk(shoal__pipe_t *from, shoal__pipe_picks_fn picks, void *data)
{
    walk_t walk = {.from = from, .picks = picks, .data = data};

    walk.at = walk.end = shoal__pipe_watermark(from);
    walk.offset = from->sent_bytes;
    for (uint64_t at = from->ring.sent; at != walk.end; at++)
        walk.offset += shoal__request_ring_at(&from->ring, at)->bytes;
    return walk;
}

static bool is_picked(const walk_t *walk, const shoal__request_t *request,
                      const char *bytes)
{
    return !(request->flags & SHOAL__REQUEST_INTERNAL) &&
           (!walk->picks || walk->picks(walk->data, request, bytes));
}

/* Go to the next command, or unit, and say whether it is picked. */
static bool look_at_next(walk_t *walk)
{
    const shoal__request_ring_t *ring = &walk->from->ring;
    const char *log = shoal__buffer_data(&walk->from->log);
    uint64_t first, last = walk->end;
    bool is_wanted = false;

    walk->at = walk->end;
    walk->offset += walk->bytes;
    walk->bytes = 0;
    if (shoal__request_ring_at(ring, walk->at)->flags & SHOAL__REQUEST_UNIT)
        shoal__request_ring_unit(ring, walk->at, &first, &last);
    for (walk->end = walk->at; walk->end != last + 1; walk->end++) {
        const shoal__request_t *request = shoal__request_ring_at(ring, walk->end);
        is_wanted =
            is_wanted || is_picked(walk, request, log + walk->offset + walk->bytes);
        walk->bytes += request->bytes;
    }
    return is_wanted;
}

/* False: there is none any more. */
static bool walk_on(walk_t *walk)
{
    while (walk->end != walk->from->ring.tail)
        if (look_at_next(walk))
            return true;
    return false;
}

/* ---- moving ---- */

/* The slots stay, until the sweep, without what belongs to the other pipe now. */
static void carry_over(const walk_t *walk, shoal__pipe_t *to)
{
    shoal__request_ring_t *ring = &walk->from->ring;
    const char *bytes = shoal__buffer_data(&walk->from->log) + walk->offset;

    for (uint64_t at = walk->at; at != walk->end; at++) {
        shoal__request_t *request = shoal__request_ring_at(ring, at);

        take_in(to, request, bytes);
        bytes += request->bytes;
        (void)shoal__pipe_take_extra(walk->from, at); /* it is the other pipe's */
        shoal__request_ring_remove(ring, at);
    }
}

static void move_retries(const walk_t *walk, shoal__pipe_t *to)
{
    shoal__retries_t *retries = &walk->from->retries;
    shoal__list_t *next;

    for (shoal__list_t *node = retries->waiting.next; node != &retries->waiting;
         node = next) {
        shoal__retry_t *retry = SHOAL__LIST_ENTRY(node, shoal__retry_t, node);
        next = node->next;
        if (is_picked(walk, &retry->request, retry->bytes))
            shoal__retries_put(&to->retries, shoal__retries_take(retries, retry));
    }
}

int shoal__pipe_move_queued(shoal__pipe_t *from, shoal__pipe_t *to,
                            shoal__pipe_picks_fn picks, void *data, uint64_t now_us)
{
    uint64_t commands = 0;
    size_t bytes = 0;

    assert(from != to && from->settled == 0);
    from->now_us = to->now_us = now_us;
    shoal__pipe_withdraw(from);
    shoal__pipe_sweep(from);
    for (walk_t walk = begin_walk(from, picks, data); walk_on(&walk);) {
        commands += walk.end - walk.at;
        bytes += walk.bytes;
    }
    if (commands > 0 && !shoal__pipe_reserve(to, bytes, commands))
        return SHOAL_ENOMEM;

    size_t referred_bytes = from->referred_bytes;
    walk_t walk = begin_walk(from, picks, data);
    move_retries(&walk, to);
    while (walk_on(&walk))
        carry_over(&walk, to);
    if (commands > 0) {
        shoal__stage_times_taken(&to->times, commands, now_us);
        bytes += referred_bytes - from->referred_bytes;
        shoal__flush_policy_removed(&from->flush, commands, bytes, now_us);
        shoal__pipe_sweep(from);
    }
    return 0;
}
