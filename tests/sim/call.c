/* SPDX-License-Identifier: MIT */
#include "sim/call.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "resp/command_info.h"
#include "resp/reply_shape.h"
#include "sim/world.h"
#include <shoal/errors.h>
#include <stdlib.h>
#include <string.h>

#define BIG_BYTES_MAX 20000

static const struct verb {
    const char *name;
    shoal__command_class_t command_class;
} verbs[SIM_VERB_COUNT] = {
    [SIM_VERB_ECHO] = {"ECHO", SHOAL__CLASS_RO},
    [SIM_VERB_GET] = {"GET", SHOAL__CLASS_RO},
    [SIM_VERB_LRANGE] = {"LRANGE", SHOAL__CLASS_RO},
    [SIM_VERB_INCR] = {"INCR", SHOAL__CLASS_WRITE},
    [SIM_VERB_APPEND] = {"APPEND", SHOAL__CLASS_WRITE},
    [SIM_VERB_EVAL] = {"EVAL", SHOAL__CLASS_SCRIPT},
    [SIM_VERB_BLPOP] = {"BLPOP", SHOAL__CLASS_BLOCK},
    [SIM_VERB_MULTI] = {"MULTI", SHOAL__CLASS_WRITE},
    [SIM_VERB_EXEC] = {"EXEC", SHOAL__CLASS_WRITE},
};

bool sim_call_is_repeatable(const sim_call_t *call)
{
    if (call->flags & SHOAL__REQUEST_ONCE)
        return false;
    return (call->flags & SHOAL__REQUEST_IDEMPOTENT) ||
           (call->command_class == SHOAL__CLASS_RO && call->unit_first == 0);
}

/* ---- encoding ---- */

static unsigned digits_of(uint32_t number)
{
    unsigned digits = 1;

    while (number >= 10) {
        number /= 10;
        digits++;
    }
    return digits;
}

static size_t encoded_bytes(const sim_call_t *call)
{
    size_t bytes = 4 + 4 + strlen(verbs[call->verb].name) + 2 + 5 + SIM_ID_DIGITS + 2;

    if (call->verb == SIM_VERB_APPEND)
        bytes += 1 + digits_of(call->pad_bytes) + 2 + call->pad_bytes + 2;
    return bytes;
}

static char *put(char *at, const char *text, size_t bytes)
{
    memcpy(at, text, bytes);
    return at + bytes;
}

static char *put_number(char *at, uint32_t number, unsigned digits)
{
    for (unsigned i = digits; i > 0; i--) {
        at[i - 1] = (char)('0' + number % 10);
        number /= 10;
    }
    return at + digits;
}

static char *put_pad(char *at, size_t bytes)
{
    while (bytes > 0) {
        size_t part = bytes < SIM_PAD_BYTES ? bytes : SIM_PAD_BYTES;
        at = put(at, SIM_PAD, part);
        bytes -= part;
    }
    return at;
}

/* What the log has of it: all but the arguments that are lent. */
static size_t log_bytes(const sim_call_t *call)
{
    size_t bytes = encoded_bytes(call);

    if (!call->is_lent)
        return bytes;
    if (call->verb == SIM_VERB_APPEND)
        bytes -= call->pad_bytes;
    return bytes - SIM_ID_DIGITS;
}

static char *encode(const sim_call_t *call, uint32_t id, char *at)
{
    const char *name = verbs[call->verb].name;
    size_t name_bytes = strlen(name);
    bool has_pad = call->verb == SIM_VERB_APPEND;

    at = put(at, has_pad ? "*3\r\n$" : "*2\r\n$", 5);
    *at++ = (char)('0' + name_bytes);
    at = put(at, "\r\n", 2);
    at = put(at, name, name_bytes);
    at = put(at, "\r\n$10\r\n", 7);
    if (!call->is_lent)
        at = put_number(at, id, SIM_ID_DIGITS);
    at = put(at, "\r\n", 2);
    if (!has_pad)
        return at;

    *at++ = '$';
    at = put_number(at, call->pad_bytes, digits_of(call->pad_bytes));
    at = put(at, "\r\n", 2);
    if (!call->is_lent)
        at = put_pad(at, call->pad_bytes);
    return put(at, "\r\n", 2);
}

