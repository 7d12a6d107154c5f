/* SPDX-License-Identifier: MIT */
#include "sim/pair/pair_world.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include <inttypes.h>
#include <shoal/errors.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALM_STEPS_MAX 200000
#define STRUCTURE_STEPS 32

enum event {
    EVENT_SUBMIT,
    EVENT_CANCEL,
    EVENT_WRITE,
    EVENT_READ,
    EVENT_SERVE,
    EVENT_CLOCK,
    EVENT_GHOST,
    EVENT_LOSE,
    EVENT_CLOSE,
    EVENT_MOVE,
    EVENT_MEMORY,
    EVENT_LOADING,
    EVENTS
};
static const char *const event_names[EVENTS] = {
    "Submit", "Cancel", "Write", "Read", "Serve",  "Clock",
    "Haunt",  "Lose",   "End",   "Move", "Memory", "Loading"};
_Static_assert(EVENTS <= sizeof((pair_rates_t *)0)->events / sizeof(uint32_t), "room");

/* ---- reports ---- */

void pair_world_note(pair_world_t *world, const char *what, uint64_t a, uint64_t b)
{
    world->hash = (world->hash ^ (unsigned char)what[0]) * UINT64_C(0x100000001b3);
    world->hash = (world->hash ^ a) * UINT64_C(0x100000001b3);
    world->hash = (world->hash ^ b ^ world->now_us << 20) * UINT64_C(0x100000001b3);
    world->hash ^= world->hash >> 29;
    if (world->is_traced)
        printf("%8" PRIu64 " %9" PRIu64 " us  %-8s %" PRIu64 " %" PRIu64 "\n",
               world->step, world->now_us, what, a, b);
}

void pair_world_fail(pair_world_t *world, const char *format, ...)
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

void pair_sights_print(const pair_sights_t *sights)
{
    printf("results   %" PRIu64 " replied, %" PRIu64 " not executed, %" PRIu64
           " unknown, %" PRIu64 " reply lost\n",
           sights->results[SHOAL_FATE_REPLIED],
           sights->results[SHOAL_FATE_NOT_EXECUTED],
           sights->results[SHOAL_FATE_UNKNOWN], sights->results[SHOAL_FATE_REPLY_LOST]);
    printf("moves     %" PRIu64 " begun, %" PRIu64 " in a shared pen, %" PRIu64
           " spliced with %" PRIu64 " commands, %" PRIu64 " redirected, %" PRIu64
           " asked, %" PRIu64 " of units; %" PRIu64 " by servers, %" PRIu64
           " of keys\n",
           sights->begun, sights->shared, sights->spliced, sights->penned,
           sights->redirected, sights->asked, sights->units, sights->moves,
           sights->moves_of_keys);
    printf("faults    %" PRIu64 " losses, %" PRIu64 " during a hand-over, %" PRIu64
           " ghosts, %" PRIu64 " not begun; %" PRIu64 " commands refused\n",
           sights->losses, sights->losses_meanwhile, sights->ghosts, sights->not_begun,
           sights->refused);
    printf("memory    %" PRIu64 " commands lent it\n", sights->lent);
}

/* ---- chance ---- */

static uint32_t maybe(sim_dice_t *dice, uint32_t max)
{
    switch (sim_dice_below(dice, 4)) {
    case 0:
        return (uint32_t)sim_dice_scale(dice, max);
    case 1:
        return 1 + sim_dice_below(dice, max);
    }
    return 0;
}

