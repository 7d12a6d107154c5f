/* SPDX-License-Identifier: MIT */

/*
 * The whole pipe in simulated worlds, one seed after the other, until so many steps
 * were made.  Environment:
 *
 *   SHOAL_SIM_STEPS  how many (1 000 000)
 *   SHOAL_SIM_SEED   the first seed (1); with SHOAL_SIM_STEPS=1 this one alone
 *   SHOAL_SIM_TRACE  print each event
 */

#include "sim/world.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STEPS_DEFAULT 1000000
#define REPEAT_EVERY 50 /* seeds: is the second time like the first? */

static sim_world_t *world;
static uint64_t steps, seeds, commands;

static void print_replay(void)
{
    fprintf(stderr, "replay: SHOAL_SIM_SEED=%" PRIu64 " SHOAL_SIM_STEPS=1 %s\n",
            world->seed, "sim_pipe_sim");
}

/* An assertion failed.  stdio is not safe here, but we are lost anyway. */
static void on_abort(int signal_number)
{
    fprintf(stderr, "seed %" PRIu64 ", step %" PRIu64 ": aborted\n", world->seed,
            world->step);
    print_replay();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static bool run_seed(uint64_t seed)
{
    if (sim_world_run(world, seed))
        return true;
    fprintf(stderr, "seed %" PRIu64 ", step %" PRIu64 ", %" PRIu64 " us: %s\n", seed,
            world->step, world->now_us, world->failure);
    fprintf(stderr, "found after %" PRIu64 " steps\n", steps + world->step);
    print_replay();
    return false;
}

static bool run_seed_again(uint64_t seed)
{
    uint64_t hash = world->hash, step = world->step;

    if (!run_seed(seed))
        return false;
    if (world->hash == hash && world->step == step)
        return true;
    fprintf(stderr, "seed %" PRIu64 " gives another history the second time\n", seed);
    print_replay();
    return false;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(void)
{
    uint64_t steps_wanted = from_environment("SHOAL_SIM_STEPS", STEPS_DEFAULT);
    uint64_t seed = from_environment("SHOAL_SIM_SEED", 1);
    double start = seconds();

    world = sim_world_new();
    if (!world)
        return EXIT_FAILURE;
    world->is_traced = getenv("SHOAL_SIM_TRACE") != NULL;
    signal(SIGABRT, on_abort);
    for (; steps < steps_wanted; seed++) {
        if (!run_seed(seed))
            return EXIT_FAILURE;
        steps += world->step;
        commands += world->call_count - 1;
        if (seeds++ % REPEAT_EVERY == 0) {
            if (!run_seed_again(seed))
                return EXIT_FAILURE;
            steps += world->step;
        }
    }
    double took = seconds() - start;
    printf("%" PRIu64 " steps, %" PRIu64 " seeds, %" PRIu64
           " commands, %.2f million steps/s\n",
           steps, seeds, commands, (double)steps / took / 1e6);
    sim_sights_print(&world->sights);
    sim_world_free(world);
    return EXIT_SUCCESS;
}