bool sim_call_has_bytes(const sim_call_t *call, const char *bytes, size_t count)
{
    char *wire = malloc(log_bytes(call));
    bool has = wire && count == log_bytes(call);

    if (has) {
        encode(call, sim_call_id(call), wire);
        has = memcmp(wire, bytes, count) == 0;
    }
    free(wire);
    return has;
}

/* ---- results ---- */

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    sim_call_t *call = data;
    sim_world_t *world = call->world;
    uint32_t id = (uint32_t)(call - world->calls);

    (void)client;
    sim_world_note(world, "result", id, (uint64_t)(-result->status));
    sim_oracle_result(world, call, result);
    sim_sights_note_result(world, call, result);
    if (call->is_taken && call->is_lent && call->released != 1)
        sim_world_fail(world, "O6: %u has its result, and was released %u times", id,
                       call->released);
    if (call->is_done)
        return;
    sim_oracle_moves_on(world, call);
    call->is_done = true;
    call->status = result->status;
    call->fate = (uint8_t)result->fate;
    if (world->link && (call->unit_first || world->link->tail_bytes > 0))
        call->given_up_link = world->link->serial;
    uint32_t last = world->live[--world->live_count];
    world->live[call->live_index] = last;
    world->calls[last].live_index = call->live_index;
    sim_callers_called_back(world);
}

/* ---- submitting ---- */

static uint16_t roll_flags(sim_world_t *world)
{
    const sim_swarm_t *swarm = &world->swarm;
    uint16_t flags = 0;

    if (sim_dice_hits(&world->dice, swarm->once_rate))
        flags |= SHOAL__REQUEST_ONCE;
    if (sim_dice_hits(&world->dice, swarm->idempotent_rate))
        flags |= SHOAL__REQUEST_IDEMPOTENT;
    if (sim_dice_hits(&world->dice, swarm->urgent_rate))
        flags |= SHOAL__REQUEST_URGENT;
    return flags;
}

static sim_verb_t roll_verb(sim_world_t *world)
{
    static const uint8_t reads[] = {SIM_VERB_ECHO, SIM_VERB_GET, SIM_VERB_LRANGE,
                                    SIM_VERB_LRANGE};
    static const uint8_t writes[] = {SIM_VERB_INCR,   SIM_VERB_INCR,   SIM_VERB_INCR,
                                     SIM_VERB_APPEND, SIM_VERB_APPEND, SIM_VERB_APPEND,
                                     SIM_VERB_EVAL,   SIM_VERB_BLPOP};

    if (sim_dice_hits(&world->dice, world->swarm.write_rate))
        return (sim_verb_t)writes[sim_dice_below(&world->dice, sizeof writes)];
    return (sim_verb_t)reads[sim_dice_below(&world->dice, sizeof reads)];
}

/* A new entry; it counts only once it was pushed. */
static void write_entry(sim_world_t *world, uint32_t id, unsigned thread,
                        sim_verb_t verb, uint16_t flags)
{
    bool is_big = sim_dice_hits(&world->dice, world->swarm.big_rate);

    world->calls[id] = (sim_call_t){
        .world = world,
        .deadline_us = SHOAL__NEVER_US,
        .flags = flags,
        .verb = (uint8_t)verb,
        .thread = (uint8_t)thread,
        .command_class = (uint8_t)verbs[verb].command_class,
        .pad_bytes = verb == SIM_VERB_APPEND || verb == SIM_VERB_GET
                         ? sim_dice_below(&world->dice, is_big ? BIG_BYTES_MAX : 40)
                         : 0,
        .has_sink = sim_dice_hits(&world->dice, world->swarm.sink_rate),
        .is_lent = sim_dice_hits(&world->dice, world->swarm.lent_rate)};
}

/* What is to be outstanding at once, those that wait to be sent again included. */
static void note_peaks(sim_world_t *world, size_t more_bytes, uint32_t more)
{
    const shoal__pipe_t *pipe = &world->pipe;
    const shoal__pipe_t *pen = pipe->pen;
    size_t bytes = shoal__buffer_bytes(&pipe->log) + pipe->referred_bytes +
                   (pen ? shoal__buffer_bytes(&pen->log) + pen->referred_bytes : 0) +
                   more_bytes;
    size_t commands = (size_t)shoal__request_ring_length(&pipe->ring) +
                      (size_t)shoal__pipe_held(pipe) + more;

    if (bytes > world->bytes_peak)
        world->bytes_peak = bytes;
    if (commands > world->commands_peak)
        world->commands_peak = commands;
}

