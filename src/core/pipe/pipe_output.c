/* SPDX-License-Identifier: MIT */

/* The bytes of a pipe that leave: which requests make up the next batch, and what it means
 * that so many bytes of it were written.  When it leaves is flush_policy.c's decision. */

#include "base/time_us.h"
#include "core/fence/fence_rule.h"
#include "core/pipe/pipe_scripts.h"
#include <assert.h>

#define WRITE_BYTES_MAX 262144
#define NO_MEMORY_DELAY_US 1000

/* How many more may be in flight. */
static uint64_t room_in_flight(const shoal__pipe_t *pipe)
{
    uint64_t inflight = shoal__pipe_inflight(pipe);

    return pipe->config->inflight_max > inflight ? pipe->config->inflight_max - inflight
                                                 : 0;
}

/* How many of the next `count` requests may leave now?  A request that travels alone
 * (blame.h) leaves when nothing is in flight, and is answered before anything else
 * leaves.  0: replies must come first. */
static uint64_t company(const shoal__pipe_t *pipe, uint64_t count)
{
    const shoal__request_ring_t *ring = &pipe->ring;

    count = shoal__time_min(count, pipe->hold_room);
    for (uint64_t at = ring->head; at < ring->alone_end && at != ring->sent + count;
         at++)
        if (shoal__request_ring_at(ring, at)->flags & SHOAL__REQUEST_ALONE) {
            if (at < ring->sent)
                return 0;
            if (at > ring->sent)
                return at - ring->sent;
            return shoal__pipe_inflight(pipe) == 0 ? 1 : 0;
        }
    return count;
}

/* How many of the queued requests make up the next batch: at most `commands` (0: all),
 * and no more than may be in flight. */
static uint64_t batch_of(const shoal__pipe_t *pipe, uint64_t commands)
{
    uint64_t room = room_in_flight(pipe);

    if (commands && commands < room)
        room = commands;
    return company(pipe,
                   shoal__time_min(room, shoal__request_ring_queued(&pipe->ring)));
}

/* Let the first `count` queued requests leave. */
static void authorise(shoal__pipe_t *pipe, uint64_t count)
{
    size_t bytes = shoal__buffer_bytes(&pipe->log) - pipe->sent_bytes;

    if (count < shoal__request_ring_queued(&pipe->ring) || pipe->referred_bytes > 0) {
        bytes = 0;
        for (uint64_t i = 0; i < count; i++)
            bytes += shoal__request_wire_bytes(
                shoal__request_ring_at(&pipe->ring, pipe->ring.sent + i));
    }
    pipe->authorised = count;
    pipe->authorised_bytes = bytes - pipe->part_bytes;
}

static void count_flush(shoal__pipe_t *pipe, shoal_flush_reason_t reason)
{
    unsigned bucket = 0;

    for (uint64_t left = pipe->authorised; left > 1; left /= 2)
        bucket++;
    if (bucket >= SHOAL_STATS_BATCH_BUCKETS)
        bucket = SHOAL_STATS_BATCH_BUCKETS - 1;
    shoal__counter_add(&pipe->stats.flushes, 1);
    shoal__counter_add(&pipe->stats.batch_histogram[bucket], 1);
    shoal__counter_add(&pipe->stats.flush_reasons[reason], 1);
}

static bool may_send(const shoal__pipe_t *pipe)
{
    uint64_t room_min =
        shoal__fence_room_min(pipe->config->greeting.integrity,
                              shoal__pipe_queued(pipe), pipe->config->inflight_max);

    return room_in_flight(pipe) >= room_min &&
           (pipe->ring.sent == pipe->ring.tail || company(pipe, 1) > 0);
}

/* Is the first queued request a fence?  Its batch was withdrawn, or the fence is put
 * again.  It leaves at once: no caller waits for it, but replies may. */
static bool starts_with_fence(const shoal__pipe_t *pipe)
{
    const shoal__request_t *first =
        shoal__request_ring_at(&pipe->ring, pipe->ring.sent);

    return pipe->fences.queued > 0 && (first->flags & SHOAL__REQUEST_FENCE);
}