static uint32_t one_of(sim_dice_t *dice, const uint32_t *values, uint32_t count)
{
    return values[sim_dice_below(dice, count)];
}
#define ONE_OF(dice, ...)                                                              \
    one_of(dice, (const uint32_t[]){__VA_ARGS__},                                      \
           sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void roll_config(shoal__pipe_config_t *config, sim_dice_t *dice)
{
    *config = (shoal__pipe_config_t){
        .flush = {.mode = (shoal_flush_mode_t)ONE_OF(
                      dice, SHOAL_FLUSH_OFF, SHOAL_FLUSH_FIXED, SHOAL_FLUSH_AUTO),
                  .pause_us = ONE_OF(dice, 0, 50, 200),
                  .bytes_max = ONE_OF(dice, 64, 4096, 65536),
                  .commands_max = ONE_OF(dice, 1, 16, 1024)},
        .reply = {.bytes_max = 1 << 29, .elements_max = 1 << 24, .depth_max = 1024},
        .greeting = {.protocol = 2,
                     .integrity = (shoal_integrity_t)ONE_OF(
                         dice, SHOAL_INTEGRITY_SHAPES, SHOAL_INTEGRITY_DETECT,
                         SHOAL_INTEGRITY_STRICT)},
        .inflight_max = ONE_OF(dice, 1, 3, 8, 64, 16384, 16384),
        .stall_us = 3600000000,
        .attempts_max = ONE_OF(dice, 1, 3, 3),
        .queue_offline = sim_dice_hits(dice, 900),
        .keeps_units = true};
}

static void roll_rates(pair_rates_t *rates, sim_dice_t *dice)
{
    *rates = (pair_rates_t){.events = {[EVENT_SUBMIT] = 20 + sim_dice_below(dice, 80),
                                       [EVENT_CANCEL] = maybe(dice, 20),
                                       [EVENT_WRITE] = 20 + sim_dice_below(dice, 60),
                                       [EVENT_READ] = 20 + sim_dice_below(dice, 80),
                                       [EVENT_SERVE] = 20 + sim_dice_below(dice, 80),
                                       [EVENT_CLOCK] = 5 + sim_dice_below(dice, 30),
                                       [EVENT_GHOST] = 1 + sim_dice_below(dice, 20),
                                       [EVENT_LOSE] = maybe(dice, 10),
                                       [EVENT_CLOSE] = maybe(dice, 4),
                                       [EVENT_MOVE] = 1 + sim_dice_below(dice, 100),
                                       [EVENT_MEMORY] = maybe(dice, 5),
                                       [EVENT_LOADING] = sim_dice_hits(dice, 200)},
                            .steps = 500 + (uint32_t)sim_dice_scale(dice, 8000),
                            .outstanding_max = ONE_OF(dice, 4, 20, 100, 300),
                            .burst_max = (uint32_t)sim_dice_scale(dice, 16),
                            .unit = maybe(dice, 300),
                            .once = maybe(dice, 200),
                            .idempotent = maybe(dice, 300),
                            .write = sim_dice_below(dice, 1025),
                            .deadline = maybe(dice, 800),
                            .partial = maybe(dice, 1024),
                            .resubmit = maybe(dice, 500),
                            .recancel = maybe(dice, 100),
                            .big = maybe(dice, 30),
                            .lent = maybe(dice, 1024),
                            .deadline_us_max = ONE_OF(dice, 300, 3000, 30000),
                            .dial_us_max = ONE_OF(dice, 10, 500, 5000),
                            .clock_us_max = ONE_OF(dice, 20, 200, 2000),
                            .window = ONE_OF(dice, 8, 100, 1000, 65536, 65536),
                            .is_lanes = sim_dice_hits(dice, 512),
                            .has_ask = sim_dice_hits(dice, 500),
                            .ends_with_abandon = sim_dice_hits(dice, 200)};
    if (rates->is_lanes)
        rates->has_ask = false;
}

/* ---- the world's life ---- */

pair_world_t *pair_world_new(void)
{
    pair_world_t *world = calloc(1, sizeof *world);

    if (!world)
        return NULL;
    world->calls = calloc(PAIR_CALLS_MAX, sizeof *world->calls);
    world->live = calloc(PAIR_CALLS_MAX, sizeof *world->live);
    if (!world->calls || !world->live) {
        pair_world_free(world);
        return NULL;
    }
    return world;
}

static void clear_link(pair_link_t *link)
{
    *link = (pair_link_t){.in = link->in,
                          .in_capacity = link->in_capacity,
                          .out = link->out,
                          .out_capacity = link->out_capacity};
}

void pair_world_free(pair_world_t *world)
{
    if (!world)
        return;
    for (unsigned i = 0; i < PAIR; i++) {
        free(world->sides[i].link.in);
        free(world->sides[i].link.out);
        for (unsigned j = 0; j < PAIR_GHOSTS; j++) {
            free(world->sides[i].ghosts[j].in);
            free(world->sides[i].ghosts[j].out);
        }
    }
    free(world->calls);
    free(world->passes);
    free(world->live);
    free(world);
}

static sim_dice_t entropy_dice;

static void fill_with_entropy(void *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)memory)[i] = (unsigned char)sim_dice_next(&entropy_dice);
}

static bool begin_side(pair_world_t *world, unsigned index)
{
    pair_side_t *side = &world->sides[index];

    side->world = world;
    side->index = index;
    side->target = (shoal__target_t){.name = index ? "server-1" : "server-0"};
    side->flush_us = SHOAL__NEVER_US;
    side->dial_us = 1;
    side->loading_until_us = 0;
    clear_link(&side->link);
    for (unsigned i = 0; i < PAIR_GHOSTS; i++)
        clear_link(&side->ghosts[i]);
    const shoal__pipe_parts_t parts = {&world->config, &side->target, &world->shared};
    return shoal__pipe_init(&side->pipe, &parts, &pair_client_hooks, side) == 0;
}

