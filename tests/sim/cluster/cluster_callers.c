/* SPDX-License-Identifier: MIT */

/* The callers: commands of some threads, each for keys of one slot. */

#include "base/time_us.h"
#include "sim/cluster/cluster_world.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 3
#define CLUSTER_UNIT_MAX 6
#define COMMAND_BYTES_MAX 160

/* ---- encoding ---- */

static size_t put_key(char *at, const cluster_call_t *call, unsigned key)
{
    char text[32];
    int bytes = snprintf(text, sizeof text, "{%s}k%u", cluster_tag(call->block),
                         key % CLUSTER_KEYS);

    return (size_t)sprintf(at, "$%d\r\n%s\r\n", bytes, text);
}

/* The last word is the number of the command. */
static size_t encode(const cluster_call_t *call, char at[COMMAND_BYTES_MAX])
{
    static const char *const heads[] = {
        "*3\r\n$5\r\nGETEX\r\n", "*3\r\n$6\r\nAPPEND\r\n", "*4\r\n$3\r\nLCS\r\n",
        "*3\r\n$3\r\nGET\r\n",   "*2\r\n$5\r\nMULTI\r\n",  "*2\r\n$4\r\nEXEC\r\n"};
    size_t bytes = (size_t)sprintf(at, "%s", heads[call->verb]);

    if (call->verb < CLUSTER_MULTI)
        bytes += put_key(at + bytes, call, call->key);
    if (call->verb == CLUSTER_LCS)
        bytes += put_key(at + bytes, call, call->key + 1u);
    return bytes + (size_t)sprintf(at + bytes, "$10\r\n%010u\r\n", cluster_id_of(call));
}

/* ---- submitting ---- */

static void write_call(cluster_world_t *world, cluster_call_t *call, unsigned block)
{
    const cluster_rates_t *rates = &world->rates;
    sim_dice_t *dice = &world->dice;

    *call = (cluster_call_t){.world = world,
                             .block = (uint8_t)block,
                             .key = (uint8_t)sim_dice_below(dice, CLUSTER_KEYS),
                             .thread = (uint8_t)sim_dice_below(dice, CLUSTER_THREADS),
                             .submitted_us = world->now_us,
                             .deadline_us = SHOAL__NEVER_US};
    if (rates->read > 0 && sim_dice_hits(dice, 400))
        call->verb = CLUSTER_READ;
    else if (sim_dice_hits(dice, rates->write))
        call->verb = CLUSTER_APPEND;
    else if (sim_dice_hits(dice, rates->multi))
        call->verb = CLUSTER_LCS;
    if (world->is_calm)
        return;
    call->is_for_replica =
        call->verb == CLUSTER_READ && sim_dice_hits(dice, rates->read);
    if (!call->is_for_replica && sim_dice_hits(dice, rates->bulk))
        call->flags |= SHOAL__REQUEST_APART;
    if (!call->is_for_replica && sim_dice_hits(dice, rates->once))
        call->flags |= SHOAL__REQUEST_ONCE;
    if (sim_dice_hits(dice, rates->idempotent))
        call->flags |= SHOAL__REQUEST_IDEMPOTENT;
    if (sim_dice_hits(dice, rates->deadline))
        call->deadline_us =
            world->now_us + sim_dice_scale(dice, rates->deadline_us_max);
}

/* MULTI, some commands for one slot, EXEC. */
static void write_unit(cluster_world_t *world, unsigned block)
{
    uint32_t first = world->call_count, count = 3 + sim_dice_below(&world->dice, 3);

    write_call(world, &world->calls[first], block);
    for (uint32_t id = first; id < first + count; id++) {
        cluster_call_t *call = &world->calls[id];
        const cluster_call_t *model = &world->calls[first];
        if (id > first)
            write_call(world, call, block);
        call->thread = model->thread;
        call->deadline_us = model->deadline_us;
        call->flags = (model->flags & (SHOAL__REQUEST_ONCE | SHOAL__REQUEST_IDEMPOTENT |
                                       SHOAL__REQUEST_APART)) |
                      SHOAL__REQUEST_UNIT;
        call->is_for_replica = false;
        call->unit_first = first;
        call->unit_last = first + count - 1;
    }
    world->calls[first].verb = CLUSTER_MULTI;
    world->calls[first].flags |= SHOAL__REQUEST_UNIT_FIRST;
    world->calls[first + count - 1].verb = CLUSTER_EXEC;
    world->calls[first + count - 1].flags |= SHOAL__REQUEST_UNIT_LAST;
    world->call_count += count;
}

