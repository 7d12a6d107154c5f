/* SPDX-License-Identifier: MIT */

/*
 * The whole pipe in simulated worlds, one seed after the other, until so many steps
 * were made.  A seed that fails is shrunk to a short history.  Environment:
 *
 *   SHOAL_SIM_STEPS   how many (1 000 000)
 *   SHOAL_SIM_SEED    the first seed (1); with SHOAL_SIM_STEPS=1 this one alone
 *   SHOAL_SIM_TRACE   print each event
 *   SHOAL_SIM_SHRINK  0: not
 *   SHOAL_SIM_KEEP    of each seed only these steps: 3-7,12
 *   SHOAL_SIM_OFF     and these rates are 0: push,partial
 */

#include "base/alloc.h"
#include "sim/shrink.h"
#include <hiredis/alloc.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEPS_DEFAULT 1000000
#define REPEAT_EVERY 50 /* seeds: is the second time like the first? */

/* Seeds that have found something once: always first. */
static const struct regression {
    uint64_t seed;
    unsigned version; /* of the swarm, then */
    const char *reason;
} regressions[] = {
#include "sim/data/regressions.txt"
};

static sim_world_t *world;
static sim_cut_t cut;
static uint64_t steps, seeds, commands;

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static bool run_seed(sim_report_t *report, uint64_t seed)
{
    report->seed = seed;
    report->steps = steps;
    sim_world_run(world, seed);
    sim_report_tell(report, world);
    steps += world->step;
    commands += world->call_count - 1;
    return !world->has_failed;
}

static bool run_seed_again(sim_report_t *report, uint64_t seed)
{
    uint64_t hash = world->hash, step = world->step;

    if (!run_seed(report, seed))
        return false;
    if (world->hash == hash && world->step == step)
        return true;
    sim_world_fail(world, "O0: the seed gives another history the second time");
    sim_report_tell(report, world);
    return false;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool run_regressions(sim_report_t *report)
{
    for (size_t i = 0; i < sizeof regressions / sizeof *regressions; i++) {
        if (!run_seed(report, regressions[i].seed)) {
            fprintf(stderr, "this seed has failed before, with swarm %u (now %d): %s\n",
                    regressions[i].version, SIM_SWARM_VERSION, regressions[i].reason);
            return false;
        }
    }
    return true;
}

static void run_all(sim_report_t *report, void *data)
{
    uint64_t steps_wanted = from_environment("SHOAL_SIM_STEPS", STEPS_DEFAULT);
    uint64_t seed = from_environment("SHOAL_SIM_SEED", 0);
    double start = seconds();

    (void)data;
    if (seed == 0 && !run_regressions(report))
        return;
    for (seed = seed ? seed : 1; steps < steps_wanted; seed++) {
        if (!run_seed(report, seed))
            return;
        if (seeds++ % REPEAT_EVERY == 0 && !run_seed_again(report, seed))
            return;
    }
    double took = seconds() - start;
    printf("%" PRIu64 " steps, %" PRIu64 " seeds, %" PRIu64
           " commands, %.2f million steps/s\n",
           steps, seeds, commands, (double)steps / took / 1e6);
    sim_sights_print(&world->sights);
}

/* Its memory fails on demand as well. */
static void hook_hiredis(void)
{
    hiredisAllocFuncs hooks = {.mallocFn = shoal__malloc,
                               .callocFn = shoal__calloc,
                               .reallocFn = shoal__realloc,
                               .strdupFn = shoal__strdup,
                               .freeFn = shoal__free};

    hiredisSetAllocators(&hooks);
}

int main(void)
{
    const char *kept = getenv("SHOAL_SIM_KEEP");
    sim_report_t *report = sim_report_new();

    world = sim_world_new();
    if (!world || !report)
        return EXIT_FAILURE;
    hook_hiredis();
    world->is_traced = getenv("SHOAL_SIM_TRACE") != NULL;
    if (kept && !sim_cut_read(&cut, kept, getenv("SHOAL_SIM_OFF"))) {
        fprintf(stderr, "no steps, or unknown rates\n");
        return EXIT_FAILURE;
    }
    world->cut = kept ? &cut : NULL;
    sim_report_from_child(report, run_all, NULL);
    if (report->has_failed) {
        fprintf(stderr,
                "seed %" PRIu64 ", step %" PRIu64 ", %" PRIu64 " us: %s\n"
                "found after %" PRIu64 " steps\n",
                report->seed, report->step, report->now_us, report->failure,
                report->steps + report->step);
        if (from_environment("SHOAL_SIM_SHRINK", 1) != 0 && !kept)
            sim_shrink(world, report);
    }
    bool has_failed = report->has_failed;
    sim_world_free(world);
    return has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
