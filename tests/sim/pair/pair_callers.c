/* SPDX-License-Identifier: MIT */

/* The callers: commands of some threads, each for a key, alone or in units. */

#include "base/alloc.h"
#include "base/time_us.h"
#include "sim/pair/pair_world.h"
#include <inttypes.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 3
#define BIG_BYTES_MAX 3000

bool pair_is_repeatable(const pair_call_t *call)
{
    if (call->flags & SHOAL__REQUEST_ONCE)
        return false;
    return (call->flags & SHOAL__REQUEST_IDEMPOTENT) ||
           (call->verb == PAIR_GET && call->unit_first == 0);
}

/* ---- encoding ---- */

/* What stands before the ten digits of the number. */
static const char *const heads[] = {
    "*2\r\n$3\r\nGET\r\n$10\r\n", "*3\r\n$6\r\nAPPEND\r\n$10\r\n",
    "*2\r\n$5\r\nMULTI\r\n$10\r\n", "*2\r\n$4\r\nEXEC\r\n$10\r\n"};

static char *put_number(char *at, uint32_t number, unsigned digits)
{
    for (unsigned i = digits; i > 0; i--, number /= 10)
        at[i - 1] = (char)('0' + number % 10);
    return at + digits;
}

size_t pair_encode(const pair_call_t *call, char *at)
{
    const char *head = heads[call->verb];
    size_t head_bytes = strlen(head);
    size_t id_bytes = call->is_lent ? 0 : PAIR_ID_DIGITS;
    size_t pad_bytes = call->is_lent ? 0 : call->pad_bytes;
    size_t bytes = head_bytes + id_bytes + 2;
    bool has_pad = call->verb == PAIR_APPEND;

    bytes += has_pad ? sizeof "$0000\r\n\r\n" - 1 + pad_bytes : 0;
    if (!at)
        return bytes;
    memcpy(at, head, head_bytes);
    at += head_bytes;
    if (!call->is_lent)
        at = put_number(at, pair_id_of(call), PAIR_ID_DIGITS);
    memcpy(at, "\r\n", 2);
    if (!has_pad)
        return bytes;
    memcpy(at, "\r\n$", 3);
    at = put_number(at + 3, call->pad_bytes, 4);
    memcpy(at, "\r\n", 2);
    memset(at + 2, 'x', pad_bytes);
    memcpy(at + 2 + pad_bytes, "\r\n", 2);
    return bytes;
}

bool pair_has_bytes(const pair_call_t *call, const char *bytes, size_t count)
{
    char digits[PAIR_ID_DIGITS];
    size_t head_bytes = strlen(heads[call->verb]);

    put_number(digits, pair_id_of(call), sizeof digits);
    return count == pair_encode(call, NULL) &&
           memcmp(bytes, heads[call->verb], head_bytes) == 0 &&
           (call->is_lent || memcmp(bytes + head_bytes, digits, sizeof digits) == 0) &&
           memcmp(bytes + count - 2, "\r\n", 2) == 0;
}

/* ---- arguments that are lent ---- */

static void on_release(void *data)
{
    pair_call_t *call = data;

    call->loan.released++;
    if (!call->loan.memory) {
        pair_world_fail(call->world, "O6: %u is released twice", pair_id_of(call));
        return;
    }
    /* The library may not read it any more: a late read finds nonsense. */
    memset(call->loan.memory, '!', call->loan.bytes);
    free(call->loan.memory);
    call->loan.memory = NULL;
}

/* Where the arguments of a command belong.  Returns the next reference. */
static shoal__reference_t *refer(const pair_call_t *call, char *lent,
                                 shoal__reference_t *at, shoal__values_t *values)
{
    uint32_t head_bytes = (uint32_t)strlen(heads[call->verb]);
    bool has_pad = call->verb == PAIR_APPEND && call->pad_bytes > 0;

    put_number(lent, pair_id_of(call), PAIR_ID_DIGITS);
    memset(lent + PAIR_ID_DIGITS, 'x', call->pad_bytes);
    at[0] = (shoal__reference_t){lent, PAIR_ID_DIGITS, head_bytes};
    at[1] = (shoal__reference_t){lent + PAIR_ID_DIGITS, call->pad_bytes,
                                 head_bytes + 2 + sizeof "$0000\r\n" - 1};
    *values = (shoal__values_t){at, 1 + has_pad,
                                PAIR_ID_DIGITS + (has_pad ? call->pad_bytes : 0)};
    return at + values->count;
}

