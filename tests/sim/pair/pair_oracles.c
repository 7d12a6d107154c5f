/* SPDX-License-Identifier: MIT */

/* What must never happen to two pipes.  The numbers are those of ../world.h. */

#include "base/time_us.h"
#include "sim/pair/pair_world.h"
#include <inttypes.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

/* ---- the servers ---- */

void pair_oracle_executed(pair_world_t *world, pair_call_t *call, unsigned side,
                          bool is_ghost)
{
    uint32_t id = pair_id_of(call);

    call->executed++;
    if (call->executed > 1 && !pair_is_repeatable(call))
        pair_world_fail(world, "O2: %u was executed twice", id);
    if (call->is_done && call->fate == SHOAL_FATE_NOT_EXECUTED)
        pair_world_fail(world, "O4: %u was executed, but reported not to be", id);
    bool is_late = is_ghost && !world->rates.is_lanes;
    bool has_key = call->verb == PAIR_GET || call->verb == PAIR_APPEND;
    if (call->executed == 1 && !is_late && has_key)
        pair_place_ran(world, call, side);
}

void pair_oracle_handed(pair_world_t *world, pair_call_t *call)
{
    uint32_t id = pair_id_of(call);

    call->handed++;
    if (call->handed > SHOAL__HANDOVER_HOPS_MAX + call->held)
        pair_world_fail(world, "O2: %u was sent %u times", id, call->handed);
    if (call->is_done && call->fate != SHOAL_FATE_UNKNOWN)
        pair_world_fail(world, "O4: %u was sent behind its result %d", id,
                        call->status);
    if (call->is_done && call->handed > call->handed_max && call->unit_first == 0)
        pair_world_fail(world, "O4: %u was sent again behind its result", id);
    if (call->unit_first == 0 && !pair_is_repeatable(call) &&
        call->handed > 1 + call->rejected)
        pair_world_fail(world, "O2: %u was sent again, but may have been executed", id);
}

/* ---- results ---- */

static bool ends_with_id(const shoal_reply_t *reply, uint32_t id)
{
    size_t bytes = 0;
    const char *text = shoal_reply_string(reply, &bytes);
    char digits[PAIR_ID_DIGITS + 1];

    snprintf(digits, sizeof digits, "%010" PRIu32, id);
    return text && bytes >= PAIR_ID_DIGITS &&
           memcmp(text + bytes - PAIR_ID_DIGITS, digits, PAIR_ID_DIGITS) == 0;
}

static bool is_right(const pair_call_t *call, const shoal_reply_t *reply)
{
    uint32_t id = pair_id_of(call);

    if (call->verb == PAIR_MULTI)
        return shoal_reply_type(reply) == SHOAL_REPLY_STATUS;
    if (call->verb == PAIR_EXEC)
        return shoal_reply_count(reply) == id - call->unit_first - 1 &&
               shoal_reply_integer(shoal_reply_at(reply, 0)) ==
                   (int64_t)call->unit_first + 1;
    if (call->unit_first || call->verb == PAIR_GET)
        return ends_with_id(reply, id);
    return shoal_reply_integer(reply) == (int64_t)id;
}

/* A redirect, or a refusal, is a result where nothing else is possible. */
static bool is_error_right(const pair_world_t *world, const pair_call_t *call)
{
    bool is_given_up = false;

    /* A unit is sent again whole, or not at all. */
    for (uint32_t id = call->unit_first; id > 0 && id <= call->unit_last; id++)
        is_given_up |= world->calls[id].is_done && world->calls[id].status < 0;
    return is_given_up || world->is_short_of_memory || call->is_refused ||
           call->handed == SHOAL__HANDOVER_HOPS_MAX + call->held;
}

static void check_reply(pair_world_t *world, const pair_call_t *call,
                        const shoal_reply_t *reply)
{
    uint32_t id = pair_id_of(call);

    if (reply && shoal_reply_type(reply) == SHOAL_REPLY_ERROR) {
        if (!is_error_right(world, call))
            pair_world_fail(world, "O1: %u got an error that is not its own", id);
        return;
    }
    if (!reply || !is_right(call, reply))
        pair_world_fail(world, "O1: %u got a reply that is not its own", id);
    if (call->executed == 0 && (call->unit_first == 0 || call->verb == PAIR_EXEC))
        pair_world_fail(world, "O1: %u got a value without being executed", id);
}

