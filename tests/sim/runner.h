/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_RUNNER_H
#define SHOAL_TESTS_SIM_RUNNER_H

/*
 * Simulated worlds, one seed after the other, until so many steps were made.  A seed that
 * fails is shrunk to a short history.  Environment:
 *
 *   SHOAL_SIM_STEPS   how many
 *   SHOAL_SIM_SEED    the first seed (1); with SHOAL_SIM_STEPS=1 this one alone
 *   SHOAL_SIM_TRACE   print each event
 *   SHOAL_SIM_SHRINK  0: not
 *   SHOAL_SIM_KEEP    of each seed only these steps: 3-7,12
 *   SHOAL_SIM_OFF     and these rates are 0: push,partial
 */

#include "sim/world.h"

/* How a seed ended. */
typedef struct sim_ending {
    uint64_t step, now_us;
    uint64_t hash; /* of the whole history */
    uint64_t commands;
    bool has_failed;
    const char *objection; /* the format of the failure: which oracle it was */
    const char *failure;
} sim_ending_t;

/* A seed that has found something once: always first. */
typedef struct sim_regression {
    uint64_t seed;
    unsigned version; /* of the world, then */
    const char *reason;
} sim_regression_t;

/* A kind of world. */
typedef struct sim_subject {
    const char *program; /* its name */
    void *world;
    /* Live through a seed; `cut` NULL: nothing is left out. */
    void (*live)(void *world, uint64_t seed, const sim_cut_t *cut, bool is_traced,
                 sim_ending_t *ret_ending);
    void (*print)(const void *world); /* what was seen */
    const sim_regression_t *regressions;
    size_t regression_count;
    unsigned version;
    uint64_t steps; /* unless the environment says otherwise */
    bool has_knobs; /* see sim_swarm_knob() */
} sim_subject_t;

/* What main() returns. */
int sim_run(const sim_subject_t *subject);

#endif