/* Ask the policy, and prepare the batch that it lets go.  False: nothing leaves now. */
static bool prepare_batch(shoal__pipe_t *pipe, uint64_t *ret_wake_us)
{
    shoal__flush_answer_t answer = shoal__flush_policy_ask(
        &pipe->flush, pipe->deadlines.earliest_us, pipe->now_us);
    uint64_t count;

    if (answer.verdict != SHOAL__FLUSH_NOW) {
        if (answer.verdict == SHOAL__FLUSH_WAIT)
            shoal__counter_add(&pipe->stats.holds, 1);
        *ret_wake_us = answer.wake_us;
        pipe->wake_after = answer.wake_after;
        return false;
    }
    count = batch_of(pipe, answer.commands);
    if (!shoal__pipe_fence_batch(pipe, &count)) {
        /* Without memory, try again later.  Replies that must come first wake the
         * loop by themselves. */
        if (count > 0)
            *ret_wake_us = pipe->now_us + NO_MEMORY_DELAY_US;
        return false;
    }
    authorise(pipe, count);
    count_flush(pipe, answer.reason);
    return true;
}

/* Written commands wait for their fence: it leaves, whatever else may not leave. */
static bool pay_fence(shoal__pipe_t *pipe, uint64_t *ret_wake_us)
{
    uint64_t count = shoal__pipe_fence_debt(pipe);

    if (count == 0) {
        *ret_wake_us = pipe->now_us + NO_MEMORY_DELAY_US;
        return false;
    }
    authorise(pipe, count);
    return true;
}

static shoal__bytes_t first_range(const shoal__pipe_t *pipe)
{
    shoal__bytes_t range = {NULL, 0};

    shoal__pipe_ranges(pipe, WRITE_BYTES_MAX, &range, 1);
    return range;
}

size_t shoal__pipe_gather(const shoal__pipe_t *pipe,
                          shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX])
{
    if (pipe->referred_bytes == 0 || pipe->phase == SHOAL__PIPE_GREETING)
        return 1;
    return shoal__pipe_ranges(pipe, WRITE_BYTES_MAX, parts, SHOAL__PIPE_PARTS_MAX);
}

shoal__bytes_t shoal__pipe_output(shoal__pipe_t *pipe, uint64_t now_us,
                                  uint64_t *ret_wake_us)
{
    const shoal__bytes_t nothing = {NULL, 0};

    *ret_wake_us = SHOAL__NEVER_US;
    pipe->wake_after = 1;
    if (pipe->is_torn)
        return nothing;
    if (pipe->phase == SHOAL__PIPE_GREETING)
        return (shoal__bytes_t){shoal__buffer_data(&pipe->greeting.outgoing),
                                shoal__buffer_bytes(&pipe->greeting.outgoing)};

    if (pipe->authorised_bytes == 0) {
        pipe->now_us = now_us;
        if (pipe->phase != SHOAL__PIPE_READY)
            return nothing;
        if (pipe->ring.gone)
            shoal__pipe_sweep(pipe);
        shoal__pipe_load_scripts(pipe);
        shoal__pipe_hold_turn(pipe);
        pipe->hold_room = shoal__pipe_hold_room(pipe);
        if (starts_with_fence(pipe)) {
            authorise(pipe, 1);
        } else if (shoal__pipe_fence_is_owed(pipe)) {
            if (!pay_fence(pipe, ret_wake_us))
                return nothing;
        } else if (!may_send(pipe) || !prepare_batch(pipe, ret_wake_us)) {
            return nothing;
        }
    }

    if (pipe->referred_bytes > 0)
        return first_range(pipe);

    size_t bytes = pipe->authorised_bytes;
    return (shoal__bytes_t){shoal__buffer_data(&pipe->log) + pipe->sent_bytes +
                                pipe->part_bytes,
                            bytes < WRITE_BYTES_MAX ? bytes : WRITE_BYTES_MAX};
}

/* How many of the next `count` requests are fences. */
static uint64_t fences_among(const shoal__pipe_t *pipe, uint64_t count)
{
    uint64_t fences = 0;

    for (uint64_t i = 0; i < count && fences < pipe->fences.queued; i++)
        if (shoal__request_ring_at(&pipe->ring, pipe->ring.sent + i)->flags &
            SHOAL__REQUEST_FENCE)
            fences++;
    return fences;
}