/* All arguments of a submission, in memory of their own.  NULL: they are copied. */
static shoal__extra_t *lend(pair_world_t *world, uint32_t first, uint32_t count)
{
    pair_call_t *call = &world->calls[first];
    shoal__extra_t *extra = sim_dice_hits(&world->dice, world->rates.lent)
                                ? shoal__extra_new(count, 2 * (size_t)count)
                                : NULL;
    if (!extra)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        call->loan.bytes += PAIR_ID_DIGITS + call[i].pad_bytes;
    call->loan.memory = malloc(call->loan.bytes);
    if (!call->loan.memory)
        abort();
    extra->on_release = on_release;
    extra->release_data = call;
    extra->first_tag = first;

    shoal__reference_t *at = shoal__extra_references(extra, count);
    char *lent = call->loan.memory;
    for (uint32_t i = 0; i < count; i++) {
        call[i].is_lent = true;
        at = refer(&call[i], lent, at, &extra->values[i]);
        lent += PAIR_ID_DIGITS + call[i].pad_bytes;
    }
    world->sights.lent += count;
    return extra;
}

/* ---- results ---- */

static void called_back(pair_world_t *world)
{
    if (world->is_closing || world->is_calm || world->depth >= DEPTH_MAX ||
        world->has_failed)
        return;
    world->depth++;
    if (sim_dice_hits(&world->dice, world->rates.resubmit))
        pair_callers_submit(world, 2);
    if (sim_dice_hits(&world->dice, world->rates.recancel))
        pair_callers_cancel(world);
    world->depth--;
}

void pair_callers_heard(pair_world_t *world, pair_call_t *call,
                        const shoal_result_t *result)
{
    pair_world_note(world, "result", pair_id_of(call), (uint64_t)-result->status);
    pair_oracle_result(world, call, result);
    if (call->is_done)
        return;
    world->sights.results[result->fate]++;
    call->is_done = true;
    call->handed_max = call->handed;
    /* The rest of what was begun follows; ASKING may have begun it. */
    if (world->sides[0].pipe.part_bytes > 0 || world->sides[1].pipe.part_bytes > 0 ||
        world->rates.has_ask)
        call->handed_max++;
    call->status = result->status;
    call->fate = result->fate;
    uint32_t last = world->live[--world->live_count];
    world->live[call->live_index] = last;
    world->calls[last].live_index = call->live_index;
    called_back(world);
}

/* ---- submitting ---- */

static void write_call(pair_world_t *world, uint32_t id, const pair_call_t *model)
{
    const pair_rates_t *rates = &world->rates;
    sim_dice_t *dice = &world->dice;
    pair_call_t *call = &world->calls[id];

    *call = *model;
    call->verb = sim_dice_hits(dice, rates->write) ? PAIR_APPEND : PAIR_GET;
    call->pad_bytes =
        sim_dice_below(dice, sim_dice_hits(dice, rates->big) ? BIG_BYTES_MAX : 30);
}

/* MULTI, some commands for keys of one slot, EXEC. */
static uint32_t write_unit(pair_world_t *world, const pair_call_t *model)
{
    uint32_t first = world->call_count;
    uint32_t last = first + 2 + sim_dice_below(&world->dice, 4);

    for (uint32_t id = first; id <= last; id++) {
        pair_call_t *call = &world->calls[id];

        write_call(world, id, model);
        call->flags |= SHOAL__REQUEST_UNIT;
        call->unit_first = first;
        call->unit_last = last;
        call->key =
            (uint8_t)((call->key + PAIR_SLOTS * sim_dice_below(&world->dice, 3)) %
                      PAIR_KEYS);
    }
    world->calls[first].verb = PAIR_MULTI;
    world->calls[first].flags |= SHOAL__REQUEST_UNIT_FIRST;
    world->calls[last].verb = PAIR_EXEC;
    world->calls[last].flags |= SHOAL__REQUEST_UNIT_LAST;
    return last + 1 - first;
}

