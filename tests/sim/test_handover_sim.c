/* SPDX-License-Identifier: MIT */

/* Commands that are handed over between two pipes, in simulated worlds: see runner.h for
 * what may be asked for. */

#include "sim/pair/pair_world.h"
#include "sim/runner.h"

static void live(void *data, uint64_t seed, const sim_cut_t *cut, bool is_traced,
                 sim_ending_t *ret_ending)
{
    pair_world_t *world = data;

    world->cut = cut;
    world->is_traced = is_traced;
    pair_world_run(world, seed);
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
    pair_sights_print(&((const pair_world_t *)world)->sights);
}

int main(void)
{
    pair_world_t *world = pair_world_new();
    const sim_subject_t subject = {.program = "sim_handover_sim",
                                   .world = world,
                                   .live = live,
                                   .print = print,
                                   .steps = 1500000};
    int rc = sim_run(&subject);

    pair_world_free(world);
    return rc;
}
