/* SPDX-License-Identifier: MIT */

/* One command is given up: its deadline passed, or it was cancelled. */

#include "core/lease.h"
#include "core/pipe/pipe_extent.h"
#include "core/pipe/pipe_overdue.h"
#include <shoal/errors.h>

static const char cancelled[] = "cancelled";

void shoal__pipe_withdraw(shoal__pipe_t *pipe)
{
    size_t bytes = 0;

    pipe->authorised = shoal__pipe_begun(pipe) - pipe->ring.sent;
    for (uint64_t i = 0; i < pipe->authorised; i++)
        bytes += shoal__request_wire_bytes(
            shoal__request_ring_at(&pipe->ring, pipe->ring.sent + i));
    pipe->authorised_bytes = bytes - pipe->part_bytes;
}

/* Take the request out; nothing of it is on the wire.  While a loss is settled,
 * start_over() brings log and policy up to date. */
static void remove_queued(shoal__pipe_t *pipe, uint64_t at,
                          const shoal__settlement_t *settlement, const char *detail)
{
    shoal__request_t request = *shoal__request_ring_at(&pipe->ring, at);
    size_t bytes = shoal__request_wire_bytes(&request);
    shoal__extra_t *extra = shoal__pipe_take_extra(pipe, at);

    shoal__request_ring_remove(&pipe->ring, at);
    if (pipe->settled == 0) {
        shoal__pipe_withdraw(pipe);
        shoal__flush_policy_removed(&pipe->flush, 1, bytes, pipe->now_us);
    }
    shoal__extra_drop(extra);
    shoal__pipe_deliver(pipe, &request, settlement->status, settlement->fate, NULL,
                        request.attempts, detail);
}

/* Deliver now; the bytes and the slot stay. */
static void make_zombie(shoal__pipe_t *pipe, uint64_t at,
                        const shoal__settlement_t *settlement, const char *detail)
{
    shoal__request_t *slot = shoal__request_ring_at(&pipe->ring, at);
    shoal__request_t request = *slot;

    pipe->fences.has_doubt = true;
    slot->flags |= SHOAL__REQUEST_ZOMBIE;
    slot->on_result = NULL;
    /* Its caller's memory goes with the result. */
    if (!shoal__pipe_is_written(pipe, at))
        shoal__pipe_copy_values(pipe, at);
    shoal__extra_t *extra = shoal__pipe_take_extra(pipe, at);
    /* A part of the reply may be there although the unit is only partly written: its
     * sink gets no more of it. */
    if (at == shoal__pipe_due(pipe))
        shoal__decoder_discard_current(pipe->decoder);
    shoal__extra_drop(extra);
    shoal__pipe_deliver(pipe, &request, settlement->status, settlement->fate, NULL,
                        request.attempts + (shoal__pipe_is_written(pipe, at) ? 1u : 0u),
                        detail);
}

/* Is it at the head, or behind nothing but commands of the library, which do not block? */
static bool is_next(const shoal__pipe_t *pipe, uint64_t at)
{
    uint64_t due = shoal__pipe_due(pipe);

    while (due < at &&
           (shoal__request_ring_at(&pipe->ring, due)->flags & SHOAL__REQUEST_INTERNAL))
        due++;
    return due == at;
}

/* The server holds the command at the head: may it be asked to let it go? */
static bool is_let_go(shoal__pipe_t *pipe, uint64_t at, shoal__ending_t ending)
{
    shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);

    if (!pipe->hooks.on_blocked || request->command_class != SHOAL__CLASS_BLOCK ||
        !is_next(pipe, at) || !shoal__pipe_is_written(pipe, at) ||
        !pipe->hooks.on_blocked(pipe->owner, request, ending))
        return false;
    request->deadline_us = pipe->now_us + SHOAL__PIPE_GRACE_US;
    shoal__deadlines_add(&pipe->deadlines, request->deadline_us);
    return true;
}

/* A command was given up before it was sent, and those behind it rely on what it would
 * have done. */
