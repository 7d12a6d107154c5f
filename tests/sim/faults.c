/* SPDX-License-Identifier: MIT */

/* What the server, the network and the machine do wrong. */

#include "base/alloc.h"
#include "base/time_us.h"
#include "sim/world.h"
#include <shoal/errors.h>
#include <string.h>

#define SUSPEND_US_MAX 60000000

static const char *const names[SIM_FAULT_COUNT] = {
    [SIM_FAULT_RESET] = "reset",     [SIM_FAULT_FIN] = "fin",
    [SIM_FAULT_DEAF] = "deaf",       [SIM_FAULT_REFUSE] = "refuse",
    [SIM_FAULT_RESTART] = "restart", [SIM_FAULT_STALL] = "stall",
    [SIM_FAULT_DRIP] = "drip",       [SIM_FAULT_TROUBLE] = "trouble",
    [SIM_FAULT_DEMOTE] = "demote",   [SIM_FAULT_NOAUTH] = "noauth",
    [SIM_FAULT_SUSPEND] = "suspend", [SIM_FAULT_PUSHES] = "pushes",
    [SIM_FAULT_GARBAGE] = "garbage", [SIM_FAULT_UNASKED] = "unasked",
    [SIM_FAULT_DESYNC] = "desync",   [SIM_FAULT_POISON] = "poison",
    [SIM_FAULT_RENEW] = "renew",     [SIM_FAULT_MEMORY] = "memory"};

const char *sim_fault_name(unsigned fault)
{
    return names[fault];
}

unsigned sim_ghosts_kill(sim_world_t *world, uint32_t serial)
{
    unsigned kept = 0, killed;

    for (unsigned i = 0; i < world->ghost_count; i++)
        if (serial != 0 && world->ghosts[i]->serial != serial)
            world->ghosts[kept++] = world->ghosts[i];
    killed = world->ghost_count - kept;
    world->ghost_count = kept;
    return killed;
}

void sim_ghosts_forget(sim_world_t *world)
{
    sim_ghosts_kill(world, 0);
}

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
    link->is_mute = link->is_hostile = true;
}

/* Only when every question was answered and heard: else nobody could tell. */
static void answer_unasked(sim_world_t *world, sim_link_t *link)
{
    static const char *const answers[] = {"+OK\r\n", "-ERR idle\r\n", "*1\r\n:1\r\n"};
    const char *answer = answers[sim_dice_below(&world->dice, 3)];

    if (world->pipe.phase != SHOAL__PIPE_READY || link->out_begin != link->out_end ||
        link->heard_head != link->heard_tail || link->is_closed || link->is_mute ||
        link->is_spoilt || link->drip_us > 0 || world->pipe.part_bytes > 0)
        return;
    link->is_hostile = true;
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

/* What a server says to everything while something is wrong with it, and whether that
 * proves that nothing was done, and is worth another try. */
static void begin_trouble(sim_world_t *world)
{
    static const struct trouble {
        const char *error;
        bool is_passing;
    } troubles[] = {{"-LOADING ", true},     {"-MASTERDOWN ", true},
                    {"-CLUSTERDOWN ", true}, {"-TRYAGAIN ", true},
                    {"-BUSY ", false},       {"-OOM ", false},
                    {"-MISCONF ", false},    {"-LOADINGX ", false}};
    /* Those that pass are what most can go wrong with. */
    uint32_t choices = sim_dice_hits(&world->dice, 256) ? 8 : 2;
    if (sim_dice_hits(&world->dice, 512))
        choices = 1;
    const struct trouble *trouble = &troubles[sim_dice_below(&world->dice, choices)];

    world->trouble = trouble->error;
    world->is_trouble_passing = trouble->is_passing;
    world->trouble_until_us = for_a_while(world);
}

/* Every session is gone, and all that was read and not executed. */
static void restart(sim_world_t *world)
{
    world->restarts++;
    sim_ghosts_forget(world);
    if (world->link)
        close_by_server(world, world->link);
    if (world->successor)
        close_by_server(world, world->successor);
    if (sim_dice_hits(&world->dice, 512))
        world->refused_until_us = for_a_while(world);
    if (sim_dice_hits(&world->dice, 512))
        begin_trouble(world);
}

static void push_many(sim_world_t *world, sim_link_t *link)
{
    uint32_t count = (uint32_t)sim_dice_scale(&world->dice, 200);

    if (!link->is_resp3)
        return;
    for (uint32_t i = 0; i < count; i++)
        sim_link_push(link, &world->dice);
}

static void strike_world(sim_world_t *world, sim_fault_t fault)
{
    if (fault == SIM_FAULT_STALL)
        world->stalled_until_us = for_a_while(world);
    else if (fault == SIM_FAULT_TROUBLE)
        begin_trouble(world);
    else if (fault == SIM_FAULT_DEMOTE && sim_dice_hits(&world->dice, 512))
        world->demoted_until_us = for_a_while(world);
    else if (fault == SIM_FAULT_REFUSE)
        world->refused_until_us = for_a_while(world);
    else if (fault == SIM_FAULT_RESTART)
        restart(world);
    else if (fault == SIM_FAULT_SUSPEND)
        world->resumed_us = world->now_us +=
            sim_dice_scale(&world->dice, SUSPEND_US_MAX);
    else if (fault == SIM_FAULT_MEMORY && !world->is_short_of_memory) {
        world->is_short_of_memory = true;
        uint32_t allowed = sim_dice_below(&world->dice, 6);
        shoal__test_fail_alloc_after(allowed < 4 ? allowed : 0);
        uint32_t next = sim_dice_below(&world->dice, 4);
        if (next < 2)
            sim_owner_read(world);
        else if (next == 2)
            sim_owner_turn(world);
    }
}

static void strike_link(sim_world_t *world, sim_link_t *link, sim_fault_t fault)
{
    if (fault == SIM_FAULT_RESET)
        sim_owner_lose(world, SHOAL_ECONN, "connection reset by peer");
    else if (fault == SIM_FAULT_FIN)
        close_by_server(world, link);
    else if (fault == SIM_FAULT_DEAF)
        link->is_deaf = true;
    else if (fault == SIM_FAULT_DRIP)
        link->drip_us =
            1 + sim_dice_below(&world->dice, (uint32_t)world->config.stall_us * 3 / 4);
    else if (fault == SIM_FAULT_DEMOTE)
        link->is_demoted = true;
    else if (fault == SIM_FAULT_NOAUTH)
        link->is_forgotten = true;
    else if (fault == SIM_FAULT_PUSHES)
        push_many(world, link);
    else if (fault == SIM_FAULT_GARBAGE)
        send_garbage(link);
    else if (fault == SIM_FAULT_UNASKED)
        answer_unasked(world, link);
    else if (fault == SIM_FAULT_DESYNC)
        sim_desync_strike(world, link);
    else if (fault == SIM_FAULT_POISON)
        sim_poison_strike(world);
    else if (fault == SIM_FAULT_RENEW)
        sim_renewal_want(world);
}

void sim_fault_strike(sim_world_t *world)
{
    sim_fault_t fault = roll_fault(world);

    sim_world_note(world, names[fault], 0, 0);
    world->sights.faults[fault]++;
    strike_world(world, fault);
    if (world->link)
        strike_link(world, world->link, fault);
}