static void note_written(shoal__pipe_t *pipe, uint64_t requests, size_t bytes,
                         uint64_t now_us)
{
    uint64_t fences = fences_among(pipe, requests);

    pipe->fences.queued -= fences;
    pipe->fences.inflight += fences;
    pipe->authorised -= requests;
    pipe->sent_bytes += bytes - shoal__pipe_referred(pipe, requests);
    shoal__request_ring_mark_sent(&pipe->ring, requests);
    shoal__flush_policy_flushed(&pipe->flush, requests - fences,
                                bytes - fences * SHOAL__FENCE_BYTES, now_us);
    shoal__stage_times_written(&pipe->times, requests - fences, now_us);
}

void shoal__pipe_commit(shoal__pipe_t *pipe, size_t bytes, uint64_t now_us)
{
    uint64_t at = pipe->ring.sent;
    size_t end = pipe->part_bytes + bytes;

    if (pipe->phase == SHOAL__PIPE_GREETING)
        return; /* its bytes are nobody's command */
    assert(pipe->committed_bytes == 0 && bytes <= pipe->authorised_bytes);
    for (size_t begin = 0; begin < end; at++)
        begin += shoal__request_wire_bytes(shoal__request_ring_at(&pipe->ring, at));
    /* The server was not silent before: nothing was under way. */
    if (shoal__pipe_inflight(pipe) == 0 && pipe->part_bytes == 0)
        pipe->waiting_since_us = now_us;
    pipe->committed_bytes = bytes;
    pipe->committed_end = at;
}

/* Bytes of a command that was given up could not be kept (is_torn): nobody knows any more
 * where the commands end.  All that was committed counts as written. */
static void leave_torn(shoal__pipe_t *pipe, uint64_t now_us)
{
    uint64_t requests = pipe->committed_end - pipe->ring.sent;
    size_t bytes = 0;

    if (pipe->committed_bytes == 0)
        return; /* it counts already */
    for (uint64_t i = 0; i < requests; i++)
        bytes += shoal__request_wire_bytes(
            shoal__request_ring_at(&pipe->ring, pipe->ring.sent + i));
    pipe->committed_bytes = pipe->part_bytes = pipe->authorised_bytes = 0;
    pipe->authorised = requests;
    note_written(pipe, requests, bytes, now_us);
}

void shoal__pipe_left(shoal__pipe_t *pipe, size_t bytes, uint64_t now_us)
{
    if (pipe->is_torn) {
        leave_torn(pipe, now_us);
        return;
    }
    if (pipe->phase != SHOAL__PIPE_GREETING) {
        assert(bytes <= pipe->committed_bytes);
        pipe->committed_bytes -= bytes;
    }
    shoal__pipe_written(pipe, bytes, now_us);
}

void shoal__pipe_written(shoal__pipe_t *pipe, size_t bytes, uint64_t now_us)
{
    uint64_t commands = 0;
    size_t whole_bytes = 0;

    if (pipe->phase == SHOAL__PIPE_GREETING) {
        shoal__greeting_written(&pipe->greeting, bytes);
        return;
    }
    assert(bytes <= pipe->authorised_bytes);
    if (shoal__request_ring_inflight(&pipe->ring) == 0)
        pipe->waiting_since_us = now_us;
    if (bytes == pipe->authorised_bytes) {
        commands = pipe->authorised;
        whole_bytes = pipe->part_bytes + bytes;
        pipe->part_bytes = 0;
    } else {
        size_t left = pipe->part_bytes + bytes;
        uint64_t at = pipe->ring.sent;
        size_t next =
            shoal__request_wire_bytes(shoal__request_ring_at(&pipe->ring, at));
        while (left >= next) {
            left -= next;
            next = shoal__request_wire_bytes(shoal__request_ring_at(&pipe->ring, ++at));
        }
        commands = at - pipe->ring.sent;
        whole_bytes = pipe->part_bytes + bytes - left;
        pipe->part_bytes = left;
    }
    pipe->authorised_bytes -= bytes;
    note_written(pipe, commands, whole_bytes, now_us);
}
