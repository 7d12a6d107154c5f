/* SPDX-License-Identifier: MIT */

/* The endings of a command other than its reply: deadline, cancel, loss of the
 * connection, close.  What each means is settle_rule.c's decision. */

#include "core/blame.h"
#include "core/lease.h"
#include "core/pipe/pipe_move.h"
#include <shoal/errors.h>
#include <stdio.h>

#define NOT_WANTED                                                                     \
    (SHOAL__REQUEST_ZOMBIE | SHOAL__REQUEST_GONE | SHOAL__REQUEST_INTERNAL)

/* What is sent and given up together: a unit, or one command. */
typedef struct extent {
    uint64_t first, last;
    bool is_whole; /* no part was answered or given up: it can be sent again */
} extent_t;

static void find_extent(const shoal__request_ring_t *ring, uint64_t at,
                        extent_t *ret_extent)
{
    extent_t extent = {.first = at, .last = at, .is_whole = true};

    if (shoal__request_ring_at(ring, at)->flags & SHOAL__REQUEST_UNIT) {
        shoal__request_ring_unit(ring, at, &extent.first, &extent.last);
        extent.is_whole = shoal__request_ring_at(ring, extent.first)->flags &
                          SHOAL__REQUEST_UNIT_FIRST;
        for (uint64_t i = extent.first; i != extent.last + 1 && extent.is_whole; i++)
            extent.is_whole =
                !(shoal__request_ring_at(ring, i)->flags & SHOAL__REQUEST_ZOMBIE);
    }
    *ret_extent = extent;
}

/* The same for requests in turn: a long unit is walked once, not once for each part. */
static void follow_extent(const shoal__request_ring_t *ring, uint64_t at,
                          extent_t *extent)
{
    if (at - extent->first > extent->last - extent->first)
        find_extent(ring, at, extent);
}

static bool is_written(const shoal__pipe_t *pipe, uint64_t at)
{
    return at - pipe->ring.head < pipe->ring.sent - pipe->ring.head;
}

/* How far the request at `at` got. */
static shoal__progress_t progress_of(const shoal__pipe_t *pipe, uint64_t at,
                                     const extent_t *extent)
{
    const shoal__request_ring_t *ring = &pipe->ring;

    if (at - ring->head < pipe->settled)
        return SHOAL__PROGRESS_QUEUED;
    if (is_written(pipe, extent->last)) {
        bool is_replying =
            at == ring->head && shoal__decoder_is_mid_reply(pipe->decoder);
        return is_replying ? SHOAL__PROGRESS_REPLYING : SHOAL__PROGRESS_WRITTEN;
    }
    if (!extent->is_whole || is_written(pipe, extent->first) ||
        (extent->first == ring->sent && pipe->part_bytes > 0))
        return SHOAL__PROGRESS_PARTLY;
    return SHOAL__PROGRESS_QUEUED;
}

/* The connection is lost inside a reply.  Whose is it?  ring.tail: there is none. */
static uint64_t cut_reply(const shoal__pipe_t *pipe)
{
    uint64_t at = pipe->ring.head + pipe->held.replies;

    if (shoal__decoder_is_mid_reply(pipe->decoder))
        return pipe->ring.head;
    return shoal__scanner_is_mid_reply(&pipe->held.scanner) ? at : pipe->ring.tail;
}

/* What the request at `at` has to do with the loss of the connection. */
static shoal__blame_t blame(const shoal__pipe_t *pipe, uint64_t at,
                            const extent_t *extent, uint64_t oldest)
{
    const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
    shoal__progress_t progress = progress_of(pipe, at, extent);

    /* A held reply proves nothing, but its place is enough for a suspicion. */
    if (progress == SHOAL__PROGRESS_WRITTEN && at == cut_reply(pipe))
        progress = SHOAL__PROGRESS_REPLYING;

    const shoal__blame_input_t input = {
        .progress = progress,
        .is_unit = (request->flags & SHOAL__REQUEST_UNIT) != 0,
        .is_refused = (pipe->is_part_refused && progress == SHOAL__PROGRESS_PARTLY) ||
                      (pipe->is_reply_refused && progress == SHOAL__PROGRESS_REPLYING),
        .is_oldest = at == oldest,
        .was_cut = (request->flags & SHOAL__REQUEST_CUT) != 0,
        .was_alone = (request->flags & SHOAL__REQUEST_ALONE) != 0,
        .was_lost = (request->flags & SHOAL__REQUEST_MAYBE) != 0,
    };
    return shoal__blame(&input);
}

