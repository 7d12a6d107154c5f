/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_PROFILE_PLAN_H
#define SHOAL_BENCH_PROFILE_PLAN_H

/* All strategies, round by round, so that what disturbs the machine for a while
 * disturbs them alike.  Each round begins with another strategy. */

#include "judge/figures.h"
#include "options.h"
#include "server/controls.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct plan {
    const options_t *options;
    const workload_t *workload;
    const controls_t *controls;
    const controls_t
        *standalone; /* of strategies that go to one server beside a cluster */
    char url[256];   /* of the server, whatever lies on the way */
    bool shows_live;
    size_t steps_before; /* rounds of other plans, for what is shown live */
    size_t steps;        /* rounds of all plans */

    series_t *series;
    size_t series_count;
    bool was_interrupted;
} plan_t;

/* Returns -1 with a line in `problem` if a round failed; what was measured before
 * stays in the series. */
int plan_measure(plan_t *plan, char *problem, size_t problem_bytes);
void plan_release(plan_t *plan);

/* The sum of the errors of all rounds. */
double plan_errors(const plan_t *plan);

#endif