static void push(pair_world_t *world, shoal__pipe_t *pipe, uint32_t id,
                 shoal__extra_t *extra)
{
    static const shoal__command_class_t classes[] = {
        SHOAL__CLASS_RO, SHOAL__CLASS_WRITE, SHOAL__CLASS_WRITE, SHOAL__CLASS_WRITE};
    pair_call_t *call = &world->calls[id];
    size_t bytes = pair_encode(call, NULL);
    shoal__request_t request = {.data = call,
                                .tag = id,
                                .ticket = call->ticket,
                                .submitted_us = SHOAL__REQUEST_TIME(world->now_us),
                                .deadline_us = call->deadline_us,
                                .extra = extra,
                                .bytes = (uint32_t)bytes,
                                .flags = call->flags,
                                .command_class = classes[call->verb]};

    pair_encode(call, shoal__buffer_reserve(&pipe->log, bytes));
    shoal__pipe_push(pipe, &request);
    shoal__stage_times_taken(&pipe->times, 1, world->now_us);
}

static void submit(pair_world_t *world, uint32_t first, uint32_t count)
{
    shoal__pipe_t *pipe = pair_client_pipe(world, pair_slot_of(&world->calls[first]));
    unsigned kind = world->calls[first].thread == 0;
    shoal__extra_t *extra = lend(world, first, count);
    size_t bytes = 0;

    for (uint32_t id = first; id < first + count; id++)
        bytes += pair_encode(&world->calls[id], NULL);
    if (!shoal__pipe_reserve(pipe, bytes, count)) {
        world->call_count -= count; /* refused: nothing is owed */
        free(world->calls[first].loan.memory);
        shoal__free(extra);
        return;
    }
    for (uint32_t id = first; id < first + count; id++) {
        pair_call_t *call = &world->calls[id];

        call->ticket = ++world->tickets[kind] | (kind ? SHOAL_TICKET_OF_LOOP : 0);
        call->live_index = world->live_count;
        world->live[world->live_count++] = id;
        push(world, pipe, id, extra);
    }
    pair_world_note(world, "submit", first, pair_slot_of(&world->calls[first]));
}

void pair_callers_submit(pair_world_t *world, uint32_t burst_max)
{
    const pair_rates_t *rates = &world->rates;
    sim_dice_t *dice = &world->dice;
    pair_call_t model = {.world = world,
                         .key = (uint8_t)sim_dice_below(dice, PAIR_KEYS),
                         .thread = (uint8_t)sim_dice_below(dice, PAIR_THREADS),
                         .deadline_us = SHOAL__NEVER_US};
    uint32_t bursts = 1 + sim_dice_below(dice, burst_max);

    if (sim_dice_hits(dice, rates->once))
        model.flags |= SHOAL__REQUEST_ONCE;
    if (sim_dice_hits(dice, rates->idempotent))
        model.flags |= SHOAL__REQUEST_IDEMPOTENT;
    if (sim_dice_hits(dice, rates->deadline))
        model.deadline_us =
            world->now_us + sim_dice_scale(dice, rates->deadline_us_max);
    for (; bursts > 0; bursts--) {
        uint32_t first = world->call_count, count = 1;

        if (world->live_count >= rates->outstanding_max ||
            world->call_count + 8 > PAIR_CALLS_MAX)
            return;
        if (sim_dice_hits(dice, rates->unit))
            count = write_unit(world, &model);
        else
            write_call(world, first, &model);
        world->call_count += count;
        submit(world, first, count);
        model.key = (uint8_t)sim_dice_below(dice, PAIR_KEYS);
    }
}

/* ---- cancelling ---- */

/* The command may be anywhere. */
static bool cancel(pair_world_t *world, uint64_t ticket)
{
    for (unsigned i = 0; i < PAIR; i++)
        if (shoal__pipe_cancel(&world->sides[i].pipe, ticket, world->now_us) ||
            shoal__handover_cancel(&world->sides[i].handover, ticket, world->now_us))
            return true;
    return false;
}

void pair_callers_cancel(pair_world_t *world)
{
    if (world->live_count == 0)
        return;
    uint32_t id = world->live[sim_dice_below(&world->dice, world->live_count)];
    pair_call_t *call = &world->calls[id];

    /* Inside a callback a part of its unit may be settled already, or a redirect may be
     * under way. */
    if (!cancel(world, call->ticket) && world->depth == 0)
        pair_world_fail(world, "O3: %u is outstanding, but cannot be cancelled", id);
    else if (world->depth == 0 && (!call->is_done || call->status != SHOAL_ECANCELLED))
        pair_world_fail(world, "O3: %u was cancelled, but its result is %d", id,
                        call->status);
}