static bool begin(pair_world_t *world, uint64_t seed)
{
    pair_world_t fresh = {.seed = seed,
                          .is_traced = world->is_traced,
                          .sights = world->sights,
                          .cut = world->cut,
                          .dice = sim_dice_of_step(seed, 0),
                          .now_us = 1,
                          .calls = world->calls,
                          .call_count = 1,
                          .live = world->live,
                          .passes = world->passes,
                          .pass_capacity = world->pass_capacity};
    bool is_ready = true;

    memcpy(fresh.sides, world->sides, sizeof fresh.sides);
    *world = fresh;
    roll_rates(&world->rates, &world->dice);
    roll_config(&world->config, &world->dice);
    shoal__random_init(&world->jitter, seed);
    entropy_dice = sim_dice_of_step(seed, UINT64_MAX);
    shoal__pipe_shared_init(&world->shared, fill_with_entropy, &world->jitter);
    for (unsigned slot = 0; slot < PAIR_SLOTS; slot++)
        world->owner[slot] = world->map[slot] = sim_dice_below(&world->dice, PAIR);
    for (unsigned i = 0; i < PAIR; i++)
        is_ready = begin_side(world, i) && is_ready;
    for (unsigned i = 0; i < PAIR; i++)
        is_ready = is_ready && shoal__handover_init(&world->sides[i].handover,
                                                    &world->sides[i].pipe,
                                                    &world->sides[1 - i].pipe,
                                                    pair_client_picks, world) == 0;
    if (!is_ready)
        pair_world_fail(world, "no memory for a world");
    return is_ready;
}

static void end(pair_world_t *world)
{
    for (unsigned i = 0; i < PAIR; i++)
        shoal__handover_release(&world->sides[i].handover);
    for (unsigned i = 0; i < PAIR; i++)
        shoal__pipe_release(&world->sides[i].pipe);
    shoal__pipe_shared_release(&world->shared);
}

/* ---- events ---- */

static void serve(pair_world_t *world, pair_side_t *side)
{
    pair_link_t *link = &side->link;
    size_t bytes = link->in_bytes - link->read_bytes;

    if (!link->is_up || link->is_closed)
        return;
    if (sim_dice_hits(&world->dice, world->rates.partial))
        bytes = sim_dice_below(&world->dice, (uint32_t)bytes + 1);
    pair_link_serve(world, side, link, bytes);
}

static void haunt(pair_world_t *world, pair_side_t *side)
{
    pair_link_t *ghost = &side->ghosts[0];

    for (unsigned i = 0; i < PAIR_GHOSTS && ghost->in_bytes == 0; i++)
        ghost = &side->ghosts[i];
    pair_link_serve(world, side, ghost,
                    sim_dice_below(&world->dice, (uint32_t)ghost->in_bytes + 1));
    if (ghost->read_bytes == ghost->in_bytes)
        clear_link(ghost);
}

/* The owner has done what it could: sleep until something is due. */
static void pass_time(pair_world_t *world)
{
    pair_client_turn(world);
    if (pair_client_wake_us(world) <= world->now_us)
        pair_client_turn(world); /* what was moved may be due */
    uint64_t wake_us = pair_client_wake_us(world);
    uint64_t then_us =
        world->now_us + 1 +
        sim_dice_below(&world->dice, (uint32_t)world->rates.clock_us_max);
    bool is_busy = false;

    for (unsigned i = 0; i < PAIR; i++) {
        const pair_side_t *side = &world->sides[i];
        is_busy = is_busy || side->link.out_bytes > 0 || side->link.in_bytes > 0 ||
                  side->link.is_closed || side->pipe.authorised_bytes > 0 ||
                  side->pipe.phase == SHOAL__PIPE_GREETING;
    }
    if (!world->has_failed && wake_us <= world->now_us)
        pair_world_fail(world, "O5: there is nothing to do, but it does not sleep");
    if (world->is_calm && !is_busy)
        then_us = wake_us;
    if (then_us == SHOAL__NEVER_US) {
        if (world->live_count > 0)
            pair_world_fail(world, "O5: it sleeps for ever, but %u results are owed",
                            world->live_count);
        return;
    }
    world->now_us = shoal__time_min(then_us, wake_us);
}

static void move(pair_world_t *world)
{
    if (!world->rates.is_lanes) {
        pair_servers_move(world);
        return;
    }
    /* Some buckets, or all. */
    uint32_t slots = 1 + sim_dice_below(&world->dice, (1u << PAIR_SLOTS) - 1);
    pair_client_flip(world, slots);
}

/* The client hears of a move before it is redirected. */
static void look_at_map(pair_world_t *world)
{
    uint32_t slots = 0;

    for (unsigned slot = 0; slot < PAIR_SLOTS; slot++)
        if (world->map[slot] != world->owner[slot])
            slots |= UINT32_C(1) << slot;
    if (!world->rates.is_lanes)
        pair_client_flip(world, slots);
}

