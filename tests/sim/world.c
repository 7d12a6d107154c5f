/* SPDX-License-Identifier: MIT */
#include "sim/world.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include <inttypes.h>
#include <shoal/errors.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALM_STEPS_MAX 400000
#define CALM_US_MAX 10000000         /* the longest stall, the drain of a connection */
#define CALM_DEMOTED_US_MAX 31000000 /* between two renewals, and a drain */
#define CALM_BUSY_US 20
#define LULL_STEPS 200
#define STRUCTURE_STEPS 64 /* the thorough check is not made in each step */

sim_world_t *sim_world_new(void)
{
    sim_world_t *world = calloc(1, sizeof *world);

    if (!world)
        return NULL;
    world->calls = malloc(SIM_CALLS_MAX * sizeof *world->calls);
    world->live = malloc(SIM_CALLS_MAX * sizeof *world->live);
    for (unsigned i = 0; i < SIM_LINKS; i++)
        sim_link_init(&world->memory[i]);
    if (!world->calls || !world->live) {
        sim_world_free(world);
        return NULL;
    }
    return world;
}

void sim_world_free(sim_world_t *world)
{
    if (!world)
        return;
    for (unsigned i = 0; i < SIM_LINKS; i++)
        sim_link_release(&world->memory[i]);
    free(world->calls);
    free(world->live);
    free(world);
}

void sim_world_note(sim_world_t *world, const char *what, uint64_t a, uint64_t b)
{
    world->hash = (world->hash ^ (unsigned char)what[0]) * UINT64_C(0x100000001b3);
    world->hash = (world->hash ^ a) * UINT64_C(0x100000001b3);
    world->hash = (world->hash ^ b ^ world->now_us << 20) * UINT64_C(0x100000001b3);
    world->hash ^= world->hash >> 29;
    if (world->is_traced)
        printf("%8" PRIu64 " %9" PRIu64 " us  %-8s %" PRIu64 " %" PRIu64 "\n",
               world->step, world->now_us, what, a, b);
}

void sim_world_fail(sim_world_t *world, const char *format, ...)
{
    va_list args;

    if (world->has_failed)
        return;
    world->has_failed = true;
    world->objection = format;
    va_start(args, format);
    vsnprintf(world->failure, sizeof world->failure, format, args);
    va_end(args);
}

static const char *const event_names[SIM_EVENT_COUNT] = {
    [SIM_EVENT_SUBMIT] = "Submit", [SIM_EVENT_CANCEL] = "Cancel",
    [SIM_EVENT_TURN] = "Turn",     [SIM_EVENT_READ] = "Read",
    [SIM_EVENT_SERVER] = "Serve",  [SIM_EVENT_CLOCK] = "Clock",
    [SIM_EVENT_GHOST] = "Haunt",   [SIM_EVENT_FAULT] = "Fault"};

/* Unforeseeable for the server, but not for us. */
static sim_dice_t entropy_dice;

static void fill_with_entropy(void *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)memory)[i] = (unsigned char)sim_dice_next(&entropy_dice);
}

static bool begin(sim_world_t *world, uint64_t seed)
{
    sim_world_t fresh = {.seed = seed,
                         .is_traced = world->is_traced,
                         .sights = world->sights,
                         .cut = world->cut,
                         .dice = sim_dice_of_step(seed, 0),
                         .now_us = 1,
                         .dial_us = 1,
                         .flush_us = SHOAL__NEVER_US,
                         .calls = world->calls,
                         .call_count = 1,
                         .allowance_10 = 100,
                         .live = world->live};

    memcpy(fresh.memory, world->memory, sizeof fresh.memory);
    *world = fresh;
    memset(&world->calls[0], 0, sizeof world->calls[0]);
    sim_swarm_roll(&world->swarm, &world->config, &world->dice);
    if (world->cut)
        sim_swarm_turn_off(&world->swarm, world->cut->knobs_off);
    shoal__random_init(&world->jitter, seed);
    entropy_dice = sim_dice_of_step(seed, UINT64_MAX);
    shoal__pipe_shared_init(&world->shared, fill_with_entropy, &world->jitter);
    world->secret = (shoal__secret_t){.password = world->swarm.password};
    world->target = (shoal__target_t){.name = "server", .secret = &world->secret};
    const shoal__pipe_parts_t parts = {&world->config, &world->target, &world->shared};
    int rc = shoal__pipe_init(&world->pipe, &parts, &sim_owner_hooks, world);
    if (rc < 0)
        sim_world_fail(world, "no memory for a pipe");
    return rc == 0;
}