void sim_calls_accept(sim_world_t *world, uint32_t first, uint32_t count,
                      uint64_t ticket_kind)
{
    for (uint32_t id = first; id < first + count; id++) {
        sim_call_t *call = &world->calls[id];

        call->ticket = ++world->tickets[ticket_kind != 0] | ticket_kind;
        call->deadline_us = shoal__time_after(world->now_us, call->delay_us);
        call->accepted_us = world->now_us;
        call->live_index = world->live_count;
        world->live[world->live_count++] = id;
    }
    sim_world_note(world, "accept", first, count);
}

static shoal__reply_shape_t shape_of(const sim_call_t *call)
{
    const char *name = verbs[call->verb].name;

    if (call->unit_first)
        return call->verb == SIM_VERB_EXEC ? SHOAL__SHAPE_EXEC : SHOAL__SHAPE_QUEUED;
    return shoal__command_info_find((shoal__bytes_t){name, strlen(name)})->shape;
}

static void on_release(void *data)
{
    sim_call_t *call = data;

    call->released++;
    if (call->released > 1 || !call->lent) {
        sim_world_fail(call->world, "O6: %u is released twice", sim_call_id(call));
        return;
    }
    /* The library may not read it any more: a late read finds nonsense. */
    memset(call->lent, '!', SIM_ID_DIGITS + call->pad_bytes);
    free(call->lent);
    call->lent = NULL;
}

/* Its arguments, in memory of their own.  False: there is none. */
static bool lend(sim_call_t *call, uint32_t id, shoal__extra_t *extra)
{
    shoal__values_t *values = extra->values;
    shoal__reference_t *at = shoal__extra_references(extra, 1);
    const char *name = verbs[call->verb].name;
    bool has_pad = call->verb == SIM_VERB_APPEND && call->pad_bytes > 0;
    uint32_t id_at = (uint32_t)(8 + strlen(name) + 2 + 5);

    call->lent = malloc(SIM_ID_DIGITS + call->pad_bytes);
    if (!call->lent)
        return false;
    put_pad(put_number(call->lent, id, SIM_ID_DIGITS), call->pad_bytes);
    at[0] = (shoal__reference_t){call->lent, SIM_ID_DIGITS, id_at};
    at[1] = (shoal__reference_t){call->lent + SIM_ID_DIGITS, call->pad_bytes,
                                 id_at + 2 + 1 + digits_of(call->pad_bytes) + 2};
    *values = (shoal__values_t){at, 1 + has_pad,
                                SIM_ID_DIGITS + (has_pad ? call->pad_bytes : 0)};
    extra->on_release = on_release;
    extra->release_data = call;
    extra->first_tag = id;
    return true;
}

/* Without memory it does without. */
static shoal__extra_t *extra_of(sim_call_t *call, uint32_t id)
{
    shoal__extra_t *extra = NULL;

    if (call->has_sink || call->is_lent)
        extra = shoal__extra_new(1, call->is_lent ? 2 : 0);
    call->has_sink = call->has_sink && extra;
    call->is_lent = call->is_lent && extra && lend(call, id, extra);
    if (call->has_sink) {
        extra->sink = &sim_sink;
        extra->sink_data = call;
    }
    return extra;
}

static shoal__request_t request_of(sim_world_t *world, uint32_t id)
{
    sim_call_t *call = &world->calls[id];
    shoal__extra_t *extra = extra_of(call, id);

    return (shoal__request_t){.on_result = on_result,
                              .data = call,
                              .tag = id,
                              .ticket = call->ticket,
                              .submitted_us = SHOAL__REQUEST_TIME(world->now_us),
                              .deadline_us = call->deadline_us,
                              .extra = extra,
                              .bytes = (uint32_t)log_bytes(call),
                              .flags = call->flags,
                              .command_class = verbs[call->verb].command_class,
                              .shape = shape_of(call) & 63u};
}

bool sim_calls_push(sim_world_t *world, uint32_t first, uint32_t count)
{
    size_t bytes = 0;

    for (uint32_t id = first; id < first + count; id++)
        bytes += encoded_bytes(&world->calls[id]);
    note_peaks(world, bytes, count);
    char *at = shoal__pipe_reserve(&world->pipe, bytes, count);
    if (!at) {
        if (!world->is_short_of_memory)
            sim_world_fail(world, "O6: a submission was refused for memory");
        return false;
    }
    for (uint32_t id = first; id < first + count; id++) {
        shoal__request_t request = request_of(world, id);

        at = encode(&world->calls[id], id, at);
        world->calls[id].is_taken = true;
        shoal__pipe_push(&world->pipe, &request);
    }
    world->has_submitted = true;
    shoal__stage_times_taken(&world->pipe.times, count, world->now_us);
    sim_world_note(world, "push", first, count);
    return true;
}

