/* SPDX-License-Identifier: MIT */

/* What must never happen.  The numbers are those of world.h. */

#include "base/time_us.h"
#include "sim/world.h"
#include <shoal/errors.h>
#include <string.h>

#define GIVEN_UP (SHOAL__REQUEST_ZOMBIE | SHOAL__REQUEST_GONE | SHOAL__REQUEST_INTERNAL)

/* ---- what a reply says: the same for trees and for sinks ---- */

static uint32_t id_of(const sim_call_t *call)
{
    return (uint32_t)(call - call->world->calls);
}

static bool ends_with_id(const char *text, size_t bytes, uint32_t id)
{
    if (bytes < SIM_ID_DIGITS)
        return false;
    for (size_t i = 1; i <= SIM_ID_DIGITS; i++, id /= 10)
        if (text[bytes - i] != (char)('0' + id % 10))
            return false;
    return true;
}

static bool is_long_value(const sim_call_t *call, const char *text, size_t bytes)
{
    if (bytes != SIM_ID_DIGITS + call->pad_bytes ||
        !ends_with_id(text, SIM_ID_DIGITS, id_of(call)))
        return false;
    for (size_t i = SIM_ID_DIGITS; i < bytes; i += SIM_PAD_BYTES)
        if (memcmp(text + i, SIM_PAD,
                   bytes - i < SIM_PAD_BYTES ? bytes - i : SIM_PAD_BYTES) != 0)
            return false;
    return true;
}

static bool is_leaf_right(const sim_call_t *call, const shoal_reply_t *leaf)
{
    uint32_t id = id_of(call);
    size_t bytes = 0;
    const char *text = shoal_reply_string(leaf, &bytes);

    if (call->verb == SIM_VERB_EXEC)
        id = call->unit_first + 1 + call->sink_leaves;
    if (shoal_reply_type(leaf) == SHOAL_REPLY_INTEGER)
        return shoal_reply_integer(leaf) == (int64_t)id;
    if (!text)
        return false;
    if (call->verb == SIM_VERB_BLPOP && call->sink_leaves == 0 && call->sink_depth == 1)
        return bytes == 3;
    if (call->verb == SIM_VERB_GET && call->unit_first == 0)
        return is_long_value(call, text, bytes);
    return ends_with_id(text, bytes, id);
}

static void check_sink(sim_call_t *call)
{
    if (call->is_done)
        sim_world_fail(call->world, "O1: the sink of %u is fed behind its result",
                       id_of(call));
}

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    sim_call_t *call = data;

    check_sink(call);
    if (!is_leaf_right(call, leaf))
        call->is_sink_wrong = true;
    call->sink_leaves++;
    call->has_sink_begun = true;
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    sim_call_t *call = data;

    (void)count;
    check_sink(call);
    if (type != SHOAL_REPLY_ARRAY)
        call->is_sink_wrong = true;
    call->sink_depth++;
    call->has_sink_begun = true;
}

static void on_end(void *data)
{
    sim_call_t *call = data;

    check_sink(call);
    if (call->sink_depth-- == 0)
        call->is_sink_wrong = true;
}

static void on_reset(void *data)
{
    sim_call_t *call = data;

    check_sink(call);
    call->has_sink_begun = call->is_sink_wrong = false;
    call->sink_depth = 0;
    call->sink_leaves = 0;
}

const shoal_sink_t sim_sink = {on_leaf, on_begin, on_end, on_reset};

static void visit(sim_call_t *call, const shoal_reply_t *reply)
{
    if (shoal_reply_type(reply) != SHOAL_REPLY_ARRAY) {
        on_leaf(reply, call);
        return;
    }
    on_begin(SHOAL_REPLY_ARRAY, shoal_reply_count(reply), call);
    for (size_t i = 0; i < shoal_reply_count(reply); i++)
        visit(call, shoal_reply_at(reply, i));
    on_end(call);
}

static size_t leaves_of(const sim_call_t *call)
{
    if (call->verb == SIM_VERB_EXEC)
        return sim_call_items(call, id_of(call));
    if (call->unit_first)
        return 1;
    if (call->verb == SIM_VERB_LRANGE)
        return sim_call_items(call, id_of(call));
    return call->verb == SIM_VERB_BLPOP ? 2 : 1;
}

