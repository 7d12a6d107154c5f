/* SPDX-License-Identifier: MIT */

/* The endings of all commands of a pipe: loss of the connection, close, and the time
 * without one.  What each means is settle_rule.c's decision. */

#include "core/blame.h"
#include "core/pipe/pipe_extent.h"
#include "core/pipe/pipe_move.h"
#include "core/pipe/pipe_overdue.h"
#include "core/pipe/pipe_unit.h"
#include <shoal/errors.h>
#include <stdio.h>

/* The connection is lost inside a reply.  Whose is it?  ring.tail: there is none. */
static uint64_t cut_reply(const shoal__pipe_t *pipe)
{
    uint64_t at = shoal__pipe_due(pipe) + pipe->held.replies;

    if (shoal__decoder_is_mid_reply(pipe->decoder))
        return shoal__pipe_due(pipe);
    return shoal__scanner_is_mid_reply(&pipe->held.scanner) ? at : pipe->ring.tail;
}

/* What the request at `at` has to do with the loss of the connection. */
static shoal__blame_t blame(const shoal__pipe_t *pipe, uint64_t at,
                            const shoal__extent_t *extent, uint64_t oldest)
{
    const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
    shoal__progress_t progress = shoal__pipe_progress(pipe, at, extent);

    /* A held reply proves nothing, but its place is enough for a suspicion. */
    if (progress == SHOAL__PROGRESS_WRITTEN && at == cut_reply(pipe))
        progress = SHOAL__PROGRESS_REPLYING;
    /* What the server has not seen is not what ended the connection. */
    if (!shoal__pipe_has_left(pipe, extent))
        progress = SHOAL__PROGRESS_QUEUED;

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

/* A request whose result no caller waits for.  The owner hears of its own. */
static void drop_unwanted(shoal__pipe_t *pipe, uint64_t at, const char *detail)
{
    shoal__request_t request = *shoal__request_ring_at(&pipe->ring, at);

    if (request.flags & SHOAL__REQUEST_GONE)
        return;
    if ((request.flags & SHOAL__REQUEST_FENCE) && !shoal__pipe_is_written(pipe, at))
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
                        request.attempts + (shoal__pipe_is_written(pipe, at) ? 1u : 0u),
                        detail);
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
    uint64_t at = shoal__pipe_due(pipe) + pipe->held.replies;

    while (at != ring->sent &&
           (shoal__request_ring_at(ring, at)->flags & SHOAL__REQUEST_FENCE))
        at++;
    return at;
}

/* Is the request at `at`, or any other part of its unit, to blame?  A unit is sent again
 * whole, or not at all. */
static bool is_extent_guilty(const shoal__pipe_t *pipe, const shoal__extent_t *extent,
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
    shoal__extent_t extent = {.first = end, .last = end};
    bool is_guilty = false;
    unsigned alone = 0;
    size_t offset = 0, bytes;

    for (uint64_t at = pipe->ring.head; at != end; at++, offset += bytes) {
        const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
        const char *log = shoal__buffer_data(&pipe->log) + offset;
        bytes = request->bytes;
        bool is_lost =
            ending != SHOAL__ENDING_SHUTDOWN && shoal__pipe_is_written(pipe, at);
        if (is_lost)
            shoal__pipe_hold_unanswered(pipe, at, log);
        if (shoal__request_is_unwanted(request)) {
            drop_unwanted(pipe, at, detail);
            continue;
        }
        shoal__extent_follow(&pipe->ring, at, &extent);
        shoal__blame_t blamed = {.is_guilty = false};
        if (ending != SHOAL__ENDING_SHUTDOWN) {
            if (judged != extent.first)
                is_guilty = is_extent_guilty(pipe, &extent, oldest);
            judged = extent.first;
            blamed = blame(pipe, at, &extent, oldest);
        }
        shoal__settlement_t settlement =
            shoal__pipe_settle(pipe, at, &extent, ending, is_allowed, is_guilty);
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
        else
            fail(pipe, at, &settlement, blamed.words, detail);
    }
}

/* From now on all commands that are left are queued, and the log holds their bytes. */
static void start_over(shoal__pipe_t *pipe)
{
    pipe->phase = SHOAL__PIPE_DOWN;
    pipe->settled = 0;
    shoal__pipe_unit_forget(pipe);
    shoal__request_ring_rewind(&pipe->ring);
    pipe->sent_bytes = 0;
    pipe->part_bytes = 0;
    pipe->authorised = 0;
    pipe->authorised_bytes = 0;
    pipe->committed_bytes = 0;
    pipe->is_torn = pipe->is_silent = pipe->is_demoted = false;
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
        shoal__pipe_expire_due(pipe);
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

static shoal__ending_t ending_of(int status, bool was_ready)
{
    if (status == SHOAL_EDESYNC)
        return SHOAL__ENDING_DESYNC;
    /* What worked before may work again. */
    if (status == SHOAL_ETLS && !was_ready)
        return SHOAL__ENDING_TLS;
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

/* It worked before, and says AUTH in place. */
static bool is_authenticating(const shoal__pipe_t *pipe)
{
    return pipe->phase == SHOAL__PIPE_GREETING &&
           pipe->greeting.step == SHOAL__GREETING_AT_AUTH_AGAIN;
}

void shoal__pipe_lost(shoal__pipe_t *pipe, int status, const char *detail,
                      uint64_t now_us)
{
    bool was_ready = pipe->phase == SHOAL__PIPE_READY || is_authenticating(pipe);

    if (detail != pipe->detail)
        snprintf(pipe->detail, sizeof pipe->detail, "%s", detail);
    pipe->now_us = now_us;
    pipe->is_offline = true;
    if (was_ready)
        pipe->offline_since_us = now_us;
    pipe->attempts_failed = was_ready ? 0 : pipe->attempts_failed + 1;
    pipe->is_broken =
        pipe->is_bound && was_ready && shoal__pipe_begun(pipe) != pipe->bound_at;
    if (may_run_late(pipe, status)) {
        shoal__greeting_left_writes(&pipe->greeting);
        shoal__pipe_doubt_changed(pipe);
    }
    end_all(pipe, ending_of(status, was_ready), pipe->detail);
}

void shoal__pipe_leave(shoal__pipe_t *pipe, const char *why, uint64_t now_us)
{
    shoal__pipe_open(pipe, now_us); /* it waits for the new one from now on */
    pipe->now_us = now_us;
    if (may_run_late(pipe, SHOAL_ECONN)) {
        shoal__greeting_left_writes(&pipe->greeting);
        shoal__pipe_doubt_changed(pipe);
    }
    end_all(pipe, SHOAL__ENDING_RENEWED, why);
}

static const char closed[] = "the client was closed";

void shoal__pipe_abandon(shoal__pipe_t *pipe, uint64_t now_us)
{
    pipe->now_us = now_us;
    end_all(pipe, SHOAL__ENDING_SHUTDOWN, closed);
}