/* For the next connection. */
static bool may_wait(const shoal__pipe_t *pipe)
{
    return pipe->config->queue_offline && !pipe->is_broken;
}

static shoal__settlement_t settle(const shoal__pipe_t *pipe, uint64_t at,
                                  const extent_t *extent, shoal__ending_t ending,
                                  bool may_retry, bool is_guilty)
{
    const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
    const shoal__settle_input_t input = {
        .ending = ending,
        .progress = progress_of(pipe, at, extent),
        .command_class = request->command_class,
        .is_idempotent = (request->flags & SHOAL__REQUEST_IDEMPOTENT) != 0,
        .is_once = (request->flags & SHOAL__REQUEST_ONCE) != 0,
        .is_unit = (request->flags & SHOAL__REQUEST_UNIT) != 0,
        .was_written = (request->flags & SHOAL__REQUEST_MAYBE) != 0,
        .may_retry = may_retry && extent->is_whole &&
                     request->attempts + 1u < pipe->config->attempts_max,
        .queue_offline = may_wait(pipe) && extent->is_whole,
        .is_guilty = is_guilty,
    };
    return shoal__settle(&input);
}

/* ---- one command ---- */

static const char cancelled[] = "cancelled";
static const char closed[] = "the client was closed";

void shoal__pipe_withdraw(shoal__pipe_t *pipe)
{
    if (pipe->part_bytes == 0) {
        pipe->authorised = 0;
        pipe->authorised_bytes = 0;
    } else {
        pipe->authorised = 1;
        pipe->authorised_bytes = shoal__request_wire_bytes(shoal__request_ring_at(
                                     &pipe->ring, pipe->ring.sent)) -
                                 pipe->part_bytes;
    }
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
    slot->ticket = 0;
    /* Its caller's memory goes with the result. */
    if (!is_written(pipe, at))
        shoal__pipe_copy_values(pipe, at);
    shoal__extra_t *extra = shoal__pipe_take_extra(pipe, at);
    /* A part of the reply may be there although the unit is only partly written: its
     * sink gets no more of it. */
    if (at == pipe->ring.head)
        shoal__decoder_discard_current(pipe->decoder);
    shoal__extra_drop(extra);
    shoal__pipe_deliver(pipe, &request, settlement->status, settlement->fate, NULL,
                        request.attempts + (is_written(pipe, at) ? 1u : 0u), detail);
}

/* The server holds the command at the head: may it be asked to let it go? */
static bool is_let_go(shoal__pipe_t *pipe, uint64_t at, shoal__ending_t ending)
{
    shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);

    if (!pipe->hooks.on_blocked || request->command_class != SHOAL__CLASS_BLOCK ||
        at != pipe->ring.head || !is_written(pipe, at) ||
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
    extent_t extent = {.first = at, .last = at};

    for (at++; at != pipe->ring.tail; at++) {
        if (shoal__request_ring_at(&pipe->ring, at)->flags & NOT_WANTED)
            continue;
        follow_extent(&pipe->ring, at, &extent);
        shoal__settlement_t settlement =
            settle(pipe, at, &extent, SHOAL__ENDING_CANCEL, false, false);
        settlement.status = SHOAL_ECONN;
        remove_queued(pipe, at, &settlement, SHOAL__LEASE_GAP_TEXT);
    }
}