void sim_calls_refuse(sim_world_t *world, uint32_t first, uint32_t count)
{
    for (uint32_t id = first; id < first + count; id++) {
        shoal__request_t request = {
            .on_result = on_result, .data = &world->calls[id], .tag = id};

        shoal__pipe_deliver(&world->pipe, &request, SHOAL_ENOMEM,
                            SHOAL_FATE_NOT_EXECUTED, NULL, 0, "no memory");
    }
}

/* MULTI, some commands, EXEC. */
static uint32_t write_unit(sim_world_t *world, unsigned thread)
{
    uint32_t first = world->call_count, last = first + 1;
    uint16_t flags = roll_flags(world) | SHOAL__REQUEST_UNIT;

    last += sim_dice_below(&world->dice, 5);
    for (uint32_t id = first; id <= last; id++) {
        sim_verb_t verb = roll_verb(world);
        if (id == first)
            verb = SIM_VERB_MULTI;
        else if (id == last)
            verb = SIM_VERB_EXEC;
        write_entry(world, id, thread, verb, flags);
        world->calls[id].unit_first = first;
        world->calls[id].unit_last = last;
    }
    world->calls[first].flags |= SHOAL__REQUEST_UNIT_FIRST;
    world->calls[last].flags |= SHOAL__REQUEST_UNIT_LAST;
    return last - first + 1;
}

uint32_t sim_calls_write(sim_world_t *world, unsigned thread, uint32_t burst_max)
{
    sim_dice_t *dice = &world->dice;
    uint32_t count = 1 + sim_dice_below(dice, burst_max);
    uint64_t delay_us = SHOAL__NEVER_US;

    if (world->live_count >= world->swarm.outstanding_max ||
        world->call_count + count + 8 > SIM_CALLS_MAX)
        return 0;
    if (sim_dice_hits(dice, world->swarm.deadline_rate))
        delay_us = sim_dice_scale(dice, world->swarm.deadline_us_max);
    if (sim_dice_hits(dice, world->swarm.unit_rate)) {
        count = write_unit(world, thread);
    } else {
        uint16_t flags = roll_flags(world);
        for (uint32_t i = 0; i < count; i++)
            write_entry(world, world->call_count + i, thread, roll_verb(world), flags);
    }
    for (uint32_t i = 0; i < count; i++)
        world->calls[world->call_count + i].delay_us = delay_us;
    world->call_count += count;
    return count;
}

/* ---- cancelling ---- */

uint32_t sim_calls_pick(sim_world_t *world)
{
    const shoal__request_ring_t *ring = &world->pipe.ring;
    sim_dice_t *dice = &world->dice;

    /* The one whose reply may be under way is worth more than chance gives it. */
    if (ring->head != ring->sent && sim_dice_hits(dice, 400)) {
        const sim_call_t *call = shoal__request_ring_at(ring, ring->head)->data;
        return call ? sim_call_id(call) : 0;
    }
    if (world->live_count > 0 && !sim_dice_hits(dice, 64))
        return world->live[sim_dice_below(dice, world->live_count)];
    if (world->call_count > 1)
        return 1 + sim_dice_below(dice, world->call_count - 1);
    return 0;
}

bool sim_calls_cancel(sim_world_t *world, uint32_t id)
{
    sim_call_t *call = &world->calls[id];
    bool was_done = call->is_done, is_there = call->is_taken && !was_done;
    bool is_cancelled = shoal__pipe_cancel(&world->pipe, call->ticket, world->now_us);

    sim_world_note(world, "cancel", id, is_cancelled);
    if (is_cancelled != is_there)
        sim_world_fail(world, "O3: cancel of %u, %s, gave %d", id,
                       was_done ? "done" : "outstanding", is_cancelled);
    if (is_there && (!call->is_done || call->status != SHOAL_ECANCELLED))
        sim_world_fail(world, "O3: %u was cancelled, but its result is %d", id,
                       call->status);
    return is_cancelled;
}
