/* SPDX-License-Identifier: MIT */

/* The threads of callers and the order in which the loop sees what they do: they write
 * commands one thread beside the other, the inbox accepts one batch after the other, and
 * each turn takes over first the commands, then the cancels.  Thread 0 is the loop's own,
 * which goes past the inbox. */

#include "sim/callers.h"

#include "sim/world.h"
#include <string.h>

#define DEPTH_MAX 3 /* of callbacks that cause callbacks */

static void submit_here(sim_world_t *world, uint32_t burst_max)
{
    uint32_t first = world->call_count;
    uint32_t count = sim_calls_write(world, 0, burst_max);
    /* A direct driver's tickets are those of the inbox: nobody else is there. */
    bool is_alone = world->depth == 0 && world->swarm.threads == 0;

    if (count == 0)
        return;
    sim_calls_accept(world, first, count, is_alone ? 0 : SHOAL_TICKET_OF_LOOP);
    if (!sim_calls_push(world, first, count))
        world->live_count -= count; /* refused after all: nothing is owed */
}

void sim_callers_submit(sim_world_t *world)
{
    sim_inbox_t *inbox = &world->inbox;
    unsigned thread = sim_dice_below(&world->dice, world->swarm.threads + 1);
    sim_batch_t *batch = &inbox->written[thread];

    if (thread == 0) {
        submit_here(world, world->swarm.burst_max);
        return;
    }
    if (batch->count == 0) {
        batch->first = world->call_count;
        batch->count = sim_calls_write(world, thread, world->swarm.burst_max);
        if (sim_dice_hits(&world->dice, 512))
            return; /* another thread may be faster */
    }
    if (batch->count == 0 || inbox->batch_count == SIM_INBOX_MAX)
        return;
    sim_calls_accept(world, batch->first, batch->count, 0);
    inbox->batches[inbox->batch_count++] = *batch;
    inbox->command_count += batch->count;
    batch->count = 0;
}

void sim_callers_cancel(sim_world_t *world)
{
    sim_inbox_t *inbox = &world->inbox;
    bool is_here =
        world->depth > 0 || sim_dice_below(&world->dice, world->swarm.threads + 1) == 0;
    uint32_t id = sim_calls_pick(world);

    if (id == 0 || world->calls[id].ticket == 0)
        return;
    if (is_here && (sim_calls_cancel(world, id) || world->calls[id].is_done))
        return;
    /* It may still be in the inbox: go behind it. */
    if (inbox->cancel_count < SIM_INBOX_MAX)
        inbox->cancels[inbox->cancel_count++] = id;
}

void sim_callers_called_back(sim_world_t *world)
{
    if (world->is_closing || world->depth >= DEPTH_MAX || world->has_failed)
        return;
    world->depth++;
    if (sim_dice_hits(&world->dice, world->swarm.resubmit_rate))
        submit_here(world, 2);
    if (sim_dice_hits(&world->dice, world->swarm.recancel_rate))
        sim_callers_cancel(world);
    world->depth--;
}

void sim_callers_take_over(sim_world_t *world)
{
    sim_inbox_t *inbox = &world->inbox;
    /* Callbacks may leave more cancels; those wait for the next turn. */
    uint32_t batches = inbox->batch_count, cancels = inbox->cancel_count;

    inbox->batch_count = 0;
    for (uint32_t i = 0; i < batches; i++) {
        sim_batch_t batch = inbox->batches[i];

        inbox->command_count -= batch.count;
        if (!sim_calls_push(world, batch.first, batch.count))
            sim_calls_refuse(world, batch.first, batch.count);
    }
    for (uint32_t i = 0; i < cancels; i++)
        sim_calls_cancel(world, inbox->cancels[i]);
    inbox->cancel_count -= cancels;
    memmove(inbox->cancels, inbox->cancels + cancels,
            inbox->cancel_count * sizeof *inbox->cancels);
}