/* The memory of a submission is free when its last result is told. */
static void check_loan(pair_world_t *world, pair_call_t *call)
{
    uint32_t first = call->unit_first ? call->unit_first : pair_id_of(call);
    uint32_t last = call->unit_first ? call->unit_last : first;
    pair_call_t *lender = &world->calls[first];

    lender->loan.results++;
    if (call->is_lent && lender->loan.results == last + 1 - first &&
        lender->loan.released != 1)
        pair_world_fail(world, "O6: %u has its results, and was released %u times",
                        first, lender->loan.released);
}

void pair_oracle_result(pair_world_t *world, pair_call_t *call,
                        const shoal_result_t *result)
{
    uint32_t id = pair_id_of(call);
    bool is_alone = call->unit_first == 0;

    check_loan(world, call);

    if (call->is_done)
        pair_world_fail(world, "O3: %u completes twice", id);
    if (result->tag != id || result->ticket != call->ticket)
        pair_world_fail(world, "O3: %u has another command's tag or ticket", id);
    if ((result->fate == SHOAL_FATE_REPLIED) != (result->status == 0))
        pair_world_fail(world, "O3: %u has fate %d and status %d", id,
                        (int)result->fate, result->status);
    if (shoal__time_after(call->deadline_us, SIM_LATE_US) < world->now_us)
        pair_world_fail(world, "O5: %u completes late", id);
    if (result->status == SHOAL_ETIMEOUT && world->now_us < call->deadline_us)
        pair_world_fail(world, "O5: %u timed out before its deadline", id);
    if (is_alone && result->attempts + result->redirects + call->held != call->handed)
        pair_world_fail(world, "O3: %u was handed over %u times, not %u", id,
                        call->handed, result->attempts);
    if (result->fate == SHOAL_FATE_NOT_EXECUTED && call->executed > 0)
        pair_world_fail(world, "O4: %u was executed, but reported not to be", id);
    if (result->fate == SHOAL_FATE_NOT_EXECUTED && is_alone &&
        call->handed > call->rejected)
        pair_world_fail(world, "O4: %u was handed over, but \"not executed\"", id);
    if (result->status == 0)
        check_reply(world, call, result->reply);
}

/* ---- the pipes ---- */

static uint64_t check_pipe(pair_world_t *world, const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    uint64_t gone = 0, retried = 0, owed = shoal__pipe_held(pipe);
    size_t bytes = 0, referred_bytes = 0;

    for (uint64_t at = ring->head; at != ring->tail; at++) {
        const shoal__request_t *request = shoal__request_ring_at(ring, at);

        bytes += request->bytes;
        referred_bytes += shoal__request_referred_bytes(request);
        gone += (request->flags & SHOAL__REQUEST_GONE) != 0;
        retried += (request->flags & SHOAL__REQUEST_RETRIED) != 0;
        owed += request->data &&
                !(request->flags & (SHOAL__REQUEST_ZOMBIE | SHOAL__REQUEST_GONE |
                                    SHOAL__REQUEST_INTERNAL));
    }
    if (bytes != shoal__buffer_bytes(&pipe->log) ||
        referred_bytes != pipe->referred_bytes)
        pair_world_fail(world, "O6: ring and log do not agree");
    if (gone != ring->gone || retried != ring->retried)
        pair_world_fail(world, "O6: the ring counts its requests wrong");
    if (pipe->flush.queued != shoal__pipe_queued(pipe) ||
        pipe->flush.inflight != shoal__pipe_inflight(pipe))
        pair_world_fail(world, "O6: the flush policy counts its commands wrong");
    return owed;
}

void pair_oracle_structure(pair_world_t *world)
{
    uint64_t owed = 0;

    for (unsigned i = 0; i < PAIR; i++) {
        const pair_side_t *side = &world->sides[i];

        owed += check_pipe(world, &side->pipe);
        for (unsigned pen = 0; pen < SHOAL__HANDOVER_PENS; pen++)
            owed += check_pipe(world, &side->handover.pens[pen].pipe);
    }
    if (owed != world->live_count)
        pair_world_fail(world, "O3: %u results are owed, not %" PRIu64,
                        world->live_count, owed);
}

void pair_oracle_end(pair_world_t *world)
{
    uint64_t completed = 0;

    pair_oracle_structure(world);
    if (world->live_count > 0)
        pair_world_fail(world, "O3: %u commands never complete", world->live_count);
    for (unsigned i = 0; i < PAIR; i++)
        completed += shoal__counter_get(&world->sides[i].pipe.stats.completed);
    if (completed != world->completed)
        pair_world_fail(world, "O3: %" PRIu64 " completed, not %" PRIu64,
                        world->completed, completed);
}