static bool is_error_right(const sim_call_t *call, const shoal_reply_t *reply)
{
    size_t bytes = 0;
    const char *text = shoal_reply_string(reply, &bytes);

    return !call->has_sink_begun && ends_with_id(text, bytes, id_of(call));
}

/* O1 */
static void check_reply(sim_world_t *world, sim_call_t *call,
                        const shoal_reply_t *reply)
{
    uint32_t id = id_of(call);

    if (reply && shoal_reply_type(reply) == SHOAL_REPLY_ERROR) {
        if (!is_error_right(call, reply))
            sim_world_fail(world, "O1: %u got another command's error", id);
        return;
    }
    if (!reply != call->has_sink)
        sim_world_fail(world, "O1: %u got its reply the wrong way", id);
    else if (reply)
        visit(call, reply);
    if (call->is_sink_wrong || call->sink_depth != 0 ||
        call->sink_leaves != leaves_of(call))
        sim_world_fail(world, "O1: %u (verb %d) got a reply that is not its own", id,
                       call->verb);
    if (call->unit_first == 0 && call->executed == 0)
        sim_world_fail(world, "O1: %u got a value without being executed", id);
}

/* ---- results ---- */

/* The last byte of a command that decides on its execution: of EXEC, in a unit. */
static uint8_t handed(const sim_world_t *world, const sim_call_t *call)
{
    return call->unit_first ? world->calls[call->unit_last].handed : call->handed;
}

/* Had the client read a part of its reply?  In the middle of a feed nobody knows. */
static bool is_half_answered(const sim_world_t *world, const sim_call_t *call)
{
    const sim_link_t *link = world->link;

    return link && call->answer_link == link->serial &&
           link->taken_bytes > call->answer_begin &&
           link->taken_bytes < call->answer_end;
}

static void check_fate(sim_world_t *world, const sim_call_t *call,
                       const shoal_result_t *result)
{
    uint32_t id = id_of(call);
    bool is_given_up =
        result->status == SHOAL_ETIMEOUT || result->status == SHOAL_ECANCELLED;

    if ((result->fate == SHOAL_FATE_REPLIED) != (result->status == 0))
        sim_world_fail(world, "O3: %u has fate %d and status %d", id, (int)result->fate,
                       result->status);
    if (call->unit_first == 0 && result->attempts != call->handed)
        sim_world_fail(world, "O3: %u was handed over %u times, not %u", id,
                       call->handed, result->attempts);
    switch (result->fate) {
    case SHOAL_FATE_REPLIED:
        if (call->order <= world->answered_order)
            sim_world_fail(world, "O8: the reply of %u is late", id);
        world->answered_order = call->order;
        break;
    case SHOAL_FATE_NOT_EXECUTED:
        if (handed(world, call) > call->rejected)
            sim_world_fail(world, "O4: %u was handed over, but \"not executed\"", id);
        break;
    case SHOAL_FATE_UNKNOWN:
        if (handed(world, call) == 0 &&
            !(is_given_up &&
              (call->unit_first || (world->link && world->link->tail_bytes > 0))))
            sim_world_fail(world, "O4: %u was not handed over, but \"unknown\"", id);
        if (call->unit_first == 0 && is_half_answered(world, call) &&
            !(result->status == SHOAL_ECANCELLED && world->is_unclear))
            sim_world_fail(world, "O4: the reply of %u had begun, but \"unknown\"", id);
        break;
    case SHOAL_FATE_REPLY_LOST:
        if (call->unit_first == 0 && !is_half_answered(world, call))
            sim_world_fail(world, "O4: %u was not answered, but \"reply lost\"", id);
        break;
    }
}