static void run_short(pair_world_t *world)
{
    world->is_short_of_memory = true;
    shoal__test_fail_alloc_after(sim_dice_below(&world->dice, 3));
    if (sim_dice_hits(&world->dice, 512))
        pair_client_turn(world);
    else
        pair_client_read(world, &world->sides[sim_dice_below(&world->dice, PAIR)]);
    shoal__test_fail_alloc_never();
    world->is_short_of_memory = false;
}

static void happen(pair_world_t *world, enum event event)
{
    pair_side_t *side = &world->sides[sim_dice_below(&world->dice, PAIR)];

    switch (event) {
    case EVENT_SUBMIT:
        pair_callers_submit(world, world->rates.burst_max);
        break;
    case EVENT_CANCEL:
        pair_callers_cancel(world);
        break;
    case EVENT_WRITE:
        pair_client_write(world, side);
        break;
    case EVENT_READ:
        pair_client_read(world, side);
        break;
    case EVENT_SERVE:
        serve(world, side);
        break;
    case EVENT_CLOCK:
        pass_time(world);
        break;
    case EVENT_GHOST:
        haunt(world, side);
        break;
    case EVENT_LOSE:
        if (sim_dice_hits(&world->dice, 512))
            move(world);
        if (side->link.is_up)
            pair_client_lose(world, side, SHOAL_ECONN);
        break;
    case EVENT_CLOSE:
        side->link.is_closed = side->link.is_up;
        break;
    case EVENT_MOVE:
        if (sim_dice_hits(&world->dice, 900))
            move(world);
        else
            look_at_map(world);
        break;
    case EVENT_MEMORY:
        run_short(world);
        break;
    case EVENT_LOADING:
        side->loading_until_us =
            world->now_us + sim_dice_scale(&world->dice, world->rates.clock_us_max);
        break;
    case EVENTS:
        break;
    }
}

static void live(pair_world_t *world)
{
    uint32_t sum = 0, event = 0;

    world->step++;
    if (world->cut && !world->is_calm && world->cut->is_left_out[world->step])
        return;
    world->dice = sim_dice_of_step(world->seed, world->step);
    for (unsigned i = 0; i < EVENTS; i++)
        sum += world->rates.events[i];
    uint32_t drawn = sim_dice_below(&world->dice, sum);
    while (drawn >= world->rates.events[event])
        drawn -= world->rates.events[event++];
    pair_world_note(world, event_names[event], 0, 0);
    happen(world, (enum event)event);
    if (world->step % STRUCTURE_STEPS == 0)
        pair_oracle_structure(world);
}

/* The faults stop, and nobody submits any more: everything must complete. */
static void calm_down(pair_world_t *world)
{
    static const unsigned off[] = {EVENT_SUBMIT, EVENT_CANCEL, EVENT_LOSE,
                                   EVENT_CLOSE,  EVENT_MOVE,   EVENT_MEMORY,
                                   EVENT_LOADING};
    uint64_t since = world->step;

    for (unsigned i = 0; i < sizeof off / sizeof *off; i++)
        world->rates.events[off[i]] = 0;
    world->is_calm = true;
    world->rates.window = 65536;
    while (world->live_count > 0 && !world->has_failed) {
        live(world);
        if (world->step - since > CALM_STEPS_MAX)
            pair_world_fail(world, "O3: %u commands do not complete without any fault",
                            world->live_count);
    }
}

static void abandon(pair_world_t *world)
{
    world->is_closing = true;
    for (unsigned i = 0; i < PAIR; i++)
        shoal__handover_abandon(&world->sides[i].handover, world->now_us);
    for (unsigned i = 0; i < PAIR; i++)
        shoal__pipe_abandon(&world->sides[i].pipe, world->now_us);
}

bool pair_world_run(pair_world_t *world, uint64_t seed)
{
    if (!begin(world, seed))
        return false;
    while (world->step < world->rates.steps && !world->has_failed)
        live(world);
    if (!world->has_failed && !world->rates.ends_with_abandon)
        calm_down(world);
    if (!world->has_failed)
        abandon(world);
    for (unsigned i = 0; i < PAIR && !world->has_failed; i++)
        for (unsigned j = 0; j < PAIR_GHOSTS; j++)
            pair_link_serve(world, &world->sides[i], &world->sides[i].ghosts[j],
                            world->sides[i].ghosts[j].in_bytes);
    if (!world->has_failed)
        pair_oracle_end(world);
    /* After a failure the pipes may be in no state to be touched. */
    if (!world->has_failed)
        end(world);
    return !world->has_failed;
}