/* Deadline or cancel. */
static void end_one(shoal__pipe_t *pipe, uint64_t at, const extent_t *extent,
                    shoal__ending_t ending, const char *detail)
{
    shoal__settlement_t settlement = settle(pipe, at, extent, ending, false, false);
    /* Of a single command: a unit leaves nothing to rely on. */
    bool is_gap = shoal__request_ring_at(&pipe->ring, at)->flags & SHOAL__REQUEST_STATE;

    if (is_let_go(pipe, at, ending))
        return;
    if (settlement.action == SHOAL__SETTLE_ZOMBIE) {
        make_zombie(pipe, at, &settlement, detail);
        return;
    }
    /* A unit goes as a whole: nothing of it has left. */
    for (uint64_t i = extent->first; i != extent->last + 1; i++) {
        if (!(shoal__request_ring_at(&pipe->ring, i)->flags & NOT_WANTED))
            remove_queued(pipe, i, &settlement, detail);
    }
    if (is_gap)
        end_behind(pipe, extent->last);
}

/* Not those that are held. */
static bool cancel_one(shoal__pipe_t *pipe, uint64_t ticket, uint64_t now_us)
{
    uint64_t at;
    extent_t extent;

    pipe->now_us = now_us;
    if (!shoal__request_ring_find(&pipe->ring, ticket, &at))
        return false;
    uint16_t flags = shoal__request_ring_at(&pipe->ring, at)->flags;
    if (flags & NOT_WANTED)
        return false;
    find_extent(&pipe->ring, at, &extent);
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

/* ---- all commands ---- */

/* A request whose result no caller waits for.  The owner hears of its own. */
static void drop_unwanted(shoal__pipe_t *pipe, uint64_t at, const char *detail)
{
    shoal__request_t request = *shoal__request_ring_at(&pipe->ring, at);

    if (request.flags & SHOAL__REQUEST_GONE)
        return;
    if ((request.flags & SHOAL__REQUEST_FENCE) && !is_written(pipe, at))
        pipe->fences.queued--; /* callbacks look at what is queued */
    shoal__request_ring_remove(&pipe->ring, at);
    if ((request.flags & SHOAL__REQUEST_INTERNAL) &&
        !(request.flags & SHOAL__REQUEST_FENCE))
        shoal__pipe_deliver(pipe, &request, SHOAL_ECONN, SHOAL_FATE_UNKNOWN, NULL, 0,
                            detail);
}

static void fail(shoal__pipe_t *pipe, uint64_t at,
                 const shoal__settlement_t *settlement, const char *words,
                 const char *detail)
{
    shoal__request_t request = *shoal__request_ring_at(&pipe->ring, at);
    char text[sizeof pipe->detail];

    if (words) {
        snprintf(text, sizeof text, "%s: %s", words, detail);
        detail = text;
    }
    shoal__extra_drop(shoal__pipe_take_extra(pipe, at));
    shoal__request_ring_remove(&pipe->ring, at);
    shoal__pipe_deliver(pipe, &request, settlement->status, settlement->fate, NULL,
                        request.attempts + (is_written(pipe, at) ? 1u : 0u), detail);
}

/* It stays in the ring, for the next connection. */
static void keep(shoal__pipe_t *pipe, uint64_t at, bool is_written_whole,
                 const shoal__blame_t *blamed)
{
    shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);

    if (is_written_whole) {
        request->attempts++;
        request->flags |= SHOAL__REQUEST_MAYBE;
    }
    if (is_written_whole || blamed->is_cut)
        shoal__counter_add(&pipe->stats.retries, 1);
    if (blamed->is_cut)
        request->flags |= SHOAL__REQUEST_CUT;
    if (blamed->travels_alone) {
        request->flags |= SHOAL__REQUEST_ALONE;
        shoal__request_ring_note_alone(&pipe->ring, at);
    }
}

/* The first command whose reply is missing; fences before it do not count. */
static uint64_t oldest_unanswered(const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    uint64_t at = ring->head + pipe->held.replies;

    while (at != ring->sent &&
           (shoal__request_ring_at(ring, at)->flags & SHOAL__REQUEST_FENCE))
        at++;
    return at;
}

/* Is the request at `at`, or any other part of its unit, to blame?  A unit is sent again
 * whole, or not at all. */