void sim_oracle_result(sim_world_t *world, sim_call_t *call,
                       const shoal_result_t *result)
{
    uint32_t id = id_of(call);

    if (call->is_done) {
        sim_world_fail(world, "O3: %u completes twice", id);
        return;
    }
    if (result->tag != id)
        sim_world_fail(world, "O3: %u has another command's tag", id);
    if (shoal__time_after(call->deadline_us, SIM_LATE_US) < world->now_us)
        sim_world_fail(world, "O5: %u completes %llu us behind its deadline", id,
                       (unsigned long long)(world->now_us - call->deadline_us));
    if (result->status == SHOAL_ETIMEOUT && world->now_us < call->deadline_us)
        sim_world_fail(world, "O5: %u timed out before its deadline", id);
    check_fate(world, call, result);
    if (result->status == 0)
        check_reply(world, call, result->reply);
    else if (result->reply || call->has_sink_begun)
        sim_world_fail(world, "O1: %u failed, but something of a reply is there", id);
}

/* ---- what reaches a connection ---- */

/* Given up while some of it was on the wire: the rest follows, once, to keep the
 * framing. */
static bool may_follow(const sim_call_t *call, const sim_link_t *link)
{
    return call->fate == SHOAL_FATE_UNKNOWN && call->given_up_link == link->serial &&
           (call->status == SHOAL_ETIMEOUT || call->status == SHOAL_ECANCELLED);
}

void sim_oracle_handed(sim_world_t *world, sim_link_t *link, uint32_t id,
                       uint64_t begin)
{
    sim_call_t *call = &world->calls[id];

    if (link->user_from == SHOAL__NEVER_US || begin < link->user_from)
        sim_world_fail(world, "O7: %u was sent before the greeting ended", id);
    if (id == 0)
        return;
    call->handed++;
    if (call->is_done && !may_follow(call, link))
        sim_world_fail(world, "O4: %u was sent behind its result %d", id, call->status);
    if ((call->flags & SHOAL__REQUEST_ONCE) && (call->handed > 1 || call->was_touched))
        sim_world_fail(world, "O2: %u was sent again, but only one attempt is allowed",
                       id);
    if (call->unit_first && call->verb != SIM_VERB_EXEC)
        return; /* parts may be sent often, as long as EXEC is not */
    if (call->handed > world->config.attempts_max)
        sim_world_fail(world, "O2: %u was sent %u times", id, call->handed);
    if (sim_call_is_repeatable(call) || call->handed == 1)
        return;
    if (call->handed > 1 + call->rejected)
        sim_world_fail(world, "O2: %u was sent again, but may have been executed", id);
    /* Five at once, and one for each ten answers.  (I13) */
    if (++world->paid_retries > 6 + world->answers / 10)
        sim_world_fail(world, "O2: %llu commands were sent again, for %llu answers",
                       (unsigned long long)world->paid_retries,
                       (unsigned long long)world->answers);
}

/* ---- the pipe ---- */

static uint64_t silent_since_us(const sim_world_t *world)
{
    return world->heard_us > world->waits_from_us ? world->heard_us
                                                  : world->waits_from_us;
}

/* The server has a right to be silent: the oldest command blocks on it. */
static bool may_be_silent(const sim_world_t *world)
{
    const shoal__request_ring_t *ring = &world->pipe.ring;
    const shoal__request_t *head = shoal__request_ring_at(ring, ring->head);

    return shoal__request_ring_inflight(ring) > 0 &&
           head->command_class == SHOAL__CLASS_BLOCK &&
           world->now_us < head->deadline_us;
}

/* The converse of what follows: no server is given up too soon. */
void sim_oracle_lost(sim_world_t *world, const char *detail)
{
    uint64_t silent_us = world->now_us - silent_since_us(world);

    if (strstr(detail, "stopped answering") &&
        (silent_us < world->config.stall_us || may_be_silent(world)))
        sim_world_fail(world, "O5: the server is given up after %llu us",
                       (unsigned long long)silent_us);
}

void sim_oracle_settled(sim_world_t *world)
{
    const shoal__pipe_t *pipe = &world->pipe;
    uint64_t silent_us = world->now_us - silent_since_us(world);
    bool is_owed =
        shoal__request_ring_inflight(&pipe->ring) > 0 || pipe->part_bytes > 0;

    if (world->link && world->link->user_from != SHOAL__NEVER_US && is_owed &&
        silent_us >= world->config.stall_us && !may_be_silent(world))
        sim_world_fail(world, "O5: the server has been silent for %llu us",
                       (unsigned long long)silent_us);
    if (!world->config.queue_offline && !world->link && world->was_lost &&
        !world->has_submitted && world->live_count > 0)
        sim_world_fail(world, "O3: %u commands wait for a connection, but shall not",
                       world->live_count);
    if (sim_owner_wake_us(world) <= world->now_us)
        sim_world_fail(world, "O5: the pipe has nothing to do and does not sleep");
}

