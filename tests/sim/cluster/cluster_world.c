/* SPDX-License-Identifier: MIT */
#include "sim/cluster/cluster_world.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include <inttypes.h>
#include <shoal/errors.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALM_STEPS_MAX 100000
#define RESTLESS_MAX 64

enum event {
    EVENT_SUBMIT,
    EVENT_CANCEL,
    EVENT_TURN,
    EVENT_DELIVER,
    EVENT_SERVE,
    EVENT_HAUNT,
    EVENT_CLOCK,
    EVENT_GOSSIP,
    EVENT_MIGRATE,
    EVENT_KEYS,
    EVENT_FAILOVER,
    EVENT_HEAL,
    EVENT_REPLICATE,
    EVENT_LOSE,
    EVENT_FORCE,
    EVENT_KILL,
    EVENT_STOP,
    EVENT_CUT,
    EVENT_LOADING,
    EVENT_MEMORY,
    EVENTS
};
static const char *const event_names[EVENTS] = {
    "Submit", "Cancel", "Turn", "Deliver", "Serve",  "Haunt", "Clock",
    "Gossip", "Move",   "Keys", "Planned", "Repair", "Copy",  "Lose",
    "Force",  "Kill",   "Stop", "Part",    "Busy",   "Memory"};
_Static_assert(EVENTS <= sizeof((cluster_rates_t *)0)->events / sizeof(uint32_t),
               "room");

/* ---- reports ---- */

void cluster_world_note(cluster_world_t *world, const char *what, uint64_t a,
                        uint64_t b)
{
    world->hash = (world->hash ^ (unsigned char)what[0]) * UINT64_C(0x100000001b3);
    world->hash = (world->hash ^ a) * UINT64_C(0x100000001b3);
    world->hash = (world->hash ^ b ^ world->now_us << 20) * UINT64_C(0x100000001b3);
    world->hash ^= world->hash >> 29;
    if (world->is_traced)
        printf("%8" PRIu64 " %9" PRIu64 " us  %-8s %" PRIu64 " %" PRIu64 "\n",
               world->step, world->now_us, what, a, b);
}

void cluster_world_fail(cluster_world_t *world, const char *format, ...)
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

