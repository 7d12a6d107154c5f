/* SPDX-License-Identifier: MIT */

/* A client of a cluster in simulated worlds: see ../runner.h for what may be asked for. */

#include "sim/cluster/cluster_world.h"
#include "sim/runner.h"

static void live(void *data, uint64_t seed, const sim_cut_t *cut, bool is_traced,
                 sim_ending_t *ret_ending)
{
    cluster_world_t *world = data;

    world->cut = cut;
    world->is_traced = is_traced;
    cluster_world_run(world, seed);
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
    cluster_sights_print(&((const cluster_world_t *)world)->sights);
}

int main(void)
{
    cluster_world_t *world = cluster_world_new();
    const sim_subject_t subject = {.program = "sim_cluster_sim",
                                   .world = world,
                                   .live = live,
                                   .print = print,
                                   .steps = 1500000};
    int rc = sim_run(&subject);

    cluster_world_free(world);
    return rc;
}
