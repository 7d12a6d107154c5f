/* SPDX-License-Identifier: MIT */

/* The whole pipe in simulated worlds: see runner.h for what may be asked for. */

#include "sim/runner.h"

static const sim_regression_t regressions[] = {
#include "sim/data/regressions.txt"
};

static void live(void *data, uint64_t seed, const sim_cut_t *cut, bool is_traced,
                 sim_ending_t *ret_ending)
{
    sim_world_t *world = data;

    world->cut = cut;
    world->is_traced = is_traced;
    sim_world_run(world, seed);
    *ret_ending = (sim_ending_t){.step = world->step,
                                 .now_us = world->now_us,
                                 .hash = world->hash,
                                 .commands = world->call_count - 1,
                                 .has_failed = world->has_failed,
                                 .objection = world->objection,
                                 .failure = world->failure};
}

static void print(const void *world)
{
    sim_sights_print(&((const sim_world_t *)world)->sights);
}

int main(void)
{
    sim_world_t *world = sim_world_new();
    const sim_subject_t subject = {.program = "sim_pipe_sim",
                                   .world = world,
                                   .live = live,
                                   .print = print,
                                   .regressions = regressions,
                                   .regression_count =
                                       sizeof regressions / sizeof *regressions,
                                   .version = SIM_SWARM_VERSION,
                                   .steps = 1500000,
                                   .has_knobs = true};
    int rc = sim_run(&subject);

    sim_world_free(world);
    return rc;
}