static void check_ring(sim_world_t *world)
{
    const shoal__request_ring_t *ring = &world->pipe.ring;
    size_t bytes = 0, sent_bytes = 0;
    uint64_t gone = 0, retried = 0, owed = world->pipe.retries.count;

    for (uint64_t at = ring->head; at != ring->tail; at++) {
        const shoal__request_t *request = shoal__request_ring_at(ring, at);

        if (at == ring->sent)
            sent_bytes = bytes;
        bytes += request->bytes;
        gone += (request->flags & SHOAL__REQUEST_GONE) != 0;
        retried += (request->flags & SHOAL__REQUEST_RETRIED) != 0;
        owed += (request->flags & GIVEN_UP) == 0;
        if ((request->flags & SHOAL__REQUEST_GONE) && at < ring->sent)
            sim_world_fail(world, "O6: a slot without a reply is among the written");
    }
    if (ring->sent == ring->tail)
        sent_bytes = bytes;
    if (bytes != shoal__buffer_bytes(&world->pipe.log) ||
        sent_bytes != world->pipe.sent_bytes)
        sim_world_fail(world, "O6: ring and log do not agree");
    if (gone != ring->gone || retried != ring->retried)
        sim_world_fail(world, "O6: the ring counts its requests wrong");
    if (owed != world->live_count)
        sim_world_fail(world, "O3: %u results are owed, not %llu", world->live_count,
                       (unsigned long long)owed);
}

void sim_oracle_structure(sim_world_t *world)
{
    const shoal__pipe_t *pipe = &world->pipe;
    size_t slots_max = world->commands_peak < 32 ? 64 : 2 * world->commands_peak;

    check_ring(world);
    if (pipe->flush.queued != shoal__request_ring_queued(&pipe->ring) ||
        pipe->flush.inflight != shoal__request_ring_inflight(&pipe->ring))
        sim_world_fail(world, "O6: the flush policy counts %llu queued, not %llu",
                       (unsigned long long)pipe->flush.queued,
                       (unsigned long long)shoal__request_ring_queued(&pipe->ring));
    if (shoal__request_ring_inflight(&pipe->ring) > world->config.inflight_max)
        sim_world_fail(world, "O6: more is in flight than is allowed");
    if (pipe->ring.mask + 1 > slots_max)
        sim_world_fail(world, "O6: the ring has grown beyond what was outstanding");
    if (pipe->log.capacity > 4 * world->bytes_peak + 1024)
        sim_world_fail(world, "O6: the log has grown beyond what was outstanding");
}

static void check_unit(sim_world_t *world, const sim_call_t *exec)
{
    for (uint32_t id = exec->unit_first + 1; id < exec->unit_last; id++)
        if (world->calls[id].executed != exec->executed)
            sim_world_fail(world, "O8: unit %u was executed in part", exec->unit_first);
}

void sim_oracle_end(sim_world_t *world)
{
    const shoal__pipe_t *pipe = &world->pipe;

    if (world->live_count > 0 || !shoal__pipe_is_idle(pipe))
        sim_world_fail(world, "O3: %u commands never complete", world->live_count);
    for (uint32_t id = 1; id < world->call_count; id++) {
        const sim_call_t *call = &world->calls[id];

        if (call->fate == SHOAL_FATE_NOT_EXECUTED && call->executed > 0)
            sim_world_fail(world, "O4: %u was executed, but reported not to be", id);
        if (call->executed > 1 && !sim_call_is_repeatable(call))
            sim_world_fail(world, "O2: %u was executed %u times", id, call->executed);
        if (call->executed > world->config.attempts_max)
            sim_world_fail(world, "O2: %u was executed %u times", id, call->executed);
        if (call->verb == SIM_VERB_EXEC)
            check_unit(world, call);
    }
}