static bool push(shoal__mailbox_side_t *side, cluster_call_t *call)
{
    static const shoal__command_class_t classes[CLUSTER_VERBS] = {
        SHOAL__CLASS_RO, SHOAL__CLASS_WRITE, SHOAL__CLASS_RO,
        SHOAL__CLASS_RO, SHOAL__CLASS_WRITE, SHOAL__CLASS_WRITE};
    unsigned place = call->is_for_replica ? SHOAL__REQUEST_FOR_REPLICA : 0;
    char bytes[COMMAND_BYTES_MAX];
    size_t count = encode(call, bytes);
    char *at = shoal__mailbox_side_reserve(side, count, 1);
    const shoal__request_t request = {.data = call,
                                      .ticket = call->ticket,
                                      .submitted_us =
                                          SHOAL__REQUEST_TIME(call->world->now_us),
                                      .deadline_us = call->deadline_us,
                                      .bytes = (uint32_t)count,
                                      .flags = (uint16_t)(call->flags | place),
                                      .command_class = classes[call->verb]};

    if (!at)
        return false;
    memcpy(at, bytes, count);
    shoal__mailbox_side_note_slot(side, cluster_slot(call->block));
    shoal__mailbox_side_push(side, &request);
    return true;
}

static void submit(cluster_world_t *world, uint32_t first)
{
    bool is_taken = true;

    for (uint32_t id = first; is_taken && id < world->call_count; id++) {
        world->calls[id].ticket = ++world->tickets;
        is_taken = push(&world->side, &world->calls[id]);
    }
    is_taken =
        is_taken && world->route->ops->place(world->route, &world->side, world->now_us);
    shoal__mailbox_side_clear(&world->side);
    if (!is_taken) {
        if (!world->is_short_of_memory)
            cluster_world_fail(world, "O3: the route takes no commands");
        world->call_count = first; /* refused: nothing is owed */
        return;
    }
    for (uint32_t id = first; id < world->call_count; id++) {
        world->calls[id].live_index = world->live_count;
        world->live[world->live_count++] = id;
        cluster_world_note(world, "submit", id, world->calls[id].block);
    }
}

void cluster_callers_submit(cluster_world_t *world, uint32_t burst_max)
{
    uint32_t count = 1 + sim_dice_below(&world->dice, burst_max);
    uint32_t first = world->call_count;

    while (count-- > 0 && world->call_count + CLUSTER_UNIT_MAX < CLUSTER_CALLS_MAX &&
           world->live_count + (world->call_count - first) <
               world->rates.outstanding_max) {
        unsigned block = sim_dice_below(&world->dice, CLUSTER_BLOCKS);
        if (sim_dice_hits(&world->dice, world->rates.unit))
            write_unit(world, block);
        else
            write_call(world, &world->calls[world->call_count++], block);
    }
    if (world->call_count > first)
        submit(world, first);
}

void cluster_callers_ask_all(cluster_world_t *world)
{
    uint32_t first = world->call_count;

    for (unsigned block = 0;
         block < CLUSTER_BLOCKS && world->call_count + 1 < CLUSTER_CALLS_MAX; block++)
        write_call(world, &world->calls[world->call_count++], block);
    if (world->call_count > first)
        submit(world, first);
}

void cluster_callers_cancel(cluster_world_t *world)
{
    cluster_call_t *call;

    if (world->live_count == 0)
        return;
    call = &world->calls[world->live[sim_dice_below(&world->dice, world->live_count)]];
    cluster_world_note(world, "cancel", cluster_id_of(call), 0);
    world->sights.cancels++;
    /* Inside a callback a redirect of the command may be under way. */
    if (!world->route->ops->cancel(world->route, call->ticket, world->now_us) &&
        world->depth == 0)
        cluster_world_fail(world, "O3: %u is outstanding, but cannot be cancelled",
                           cluster_id_of(call));
    else if (world->depth == 0 && (!call->is_done || call->status != SHOAL_ECANCELLED))
        cluster_world_fail(world, "O3: %u was cancelled, but its result is %d",
                           cluster_id_of(call), call->status);
}

/* ---- results ---- */

static void called_back(cluster_world_t *world)
{
    if (world->is_closing || world->is_calm || world->depth >= DEPTH_MAX ||
        world->has_failed)
        return;
    world->depth++;
    if (sim_dice_hits(&world->dice, world->rates.resubmit))
        cluster_callers_submit(world, 2);
    if (sim_dice_hits(&world->dice, world->rates.recancel))
        cluster_callers_cancel(world);
    world->depth--;
}

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    cluster_world_t *world = owner;
    cluster_call_t *call = request->data;

    if (call < world->calls || call >= world->calls + world->call_count) {
        cluster_world_fail(world, "O3: a result of nobody's command");
        return;
    }
    cluster_world_note(world, "result", cluster_id_of(call), (uint64_t)-result->status);
    cluster_oracle_result(world, call, result);
    if (call->is_done)
        return;
    world->sights.results[result->fate]++;
    call->is_done = true;
    call->status = result->status;
    call->fate = result->fate;
    uint32_t last = world->live[--world->live_count];
    world->live[call->live_index] = last;
    world->calls[last].live_index = call->live_index;
    called_back(world);
}

static void on_event(void *owner, const shoal_event_t *event)
{
    cluster_world_note(owner, "event", event->kind, event->connection);
}

static void on_reading(void *owner, uint64_t now_us)
{
    (void)owner, (void)now_us;
}

static void on_delivered(void *owner)
{
    (void)owner;
}

const shoal__route_hooks_t cluster_callers_hooks = {.on_result = on_result,
                                                    .on_event = on_event,
                                                    .on_reading = on_reading,
                                                    .on_delivered = on_delivered};