static void serve(sim_world_t *world)
{
    sim_link_t *link = world->link;

    if (!link || link->is_closed || world->now_us < world->stalled_until_us)
        return;
    uint64_t bytes = link->accepted_bytes - link->read_bytes;
    if (sim_dice_hits(&world->dice, world->swarm.partial_rate))
        bytes = sim_dice_scale(&world->dice, bytes + 1);
    sim_link_serve(link, world, bytes);
}

static void haunt(sim_world_t *world)
{
    if (world->ghost_count == 0)
        return;
    sim_link_t *ghost = world->ghosts[0];
    uint64_t left = ghost->accepted_bytes - ghost->read_bytes;
    sim_link_serve(ghost, world, sim_dice_scale(&world->dice, left + 1));
    if (ghost->read_bytes == ghost->accepted_bytes)
        sim_fault_bury(world);
}

/* Something is under way that wakes the loop by itself: poll reports it. */
static bool is_busy(const sim_world_t *world)
{
    const sim_link_t *link = world->link;

    return link && (link->is_closed || sim_link_readable(link) > 0 ||
                    link->read_bytes < link->accepted_bytes ||
                    world->pipe.authorised_bytes > 0);
}

/* How long the sleep may be.  Once there are no faults, nothing takes long either. */
static uint64_t roll_sleep(sim_world_t *world)
{
    uint64_t max_us = world->is_calm ? CALM_BUSY_US : world->swarm.clock_us_max;

    return sim_dice_hits(&world->dice, 512)
               ? sim_dice_scale(&world->dice, max_us)
               : 1 + sim_dice_below(&world->dice, (uint32_t)max_us);
}

/* The owner has done what it could: sleep until something is due, or came before. */
static void pass_time(sim_world_t *world)
{
    sim_dice_t *dice = &world->dice;
    bool was_short = world->is_short_of_memory;

    sim_owner_turn(world);
    if (!was_short)
        sim_oracle_settled(world);
    uint64_t wake_us = sim_owner_wake_us(world);
    uint64_t then_us = world->now_us + roll_sleep(world);
    /* Without faults nothing wakes it but what it asked for. */
    if (world->is_calm && !is_busy(world))
        then_us = wake_us;
    if (then_us == SHOAL__NEVER_US) {
        if (world->live_count > 0)
            sim_world_fail(world, "O5: it sleeps for ever, but %u results are owed",
                           world->live_count);
        return;
    }
    if (then_us >= wake_us) {
        then_us = wake_us;
        if (world->swarm.late_us_max > 0)
            then_us += sim_dice_below(dice, (uint32_t)world->swarm.late_us_max);
    }
    if (then_us > world->now_us)
        world->now_us = then_us;
}

/* Now and then nobody submits until the connection rests, or for so many steps. */
static bool is_lull(sim_world_t *world)
{
    if (world->step < world->lull_end && !world->pipe.is_warm)
        world->lull_end = 0;
    else if (world->step >= world->lull_end &&
             sim_dice_hits(&world->dice, world->swarm.lull_rate))
        world->lull_end = world->step + LULL_STEPS;
    return world->step < world->lull_end;
}

static bool is_idle(const sim_world_t *world)
{
    return world->live_count == 0 && world->pipe.phase == SHOAL__PIPE_READY &&
           shoal__request_ring_length(&world->pipe.ring) == 0;
}

/* What is owed is given.  After that time passes until the pipe wakes up by itself, and
 * the network brings nothing meanwhile: perhaps not even the other half of a push. */
static void bring_to_rest(sim_world_t *world)
{
    sim_owner_turn(world);
    if (!is_idle(world)) {
        serve(world);
        sim_owner_read(world);
        return;
    }

    sim_link_t *link = world->link;
    uint32_t window = link->out_window;
    if (link->is_resp3 && sim_dice_hits(&world->dice, 256)) {
        sim_link_push(link, &world->dice);
        link->out_window = (uint32_t)sim_dice_scale(&world->dice, window);
    }
    sim_owner_read(world);
    uint64_t wake_us = sim_owner_wake_us(world);
    if (is_idle(world) && wake_us != SHOAL__NEVER_US && wake_us > world->now_us) {
        link->out_window = 0;
        world->now_us = wake_us;
        sim_owner_turn(world);
    }
    link->out_window = window;
}