static void end_behind(shoal__pipe_t *pipe, uint64_t at)
{
    shoal__extent_t extent = {.first = at, .last = at};

    for (at++; at != pipe->ring.tail; at++) {
        if (shoal__request_is_unwanted(shoal__request_ring_at(&pipe->ring, at)))
            continue;
        shoal__extent_follow(&pipe->ring, at, &extent);
        shoal__settlement_t settlement =
            shoal__pipe_settle(pipe, at, &extent, SHOAL__ENDING_CANCEL, false, false);
        settlement.status = SHOAL_ECONN;
        remove_queued(pipe, at, &settlement, SHOAL__LEASE_GAP_TEXT);
    }
}

/* A unit goes as a whole: nothing of it has left. */
static void remove_extent(shoal__pipe_t *pipe, const shoal__extent_t *extent,
                          const shoal__settlement_t *settlement, const char *detail)
{
    for (uint64_t i = extent->first; i != extent->last + 1; i++)
        if (!shoal__request_is_unwanted(shoal__request_ring_at(&pipe->ring, i)))
            remove_queued(pipe, i, settlement, detail);
}

void shoal__pipe_fail_queued(shoal__pipe_t *pipe, uint64_t at, int status,
                             const char *detail)
{
    shoal__extent_t extent;

    shoal__extent_find(&pipe->ring, at, &extent);
    shoal__settlement_t settlement =
        shoal__pipe_settle(pipe, at, &extent, SHOAL__ENDING_CANCEL, false, false);
    settlement.status = status;
    remove_extent(pipe, &extent, &settlement, detail);
}

/* Deadline or cancel. */
static void end_one(shoal__pipe_t *pipe, uint64_t at, const shoal__extent_t *extent,
                    shoal__ending_t ending, const char *detail)
{
    shoal__settlement_t settlement =
        shoal__pipe_settle(pipe, at, extent, ending, false, false);
    /* Of a single command: a unit leaves nothing to rely on. */
    bool is_gap = shoal__request_ring_at(&pipe->ring, at)->flags & SHOAL__REQUEST_STATE;

    if (is_let_go(pipe, at, ending))
        return;
    if (settlement.action == SHOAL__SETTLE_ZOMBIE) {
        make_zombie(pipe, at, &settlement, detail);
        return;
    }
    remove_extent(pipe, extent, &settlement, detail);
    if (is_gap)
        end_behind(pipe, extent->last);
}

/* Not those that are held. */
static bool cancel_one(shoal__pipe_t *pipe, uint64_t ticket, uint64_t now_us)
{
    uint64_t at;
    shoal__extent_t extent;

    pipe->now_us = now_us;
    if (!shoal__request_ring_find(&pipe->ring, ticket, &at))
        return false;
    uint16_t flags = shoal__request_ring_at(&pipe->ring, at)->flags;
    shoal__extent_find(&pipe->ring, at, &extent);
    end_one(pipe, at, &extent,
            flags & SHOAL__REQUEST_OVERDUE ? SHOAL__ENDING_TIMEOUT
                                           : SHOAL__ENDING_CANCEL,
            cancelled);
    return true;
}

bool shoal__pipe_cancel(shoal__pipe_t *pipe, uint64_t ticket, uint64_t now_us)
{
    return cancel_one(pipe, ticket, now_us) ||
           (pipe->pen && cancel_one(pipe->pen, ticket, now_us));
}

void shoal__pipe_expire_due(shoal__pipe_t *pipe)
{
    shoal__overdue_words_t words;

    shoal__pipe_overdue_begin(pipe, &words);
    shoal__deadlines_walk(&pipe->deadlines,
                          (size_t)shoal__request_ring_length(&pipe->ring),
                          pipe->now_us);
    /* Callbacks may append commands meanwhile.  shoal__pipe_pushed() reports the
     * deadlines of those. */
    uint64_t end = pipe->ring.tail;
    shoal__extent_t extent = {.first = end, .last = end};
    for (uint64_t at = pipe->ring.head; at != end; at++) {
        const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
        if (shoal__request_is_unwanted(request))
            continue;
        if (request->deadline_us > pipe->now_us) {
            shoal__deadlines_add(&pipe->deadlines, request->deadline_us);
            continue;
        }
        shoal__extent_follow(&pipe->ring, at, &extent);
        end_one(pipe, at, &extent, SHOAL__ENDING_TIMEOUT,
                shoal__pipe_overdue(pipe, at, shoal__pipe_progress(pipe, at, &extent),
                                    &words));
    }
}
