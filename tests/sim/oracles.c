/* SPDX-License-Identifier: MIT */

/* What must never happen.  The numbers are those of world.h. */

#include "base/time_us.h"
#include "core/pipe/pipe_succession.h"
#include "sim/world.h"
#include "support/pipe_idle.h"
#include <shoal/errors.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GIVEN_UP (SHOAL__REQUEST_ZOMBIE | SHOAL__REQUEST_GONE | SHOAL__REQUEST_INTERNAL)

void sim_oracle_blame(sim_world_t *world, const sim_call_t *call, const char *format,
                      ...)
{
    char text[sizeof world->failure];
    va_list args;

    if (call->is_tainted || world->has_failed)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sim_world_fail(world, "%s", text);
    world->objection = format;
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

/* Nothing can be said of positions: bytes were lost for want of memory, replies are not
 * where they belong, or are held until a fence. */
static bool is_position_known(const sim_world_t *world)
{
    return world->lost_status != SHOAL_ENOMEM && !sim_integrity_is_strict(world) &&
           !(world->link && world->link->is_spoilt);
}

static void check_fate(sim_world_t *world, sim_call_t *call,
                       const shoal_result_t *result)
{
    uint32_t id = sim_call_id(call);
    bool is_given_up =
        result->status == SHOAL_ETIMEOUT || result->status == SHOAL_ECANCELLED;

    if ((result->fate == SHOAL_FATE_REPLIED) != (result->status == 0))
        sim_oracle_blame(world, call, "O3: %u has fate %d and status %d", id,
                         (int)result->fate, result->status);
    if (call->unit_first == 0 && result->attempts + call->held != call->handed)
        sim_oracle_blame(world, call, "O3: %u was handed over %u times, not %u", id,
                         call->handed - call->held, result->attempts);
    switch (result->fate) {
    case SHOAL_FATE_REPLIED:
        if (call->order <= world->answered_order)
            sim_oracle_blame(world, call, "O8: the reply of %u is late", id);
        world->answered_order = call->order;
        break;
    case SHOAL_FATE_NOT_EXECUTED:
        if (handed(world, call) > call->rejected)
            sim_oracle_blame(world, call,
                             "O4: %u was handed over, but \"not executed\"", id);
        break;
    case SHOAL_FATE_UNKNOWN:
        if (handed(world, call) == 0 &&
            !(is_given_up &&
              (call->unit_first || (world->link && world->link->tail_bytes > 0))))
            sim_oracle_blame(world, call, "O4: %u was not handed over, but \"unknown\"",
                             id);
        if (call->unit_first == 0 && is_half_answered(world, call) &&
            is_position_known(world) &&
            !(result->status == SHOAL_ECANCELLED && world->is_unclear))
            sim_oracle_blame(world, call,
                             "O4: the reply of %u had begun, but \"unknown\"", id);
        break;
    case SHOAL_FATE_REPLY_LOST:
        if (is_half_answered(world, call))
            world->sights.cuts |=
                UINT64_C(1) << (world->link->taken_bytes - call->answer_begin) % 64;
        if (call->unit_first == 0 && !is_half_answered(world, call) &&
            is_position_known(world))
            sim_oracle_blame(world, call, "O4: %u was not answered, but \"reply lost\"",
                             id);
        /* Whatever is proved can be decoded, if there is memory. */
        if (sim_integrity_is_strict(world) && world->lost_status != SHOAL_ENOMEM)
            sim_oracle_blame(world, call,
                             "O4: \"reply lost\" of %u, which nothing proves", id);
        break;
    }
}

/* Also from a server that spoils its answers. */
static bool may_have_type(const sim_call_t *call, const shoal_reply_t *reply)
{
    bool is_number = call->unit_first == 0 &&
                     (call->verb == SIM_VERB_INCR || call->verb == SIM_VERB_APPEND);

    return !is_number || !reply || shoal_reply_type(reply) == SHOAL_REPLY_ERROR ||
           shoal_reply_type(reply) == SHOAL_REPLY_INTEGER;
}

void sim_oracle_result(sim_world_t *world, sim_call_t *call,
                       const shoal_result_t *result)
{
    uint32_t id = sim_call_id(call);

    if (call->is_done) {
        sim_world_fail(world, "O3: %u completes twice", id);
        return;
    }
    if (result->tag != id)
        sim_world_fail(world, "O3: %u has another command's tag", id);
    uint64_t due_us =
        call->deadline_us > world->resumed_us ? call->deadline_us : world->resumed_us;
    if (shoal__time_after(due_us, SIM_LATE_US) < world->now_us)
        sim_world_fail(world, "O5: %u completes %llu us behind its deadline", id,
                       (unsigned long long)(world->now_us - due_us));
    if (result->status == SHOAL_ETIMEOUT && world->now_us < call->deadline_us)
        sim_world_fail(world, "O5: %u timed out before its deadline", id);
    if (result->is_settled && world->link)
        world->settled_link = world->link->serial;
    if (!may_have_type(call, result->reply))
        sim_world_fail(world, "O1: %u got a reply of a type that it never has", id);
    check_fate(world, call, result);
    if (result->status == 0)
        sim_oracle_reply(world, call, result->reply);
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

/* Its first bytes have gone: the rest follows, whatever was refused meanwhile. */
static bool is_begun(const sim_world_t *world, const sim_call_t *call,
                     const sim_link_t *link)
{
    const shoal__pipe_t *pipe = &world->pipe;
    const shoal__request_t *next = shoal__request_ring_at(&pipe->ring, pipe->ring.sent);

    return (pipe->part_bytes > 0 && next->data == call) ||
           (call->unit_first && call->verb != SIM_VERB_MULTI &&
            world->calls[call->unit_first].handed_link == link->serial);
}

/* Before the command goes: does one of its thread wait that was submitted earlier? */
static void check_order(sim_world_t *world, const sim_call_t *call,
                        const sim_link_t *link)
{
    if (world->waiting_again[call->thread] == 0 || is_begun(world, call, link))
        return;
    for (uint32_t i = 0; i < world->live_count; i++) {
        const sim_call_t *other = &world->calls[world->live[i]];
        bool is_in_flight = other->handed_link == link->serial && !other->waits_again;

        if (other->thread == call->thread && other < call && other->is_taken &&
            !is_in_flight && !other->is_loose &&
            !(world->has_role_hold &&
              sim_call_is_read(other) != sim_call_is_read(call)))
            sim_oracle_blame(world, call, "O10: %u overtakes %u, which waits",
                             sim_call_id(call), sim_call_id(other));
    }
}

/* While everything is held, a command goes when no other is unanswered. */
static void check_alone(sim_world_t *world, const sim_call_t *call,
                        const sim_link_t *link)
{
    const shoal__pipe_t *pipe = &world->pipe;

    if (pipe->hold.state == SHOAL__HOLD_OPEN || pipe->hold.scope != SHOAL__HOLD_ALL ||
        is_begun(world, call, link))
        return;
    if (shoal__pipe_inflight(pipe) > 0 || world->handed_in_hold > 0)
        sim_oracle_blame(world, call, "O10: %u asks a server that refuses, in company",
                         sim_call_id(call));
    world->handed_in_hold++;
}

void sim_oracle_held(sim_world_t *world, sim_call_t *call, const char *error)
{
    world->handed_in_hold = 0;
    if (strncmp(error, "NOAUTH", 6) != 0)
        call->held++;
    call->waits_again = true;
    call->is_loose |= strncmp(error, "TRYAGAIN", 8) == 0;
    world->has_role_hold |= strncmp(error, "READONLY", 8) == 0;
    world->waiting_again[call->thread]++;
}

void sim_oracle_moves_on(sim_world_t *world, sim_call_t *call)
{
    world->waiting_again[call->thread] -= call->waits_again;
    call->waits_again = false;
}

static bool is_repeated(const sim_call_t *call, uint32_t link)
{
    return call->handed_link == link && !call->waits_again &&
           (call->unit_first == 0 || call->verb == SIM_VERB_EXEC);
}

/* What one loss repeats takes one retry; a tenth of one comes back for each answer, up to
 * ten retries.  Only the upper half may be spent.  (I13) */
void sim_oracle_repeats(sim_world_t *world, uint32_t link)
{
    const sim_call_t *repeated = NULL;
    uint64_t answers = world->answers_heard +
                       shoal__counter_get(&world->pipe.stats.zombies_dropped) -
                       world->answers_counted;

    world->answers_counted += answers;
    world->allowance_10 += answers;
    if (world->allowance_10 > 100)
        world->allowance_10 = 100;
    for (uint32_t i = 0; i < world->live_count; i++)
        if (is_repeated(&world->calls[world->live[i]], link))
            repeated = &world->calls[world->live[i]];
    if (!repeated)
        return;
    if (world->allowance_10 <= 50)
        sim_oracle_blame(world, repeated, "O2: %u is sent again beyond the allowance",
                         sim_call_id(repeated));
    else
        world->allowance_10 -= 10;
}

void sim_oracle_handed(sim_world_t *world, sim_link_t *link, uint32_t id)
{
    sim_call_t *call = &world->calls[id];

    link->has_callers = true;
    call->is_tainted |= link->is_spoilt && !sim_integrity_is_strict(world);
    if (!sim_link_is_greeted(link))
        sim_world_fail(world, "O7: %u was sent before the greeting ended", id);
    if (shoal__renewal_is_draining(&world->pipe.renewal) &&
        !is_begun(world, call, link))
        sim_world_fail(world, "O3: %u was sent over a connection that is to be left",
                       id);
    sim_poison_handed(world, call);
    call->handed++;
    if (call->is_done && !may_follow(call, link))
        sim_oracle_blame(world, call, "O4: %u was sent behind its result %d", id,
                         call->status);
    if ((call->flags & SHOAL__REQUEST_ONCE) && (call->handed > 1 || call->was_touched))
        sim_oracle_blame(world, call,
                         "O2: %u was sent again, but only one attempt is allowed", id);
    check_order(world, call, link);
    check_alone(world, call, link);
    sim_oracle_moves_on(world, call);
    call->handed_link = link->serial;
    if (call->unit_first && call->verb != SIM_VERB_EXEC)
        return; /* parts may be sent often, as long as EXEC is not */
    if (call->handed > world->config.attempts_max + call->held)
        sim_oracle_blame(world, call, "O2: %u was sent %u times", id, call->handed);
    if (!sim_call_is_repeatable(call) && call->handed > 1 + call->rejected)
        sim_oracle_blame(world, call,
                         "O2: %u was sent again, but may have been executed", id);
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
    const shoal__request_t *head =
        shoal__request_ring_at(ring, ring->head + world->pipe.held.replies);

    return shoal__request_ring_inflight(ring) > world->pipe.held.replies &&
           head->command_class == SHOAL__CLASS_BLOCK &&
           world->now_us < head->deadline_us;
}

/* The converse of what follows: no server is given up too soon. */
void sim_oracle_lost(sim_world_t *world, int status, const char *detail)
{
    uint64_t silent_us = world->now_us - silent_since_us(world);

    if (status == SHOAL_EDESYNC && world->link && !world->link->is_hostile)
        sim_world_fail(world, "O1: what a healthy server said is refused: %s", detail);
    if (strstr(detail, "stopped answering") && sim_link_readable(world->link) > 0 &&
        world->link->drip_us == 0)
        sim_world_fail(world, "O5: the server is given up, but it was not listened to");
    if (strstr(detail, "stopped answering") &&
        (silent_us < world->config.stall_us || may_be_silent(world)))
        sim_world_fail(world, "O5: the server is given up after %llu us",
                       (unsigned long long)silent_us);
}

/* Commands are queued that could leave, but did not. */
static bool is_held(const sim_world_t *world)
{
    const shoal__pipe_t *pipe = &world->pipe;

    /* Where every batch needs room for its fence, replies make it. */
    if (sim_integrity_is_strict(world) && shoal__request_ring_inflight(&pipe->ring) > 0)
        return false;
    return world->link && world->is_written_out && pipe->phase == SHOAL__PIPE_READY &&
           !shoal__renewal_is_draining(&pipe->renewal) &&
           shoal__pipe_queued(pipe) > 0 && pipe->hold.state == SHOAL__HOLD_OPEN &&
           shoal__pipe_inflight(pipe) < world->config.inflight_max &&
           !sim_poison_is_waited_for(world);
}

void sim_oracle_settled(sim_world_t *world)
{
    const shoal__pipe_t *pipe = &world->pipe;
    uint64_t silent_us = world->now_us - silent_since_us(world);
    bool is_owed =
        shoal__request_ring_inflight(&pipe->ring) > 0 || pipe->part_bytes > 0;

    if (shoal__pipe_renewal_wake_us(pipe) <= world->now_us)
        sim_world_fail(world, "O5: a demoted server is kept");
    if (world->link && pipe->phase == SHOAL__PIPE_READY && is_owed &&
        silent_us >= world->config.stall_us && !may_be_silent(world))
        sim_world_fail(world, "O5: the server has been silent for %llu us",
                       (unsigned long long)silent_us);
    if (!world->config.queue_offline && !world->link && world->was_lost &&
        !world->has_submitted && world->live_count > 0)
        sim_world_fail(world, "O3: %u commands wait for a connection, but shall not",
                       world->live_count);
    if (is_held(world) && world->flush_us == SHOAL__NEVER_US)
        sim_world_fail(world, "O5: commands are held back for ever");
    if (sim_owner_wake_us(world) <= world->now_us)
        sim_world_fail(world, "O5: the pipe has nothing to do and does not sleep");
}

static void check_ring(sim_world_t *world)
{
    const shoal__request_ring_t *ring = &world->pipe.ring;
    size_t bytes = 0, sent_bytes = 0, referred_bytes = 0;
    uint64_t gone = 0, retried = 0,
             owed = shoal__pipe_held(&world->pipe) + world->inbox.command_count;

    for (uint64_t at = ring->head; at != ring->tail; at++) {
        const shoal__request_t *request = shoal__request_ring_at(ring, at);

        if (at == ring->sent)
            sent_bytes = bytes;
        bytes += request->bytes;
        referred_bytes += shoal__request_referred_bytes(request);
        gone += (request->flags & SHOAL__REQUEST_GONE) != 0;
        retried += (request->flags & SHOAL__REQUEST_RETRIED) != 0;
        owed += (request->flags & GIVEN_UP) == 0;
        if ((request->flags & SHOAL__REQUEST_GONE) && at < ring->sent)
            sim_world_fail(world, "O6: a slot without a reply is among the written");
    }
    if (ring->sent == ring->tail)
        sent_bytes = bytes;
    if (bytes != shoal__buffer_bytes(&world->pipe.log) ||
        sent_bytes != world->pipe.sent_bytes ||
        referred_bytes != world->pipe.referred_bytes)
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
    /* A unit may be longer than what may be in flight, and is one batch. */
    size_t inflight_max =
        sim_integrity_is_strict(world) && world->config.inflight_max < 8
            ? 8
            : world->config.inflight_max;
    /* Each batch may have a fence. */
    size_t peak = 2 * world->commands_peak;
    size_t bytes_peak = world->bytes_peak + SHOAL__FENCE_BYTES * world->commands_peak;
    size_t slots_max = peak < 32 ? 64 : 2 * peak;

    check_ring(world);
    sim_poison_check_company(world);
    if (pipe->flush.queued != shoal__pipe_queued(pipe) ||
        pipe->flush.inflight != shoal__pipe_inflight(pipe))
        sim_world_fail(world, "O6: the flush policy counts its commands wrong");
    if (shoal__pipe_inflight(pipe) > inflight_max)
        sim_world_fail(world, "O6: more is in flight than is allowed");
    if (pipe->ring.mask + 1 > slots_max)
        sim_world_fail(world, "O6: the ring has grown beyond what was outstanding");
    if (pipe->log.capacity > 4 * bytes_peak + 1024)
        sim_world_fail(world, "O6: the log has grown beyond what was outstanding");
}

static void check_unit(sim_world_t *world, const sim_call_t *exec)
{
    for (uint32_t id = exec->unit_first + 1; id < exec->unit_last; id++)
        if (world->calls[id].executed != exec->executed)
            sim_oracle_blame(world, exec, "O8: unit %u was executed in part",
                             exec->unit_first);
}

void sim_oracle_end(sim_world_t *world)
{
    const shoal__pipe_t *pipe = &world->pipe;

    if (world->live_count > 0 || !pipe_is_idle(pipe))
        sim_world_fail(world, "O3: %u commands never complete", world->live_count);
    if (world->pushes_heard != shoal__counter_get(&pipe->stats.pushes))
        sim_world_fail(world, "O1: %llu pushes were handed out",
                       (unsigned long long)world->pushes_heard);
    for (uint32_t id = 1; id < world->call_count; id++) {
        const sim_call_t *call = &world->calls[id];

        if (call->fate == SHOAL_FATE_NOT_EXECUTED && call->executed > 0)
            sim_oracle_blame(world, call, "O4: %u was executed, but reported not to be",
                             id);
        if (call->executed > 1 && !sim_call_is_repeatable(call))
            sim_oracle_blame(world, call, "O2: %u was executed %u times", id,
                             call->executed);
        /* A reply out of step may be a refusal, which costs no attempt. */
        if (call->executed > world->config.attempts_max)
            sim_oracle_blame(world, call, "O2: %u was executed %u times", id,
                             call->executed);
        if (call->verb == SIM_VERB_EXEC)
            check_unit(world, call);
    }
}
