/* SPDX-License-Identifier: MIT */

/* What the server, the network and the machine do wrong. */

#include "base/alloc.h"
#include "base/time_us.h"
#include "sim/world.h"
#include <shoal/errors.h>
#include <string.h>

void sim_fault_bury(sim_world_t *world)
{
    sim_link_t *ghost = world->ghosts[0];

    sim_link_serve(ghost, world, ghost->accepted_bytes);
    world->ghost_count--;
    memmove(world->ghosts, world->ghosts + 1,
            world->ghost_count * sizeof *world->ghosts);
}

/* The server closes; what it had answered is on its way, or the first part of it. */
static void close_by_server(sim_world_t *world, sim_link_t *link)
{
    size_t unread = link->out_end - link->out_begin;

    link->is_closed = true;
    link->heard_head = link->heard_tail;
    if (sim_dice_hits(&world->dice, 512)) {
        size_t kept = sim_dice_below(&world->dice, (uint32_t)unread + 1);
        link->out_end = link->out_begin + kept;
    }
}

static void send_garbage(sim_link_t *link)
{
    static const char garbage[] = "@what\r\n";

    sim_link_produce(link, garbage, sizeof garbage - 1);
    link->is_mute = true;
}

/* Only when every question was answered and heard: else nobody could tell. */
static void answer_unasked(sim_world_t *world, sim_link_t *link)
{
    static const char *const answers[] = {"+OK\r\n", "-ERR idle\r\n", "*1\r\n:1\r\n"};
    const char *answer = answers[sim_dice_below(&world->dice, 3)];

    if (link->user_from == SHOAL__NEVER_US || link->out_begin != link->out_end ||
        link->heard_head != link->heard_tail || link->is_closed || link->is_mute ||
        world->pipe.part_bytes > 0)
        return;
    sim_link_produce(link, answer, strlen(answer));
    while (world->link == link && sim_link_readable(link) > 0)
        sim_owner_read(world);
    if (world->link == link)
        sim_world_fail(world, "O1: a reply that nobody waits for was accepted");
}

static sim_fault_t roll_fault(sim_world_t *world)
{
    const sim_swarm_t *swarm = &world->swarm;
    uint32_t sum = 0, fault = 0;

    for (unsigned i = 0; i < SIM_FAULT_COUNT; i++)
        sum += swarm->faults[i];
    uint32_t drawn = sim_dice_below(&world->dice, sum);
    while (drawn >= swarm->faults[fault])
        drawn -= swarm->faults[fault++];
    return (sim_fault_t)fault;
}

static uint64_t for_a_while(sim_world_t *world)
{
    uint64_t max_us = world->swarm.trouble_us_max;

    if (sim_dice_hits(&world->dice, 512))
        return world->now_us + sim_dice_scale(&world->dice, max_us);
    return world->now_us + sim_dice_below(&world->dice, (uint32_t)max_us);
}

void sim_fault_strike(sim_world_t *world)
{
    sim_fault_t fault = roll_fault(world);
    sim_link_t *link = world->link;

    sim_world_note(world, "fault", (uint64_t)fault, 0);
    switch (fault) {
    case SIM_FAULT_STALL:
        world->stalled_until_us = for_a_while(world);
        return;
    case SIM_FAULT_LOADING:
        world->loading_until_us = for_a_while(world);
        return;
    case SIM_FAULT_MEMORY:
        world->is_short_of_memory = true;
        shoal__test_fail_alloc_after(sim_dice_below(&world->dice, 3));
        return;
    case SIM_FAULT_RESET:
    case SIM_FAULT_FIN:
    case SIM_FAULT_DEMOTE:
    case SIM_FAULT_GARBAGE:
    case SIM_FAULT_UNASKED:
    case SIM_FAULT_COUNT:
        break;
    }
    if (!link)
        return;
    if (fault == SIM_FAULT_RESET)
        sim_owner_lose(world, SHOAL_ECONN, "connection reset by peer");
    else if (fault == SIM_FAULT_FIN)
        close_by_server(world, link);
    else if (fault == SIM_FAULT_DEMOTE)
        link->is_demoted = true;
    else if (fault == SIM_FAULT_GARBAGE)
        send_garbage(link);
    else if (fault == SIM_FAULT_UNASKED)
        answer_unasked(world, link);
}