static void happen(sim_world_t *world, sim_event_t event)
{
    switch (event) {
    case SIM_EVENT_SUBMIT:
        if (is_lull(world))
            bring_to_rest(world);
        else
            sim_callers_submit(world);
        break;
    case SIM_EVENT_CANCEL:
        sim_callers_cancel(world);
        break;
    case SIM_EVENT_TURN:
        if (sim_dice_hits(&world->dice, 512))
            sim_owner_turn(world);
        else
            sim_owner_write(world);
        break;
    case SIM_EVENT_READ:
        sim_owner_read(world);
        break;
    case SIM_EVENT_SERVER:
        serve(world);
        break;
    case SIM_EVENT_CLOCK:
        pass_time(world);
        break;
    case SIM_EVENT_GHOST:
        haunt(world);
        break;
    case SIM_EVENT_FAULT:
        sim_fault_strike(world);
        break;
    case SIM_EVENT_COUNT:
        break;
    }
}

static void live(sim_world_t *world)
{
    uint32_t sum = 0, event = 0;

    world->step++;
    if (world->cut && !world->is_calm && world->cut->is_left_out[world->step])
        return;
    world->dice = sim_dice_of_step(world->seed, world->step);
    for (unsigned i = 0; i < SIM_EVENT_COUNT; i++)
        sum += world->swarm.events[i];
    uint32_t drawn = sim_dice_below(&world->dice, sum);
    while (drawn >= world->swarm.events[event])
        drawn -= world->swarm.events[event++];
    sim_world_note(world, event_names[event], 0, 0);
    happen(world, (sim_event_t)event);
    if (world->step % STRUCTURE_STEPS == 0)
        sim_oracle_structure(world);
}

/* The faults stop and nobody submits any more: everything must complete. */
static void calm_down(sim_world_t *world)
{
    uint64_t begun_us = world->now_us, since_us = begun_us, since = world->step;

    sim_swarm_calm(&world->swarm);
    world->stalled_until_us = world->trouble_until_us = world->refused_until_us = 0;
    world->demoted_until_us = 0;
    world->is_calm = true;
    /* A lost reply to a command that blocks may be waited for for ever. */
    if (world->link && world->link->is_spoilt)
        sim_owner_lose(world, SHOAL_ECONN, "connection reset by peer");
    if (world->link) {
        world->link->drip_us = 0;
        world->link->desync = 0;
        world->link->in_window = world->swarm.in_window_max;
        world->link->out_window = world->swarm.out_window_max;
    }
    while (world->live_count > 0 && !world->has_failed) {
        /* The client may leave this server seldom: no other time is so long. */
        if (world->link && world->link->is_demoted &&
            world->now_us - begun_us <= CALM_DEMOTED_US_MAX)
            since_us = world->now_us;
        live(world);
        if (world->step - since > CALM_STEPS_MAX ||
            world->now_us - since_us > CALM_US_MAX)
            sim_world_fail(world, "O3: %u commands do not complete without any fault",
                           world->live_count);
    }
}

static void abandon(sim_world_t *world)
{
    world->is_closing = true;
    sim_world_note(world, "abandon", 0, 0);
    sim_callers_take_over(world);
    shoal__pipe_abandon(&world->pipe, world->now_us);
}

bool sim_world_run(sim_world_t *world, uint64_t seed)
{
    if (!begin(world, seed))
        return false;
    while (world->step < world->swarm.steps && !world->has_failed)
        live(world);
    shoal__test_fail_alloc_never();
    world->is_short_of_memory = false;
    if (!world->has_failed && world->swarm.ends_with_abandon)
        abandon(world);
    else if (!world->has_failed)
        calm_down(world);
    if (world->link) {
        world->link->is_ghost = true;
        sim_link_serve(world->link, world, world->link->accepted_bytes);
    }
    while (world->ghost_count > 0 && !world->has_failed)
        sim_fault_bury(world);
    sim_renewal_drop(world);
    if (!world->has_failed)
        sim_oracle_end(world);
    sim_sights_note_end(world);
    /* After a failure the pipe may be in no state to be touched. */
    if (!world->has_failed)
        shoal__pipe_release(&world->pipe);
    shoal__pipe_shared_release(&world->shared);
    return !world->has_failed;
}