void cluster_sights_print(const cluster_sights_t *sights)
{
    printf("results   %" PRIu64 " replied (%" PRIu64 " errors), %" PRIu64
           " not executed, %" PRIu64 " unknown; %" PRIu64 " cancels\n",
           sights->results[SHOAL_FATE_REPLIED], sights->errors,
           sights->results[SHOAL_FATE_NOT_EXECUTED],
           sights->results[SHOAL_FATE_UNKNOWN], sights->cancels);
    printf("units     %" PRIu64 " executed; %" PRIu64 " commands overtaken; %" PRIu64
           " reads at replicas\n",
           sights->units, sights->late, sights->reads);
    printf("lanes     %" PRIu64 " commands\n", sights->bulk);
    printf("redirects %" PRIu64 " MOVED, %" PRIu64 " ASK, %" PRIu64
           " TRYAGAIN, %" PRIu64 " refused for a while, %" PRIu64 " lies\n",
           sights->moved, sights->asked, sights->tryagain, sights->refused,
           sights->lies);
    printf("slots     %" PRIu64 " migrations of %" PRIu64 " keys, %" PRIu64
           " as a whole; %" PRIu64 " planned failovers, %" PRIu64 " by force\n",
           sights->migrations, sights->keys, sights->atomic, sights->planned,
           sights->forced);
    printf("faults    %" PRIu64 " kills, %" PRIu64 " stops, %" PRIu64 " cuts, %" PRIu64
           " connections lost, %" PRIu64 " ghosts; %" PRIu64 " dials, %" PRIu64
           " views\n",
           sights->kills, sights->stops, sights->cuts, sights->losses, sights->ghosts,
           sights->dials, sights->views);
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

static void roll_options(shoal_options_t *options, const cluster_rates_t *rates,
                         sim_dice_t *dice)
{
    options->protocol = 2;
    options->is_settling = rates->bulk > 0;
    options->heeds_notices = false;
    options->integrity = (shoal_integrity_t)ONE_OF(
        dice, SHOAL_INTEGRITY_SHAPES, SHOAL_INTEGRITY_DETECT, SHOAL_INTEGRITY_STRICT);
    options->flush_mode = (shoal_flush_mode_t)ONE_OF(
        dice, SHOAL_FLUSH_OFF, SHOAL_FLUSH_FIXED, SHOAL_FLUSH_AUTO);
    options->flush_pause_us = ONE_OF(dice, 0, 50, 200);
    options->inflight_max = ONE_OF(dice, 1, 3, 8, 64, 16384, 16384);
    options->attempts_max = (int)ONE_OF(dice, 1, 3, 3);
    options->topology = SHOAL_TOPOLOGY_CLUSTER;
}

static void roll_rates(cluster_rates_t *rates, sim_dice_t *dice)
{
    *rates =
        (cluster_rates_t){.events = {[EVENT_SUBMIT] = 20 + sim_dice_below(dice, 80),
                                     [EVENT_CANCEL] = maybe(dice, 20),
                                     [EVENT_TURN] = 40 + sim_dice_below(dice, 80),
                                     [EVENT_DELIVER] = 40 + sim_dice_below(dice, 160),
                                     [EVENT_SERVE] = 40 + sim_dice_below(dice, 160),
                                     [EVENT_HAUNT] = 1 + sim_dice_below(dice, 20),
                                     [EVENT_CLOCK] = 5 + sim_dice_below(dice, 30),
                                     [EVENT_GOSSIP] = 1 + sim_dice_below(dice, 60),
                                     [EVENT_MIGRATE] = maybe(dice, 60),
                                     [EVENT_KEYS] = 1 + sim_dice_below(dice, 60),
                                     [EVENT_FAILOVER] = maybe(dice, 10),
                                     [EVENT_HEAL] = 1 + sim_dice_below(dice, 30),
                                     [EVENT_REPLICATE] = sim_dice_below(dice, 30)},
                          .steps = 500 + (uint32_t)sim_dice_scale(dice, 8000),
                          .outstanding_max = ONE_OF(dice, 4, 20, 100, 300),
                          .burst_max = (uint32_t)sim_dice_scale(dice, 16),
                          .once = maybe(dice, 100),
                          .idempotent = maybe(dice, 300),
                          .write = sim_dice_below(dice, 1025),
                          .multi = maybe(dice, 600),
                          .unit = maybe(dice, 300),
                          .deadline = maybe(dice, 800),
                          .partial = maybe(dice, 1024),
                          .resubmit = maybe(dice, 500),
                          .recancel = maybe(dice, 100),
                          .deadline_us_max = ONE_OF(dice, 3000, 30000, 3000000),
                          .clock_us_max = ONE_OF(dice, 20, 200, 2000, 50000),
                          .dial_us_max = ONE_OF(dice, 10, 500, 5000),
                          .window = ONE_OF(dice, 40, 1000, 65536, 65536),
                          .has_ask = sim_dice_hits(dice, 600),
                          .is_planned = sim_dice_hits(dice, 400),
                          .lies = sim_dice_hits(dice, 100),
                          .ends_with_shut = sim_dice_hits(dice, 200),
                          .read = maybe(dice, 1024),
                          .bulk = maybe(dice, 300)};
    if (rates->is_planned) {
        rates->once = 0; /* a redirect is their end */
        /* Nodes answer in time. */
        rates->clock_us_max = rates->clock_us_max < 2000 ? rates->clock_us_max : 2000;
        rates->lies = false;
        return;
    }
    rates->events[EVENT_LOSE] = maybe(dice, 10);
    rates->events[EVENT_FORCE] = maybe(dice, 5);
    rates->events[EVENT_KILL] = maybe(dice, 5);
    rates->events[EVENT_STOP] = maybe(dice, 5);
    rates->events[EVENT_CUT] = maybe(dice, 5);
    rates->events[EVENT_LOADING] = maybe(dice, 5);
    rates->events[EVENT_MEMORY] = maybe(dice, 5);
}

/* ---- the world's life ---- */

cluster_world_t *cluster_world_new(void)
{
    cluster_world_t *world = calloc(1, sizeof *world);

    if (!world)
        return NULL;
    world->calls = calloc(CLUSTER_CALLS_MAX, sizeof *world->calls);
    world->live = calloc(CLUSTER_CALLS_MAX, sizeof *world->live);
    if (!world->calls || !world->live) {
        cluster_world_free(world);
        return NULL;
    }
    return world;
}

void cluster_world_free(cluster_world_t *world)
{
    if (!world)
        return;
    for (unsigned i = 0; i < CLUSTER_LINKS; i++) {
        free(world->links[i].in);
        free(world->links[i].out);
    }
    free(world->calls);
    free(world->live);
    free(world);
}

static shoal_options_t *make_options(cluster_world_t *world)
{
    shoal_options_t *options = shoal__calloc(1, sizeof *options);
    unsigned seeds = 1 + sim_dice_below(&world->dice, CLUSTER_NODES);

    if (!options)
        return NULL;
    shoal__options_defaults(options);
    roll_options(options, &world->rates, &world->dice);
    for (unsigned i = 0; i < seeds; i++) {
        char host[16];
        snprintf(host, sizeof host, "10.0.0.%u", i + 1);
        options->addresses[i] = (shoal__option_address_t){.host = shoal__strdup(host),
                                                          .port = (int)(7001 + i)};
        options->addresses_count = i + 1;
    }
    return options;
}

static bool begin(cluster_world_t *world, uint64_t seed)
{
    shoal__route_hooks_t hooks = cluster_callers_hooks;
    cluster_world_t fresh = {.seed = seed,
                             .is_traced = world->is_traced,
                             .sights = world->sights,
                             .cut = world->cut,
                             .dice = sim_dice_of_step(seed, 0),
                             .now_us = 1000000,
                             .calls = world->calls,
                             .call_count = 1,
                             .live = world->live};

    memcpy(fresh.links, world->links, sizeof fresh.links);
    *world = fresh;
    world->calls[0] = (cluster_call_t){.world = world};
    world->side.has_slots = true;
    cluster_net_clear(world);
    cluster_net_enter(world);
    roll_rates(&world->rates, &world->dice);
    cluster_gossip_begin(world);
    world->options = make_options(world);
    hooks.counts = &world->counts;
    if (!world->options ||
        shoal__cluster_new(world->options, seed, &hooks, world, &world->route) < 0) {
        cluster_world_fail(world, "no memory for a world");
        return false;
    }
    world->route->ops->open(world->route, &world->loop);
    return true;
}

static void end(cluster_world_t *world)
{
    world->route->ops->free(world->route);
    shoal__mailbox_side_release(&world->side);
    shoal__options_free(world->options);
    cluster_net_enter(NULL);
}

/* ---- events ---- */

static void turn(cluster_world_t *world)
{
    cluster_net_connect(world);
    world->wake_us = world->route->ops->turn(world->route, world->now_us);
}

static bool is_open(const cluster_link_t *link)
{
    return link->is_open;
}

static bool is_asked(const cluster_link_t *link)
{
    return link->is_open && link->in_bytes > 0 &&
           !link->world->nodes[link->node].is_cut;
}

static bool is_ghost(const cluster_link_t *link)
{
    return !link->is_open;
}

static bool has_news(const cluster_link_t *link)
{
    return link->is_open && (link->out_bytes > 0 || !link->is_alive || link->wants_out);
}

/* NULL: there is none like that. */
static cluster_link_t *any_link(cluster_world_t *world,
                                bool (*is_wanted)(const cluster_link_t *))
{
    unsigned first = sim_dice_below(&world->dice, CLUSTER_LINKS);

    for (unsigned i = 0; i < CLUSTER_LINKS; i++) {
        cluster_link_t *link = &world->links[(first + i) % CLUSTER_LINKS];
        if (link->is_used && is_wanted(link))
            return link;
    }
    return NULL;
}

static void serve(cluster_world_t *world, cluster_link_t *link)
{
    if (link)
        cluster_server_serve(
            world, link,
            sim_dice_hits(&world->dice, world->rates.partial)
                ? sim_dice_below(&world->dice, (uint32_t)link->in_bytes + 1)
                : link->in_bytes);
}

/* The client has done what it could: sleep until something is due. */
static void pass_time(cluster_world_t *world)
{
    uint64_t then_us =
        world->now_us + 1 +
        sim_dice_below(&world->dice, (uint32_t)world->rates.clock_us_max);
    uint64_t wake_us;

    turn(world);
    wake_us = shoal__time_min(world->wake_us, cluster_net_wake_us(world));
    if (wake_us <= world->now_us) {
        if (++world->restless > RESTLESS_MAX)
            cluster_world_fail(world,
                               "O5: there is nothing to do, but it does not sleep");
        return;
    }
    world->restless = 0;
    if (world->is_calm && cluster_net_is_idle(world))
        then_us = wake_us;
    if (then_us == SHOAL__NEVER_US) {
        if (world->live_count > 0)
            cluster_world_fail(world, "O5: it sleeps for ever, but %u results are owed",
                               world->live_count);
        return;
    }
    world->now_us = shoal__time_min(then_us, wake_us);
    cluster_gossip_resume(world);
}

static void lose(cluster_world_t *world)
{
    cluster_link_t *link = any_link(world, is_open);

    if (!link)
        return;
    /* Some of what was sent is executed, and its answers are lost. */
    cluster_server_serve(world, link,
                         sim_dice_below(&world->dice, (uint32_t)link->in_bytes + 1));
    if (sim_dice_hits(&world->dice, 512))
        link->out_bytes = 0;
    cluster_net_lose(link);
    world->sights.losses++;
}

static void run_short(cluster_world_t *world)
{
    cluster_link_t *link = any_link(world, has_news);

    world->is_short_of_memory = true;
    shoal__test_fail_alloc_after(sim_dice_below(&world->dice, 3));
    if (!link || sim_dice_hits(&world->dice, 512))
        turn(world);
    else if (sim_dice_hits(&world->dice, 512))
        cluster_net_deliver(world, link);
    else
        cluster_callers_submit(world, world->rates.burst_max);
    shoal__test_fail_alloc_never();
    world->is_short_of_memory = false;
}

static void deliver(cluster_world_t *world)
{
    cluster_link_t *link = any_link(world, has_news);

    if (link)
        cluster_net_deliver(world, link);
}

static void be_busy(cluster_world_t *world)
{
    world->nodes[sim_dice_below(&world->dice, CLUSTER_NODES)].loading_until_us =
        world->now_us + sim_dice_scale(&world->dice, world->rates.clock_us_max);
}

static void happen(cluster_world_t *world, enum event event)
{
    switch (event) {
    case EVENT_SUBMIT:
        cluster_callers_submit(world, world->rates.burst_max);
        break;
    case EVENT_CANCEL:
        cluster_callers_cancel(world);
        break;
    case EVENT_TURN:
        turn(world);
        break;
    case EVENT_DELIVER:
        deliver(world);
        break;
    case EVENT_SERVE:
        serve(world, any_link(world, is_asked));
        break;
    case EVENT_HAUNT:
        serve(world, any_link(world, is_ghost));
        break;
    case EVENT_CLOCK:
        pass_time(world);
        break;
    case EVENT_GOSSIP:
        cluster_gossip_spread(world);
        break;
    case EVENT_MIGRATE:
        cluster_gossip_migrate(world);
        break;
    case EVENT_KEYS:
        cluster_gossip_move_keys(world);
        break;
    case EVENT_FAILOVER:
    case EVENT_FORCE:
        cluster_gossip_failover(world, event == EVENT_FORCE);
        break;
    case EVENT_HEAL:
        cluster_gossip_heal(world);
        break;
    case EVENT_REPLICATE:
        cluster_gossip_replicate(world);
        break;
    case EVENT_LOSE:
        lose(world);
        break;
    case EVENT_KILL:
        cluster_gossip_kill(world);
        break;
    case EVENT_STOP:
        cluster_gossip_stop(world);
        break;
    case EVENT_CUT:
        cluster_gossip_cut(world);
        break;
    case EVENT_LOADING:
        be_busy(world);
        break;
    case EVENT_MEMORY:
        run_short(world);
        break;
    case EVENTS:
        break;
    }
}

static void live(cluster_world_t *world)
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
    cluster_world_note(world, event_names[event], 0, 0);
    happen(world, (enum event)event);
}