static bool is_extent_guilty(const shoal__pipe_t *pipe, const extent_t *extent,
                             uint64_t oldest)
{
    bool is_guilty = false;

    for (uint64_t at = extent->first; at != extent->last + 1 && !is_guilty; at++)
        is_guilty = blame(pipe, at, extent, oldest).is_guilty;
    return is_guilty;
}

/* Each command that travels alone costs all others a round trip: after one loss only so
 * many of the suspects do, the oldest, and those that were cut. */
#define ALONE_MAX 64

/* Settle every request.  However many are sent again, the budget pays one retry. */
static void settle_all(shoal__pipe_t *pipe, shoal__ending_t ending, const char *detail)
{
    bool is_allowed = shoal__retry_budget_allows(&pipe->budget), is_spent = false;
    uint64_t end = pipe->ring.tail, oldest = oldest_unanswered(pipe), judged = end;
    extent_t extent = {.first = end, .last = end};
    bool is_guilty = false;
    unsigned alone = 0;

    for (uint64_t at = pipe->ring.head; at != end; at++) {
        const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
        bool is_lost = ending != SHOAL__ENDING_SHUTDOWN && is_written(pipe, at);
        if (request->flags & NOT_WANTED) {
            if (is_lost)
                shoal__pipe_hold_unanswered(pipe, request);
            drop_unwanted(pipe, at, detail);
            continue;
        }
        follow_extent(&pipe->ring, at, &extent);
        shoal__blame_t blamed = {.is_guilty = false};
        if (ending != SHOAL__ENDING_SHUTDOWN) {
            if (judged != extent.first)
                is_guilty = is_extent_guilty(pipe, &extent, oldest);
            judged = extent.first;
            blamed = blame(pipe, at, &extent, oldest);
        }
        shoal__settlement_t settlement =
            settle(pipe, at, &extent, ending, is_allowed, is_guilty);
        bool is_retry = settlement.action == SHOAL__SETTLE_RETRY;
        pipe->settled = at + 1 - pipe->ring.head;
        if (is_retry && !is_spent) {
            shoal__retry_budget_spend(&pipe->budget);
            is_spent = true;
        }
        blamed.travels_alone =
            blamed.travels_alone && (blamed.is_cut || alone < ALONE_MAX);
        alone += blamed.travels_alone;
        if (is_retry || settlement.action == SHOAL__SETTLE_KEEP)
            keep(pipe, at, is_retry, &blamed);
        else {
            if (is_lost)
                shoal__pipe_hold_unanswered(pipe, request);
            fail(pipe, at, &settlement, blamed.words, detail);
        }
    }
}

/* From now on all commands that are left are queued, and the log holds their bytes. */
static void start_over(shoal__pipe_t *pipe)
{
    pipe->phase = SHOAL__PIPE_DOWN;
    pipe->settled = 0;
    shoal__request_ring_rewind(&pipe->ring);
    pipe->sent_bytes = 0;
    pipe->part_bytes = 0;
    pipe->authorised = 0;
    pipe->authorised_bytes = 0;
    pipe->is_torn = false;
    shoal__renewal_over(&pipe->renewal);
    shoal__pipe_fence_reset(pipe);
    shoal__pipe_sweep(pipe);
    shoal__flush_policy_lost(&pipe->flush, shoal__pipe_queued(pipe),
                             shoal__buffer_bytes(&pipe->log) + pipe->referred_bytes,
                             pipe->now_us);
}

/* All commands, those that are held first.  Without memory to put them back into the
 * registry, they follow when the hold is due. */
static void end_all(shoal__pipe_t *pipe, shoal__ending_t ending, const char *detail)
{
    if (pipe->pen) {
        pipe->pen->now_us = pipe->now_us;
        pipe->pen->is_broken = pipe->is_broken;
        settle_all(pipe->pen, ending, detail);
        start_over(pipe->pen);
    }
    /* A sink hears of the cut before its command's result. */
    shoal__decoder_discard_current(pipe->decoder);
    settle_all(pipe, ending, detail);
    start_over(pipe);
    (void)shoal__pipe_put_back(pipe, pipe->pen);
    shoal__hold_lost(&pipe->hold);
}