/* The faults stop, and nobody submits any more but one command for each block: everything
 * must complete. */
static void calm_down(cluster_world_t *world)
{
    static const unsigned left[] = {EVENT_TURN, EVENT_DELIVER, EVENT_SERVE, EVENT_HAUNT,
                                    EVENT_CLOCK};
    uint32_t events[sizeof left / sizeof *left];
    uint64_t since = world->step;

    for (unsigned i = 0; i < sizeof left / sizeof *left; i++)
        events[i] = world->rates.events[left[i]];
    memset(world->rates.events, 0, sizeof world->rates.events);
    for (unsigned i = 0; i < sizeof left / sizeof *left; i++)
        world->rates.events[left[i]] = events[i];
    world->is_calm = true;
    world->rates.window = 65536;
    world->rates.partial = 0;
    cluster_gossip_settle(world);
    cluster_callers_ask_all(world);
    while (world->live_count > 0 && !world->has_failed) {
        live(world);
        if (world->step - since > CALM_STEPS_MAX)
            cluster_world_fail(world,
                               "O3: %u commands do not complete without any fault",
                               world->live_count);
    }
}

static void shut(cluster_world_t *world)
{
    const shoal__account_t *account = &world->counts.account;
    shoal_stats_t stats = {0};

    world->route->ops->shared_figures(world->route, &stats);
    world->sights.bulk += stats.bulk;
    world->is_closing = true;
    world->route->ops->shut(world->route, world->now_us);
    world->route->ops->publish(world->route);
    if (world->live_count > 0)
        cluster_world_fail(world, "O3: %u commands have no result", world->live_count);
    if (shoal__counter_get(&account->queued) + shoal__counter_get(&account->inflight) +
            shoal__counter_get(&account->bytes) >
        0)
        cluster_world_fail(world, "O6: something is outstanding in the end");
    /* What was sent may still be executed. */
    for (unsigned i = 0; i < CLUSTER_LINKS && !world->has_failed; i++)
        if (world->links[i].is_used)
            cluster_server_serve(world, &world->links[i], world->links[i].in_bytes);
}

bool cluster_world_run(cluster_world_t *world, uint64_t seed)
{
    if (!begin(world, seed))
        return false;
    while (world->step < world->rates.steps && !world->has_failed)
        live(world);
    if (!world->has_failed && !world->rates.ends_with_shut)
        calm_down(world);
    if (!world->has_failed)
        shut(world);
    /* After a failure the route may be in no state to be touched. */
    if (!world->has_failed)
        end(world);
    return !world->has_failed;
}