static void expire_due(shoal__pipe_t *pipe)
{
    shoal__overdue_words_t words;

    shoal__pipe_overdue_begin(pipe, &words);
    shoal__deadlines_walk(&pipe->deadlines,
                          (size_t)shoal__request_ring_length(&pipe->ring),
                          pipe->now_us);
    /* Callbacks may append commands meanwhile.  shoal__pipe_pushed() reports the
     * deadlines of those. */
    uint64_t end = pipe->ring.tail;
    extent_t extent = {.first = end, .last = end};
    for (uint64_t at = pipe->ring.head; at != end; at++) {
        const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
        if (request->flags & NOT_WANTED)
            continue;
        if (request->deadline_us > pipe->now_us) {
            shoal__deadlines_add(&pipe->deadlines, request->deadline_us);
            continue;
        }
        follow_extent(&pipe->ring, at, &extent);
        end_one(pipe, at, &extent, SHOAL__ENDING_TIMEOUT,
                shoal__pipe_overdue(pipe, at, progress_of(pipe, at, &extent), &words));
    }
}

/* Without offline queueing no command may wait for a connection. */
static void end_offline(shoal__pipe_t *pipe)
{
    shoal__overdue_words_t words;

    shoal__pipe_overdue_begin(pipe, &words);
    end_all(pipe, SHOAL__ENDING_LOST, shoal__pipe_offline(pipe, &words));
}

/* Not those that are held. */
static void expire_here(shoal__pipe_t *pipe)
{
    if (shoal__deadlines_due(&pipe->deadlines, pipe->now_us))
        expire_due(pipe);
    if (pipe->phase == SHOAL__PIPE_DOWN && pipe->is_offline &&
        !pipe->config->queue_offline && pipe->ring.head != pipe->ring.tail)
        end_offline(pipe);
    if (pipe->ring.gone)
        shoal__pipe_sweep(pipe);
}

void shoal__pipe_expire(shoal__pipe_t *pipe)
{
    if (pipe->pen) {
        pipe->pen->now_us = pipe->now_us;
        expire_here(pipe->pen);
    }
    expire_here(pipe);
}

static shoal__ending_t ending_of(int status)
{
    if (status == SHOAL_EDESYNC)
        return SHOAL__ENDING_DESYNC;
    return status == SHOAL_EAUTH ? SHOAL__ENDING_AUTH : SHOAL__ENDING_LOST;
}

/* Could a written and unanswered command still change anything on the server?  Out of
 * step with the server, it is not known which commands are unanswered. */
static bool may_run_late(const shoal__pipe_t *pipe, int status)
{
    if (pipe->phase == SHOAL__PIPE_READY && status == SHOAL_EDESYNC)
        return true;
    for (uint64_t at = pipe->ring.head; at != pipe->ring.sent; at++) {
        const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
        if (request->command_class != SHOAL__CLASS_RO ||
            (request->flags & SHOAL__REQUEST_UNIT))
            return true;
    }
    return false;
}

void shoal__pipe_lost(shoal__pipe_t *pipe, int status, const char *detail,
                      uint64_t now_us)
{
    bool was_ready = pipe->phase == SHOAL__PIPE_READY;

    if (detail != pipe->detail)
        snprintf(pipe->detail, sizeof pipe->detail, "%s", detail);
    pipe->now_us = now_us;
    pipe->is_offline = true;
    if (was_ready)
        pipe->offline_since_us = now_us;
    pipe->attempts_failed = was_ready ? 0 : pipe->attempts_failed + 1;
    pipe->is_broken = pipe->is_bound && was_ready &&
                      (pipe->ring.sent != pipe->bound_at || pipe->part_bytes > 0);
    if (may_run_late(pipe, status)) {
        shoal__greeting_left_writes(&pipe->greeting);
        shoal__pipe_doubt_changed(pipe);
    }
    end_all(pipe, ending_of(status), pipe->detail);
}

void shoal__pipe_abandon(shoal__pipe_t *pipe, uint64_t now_us)
{
    pipe->now_us = now_us;
    end_all(pipe, SHOAL__ENDING_SHUTDOWN, closed);
}
