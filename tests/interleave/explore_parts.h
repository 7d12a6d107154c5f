/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_EXPLORE_PARTS_H
#define TESTS_INTERLEAVE_EXPLORE_PARTS_H

/* What the explorer keeps of threads and choices, and how it prints them. */

#include "interleave/coroutine.h"
#include "interleave/explore.h"

#define EXPLORE_WAY_BITS 4

/* Sets of moves: a thread and the way it goes. */
typedef uint32_t explore_moves_t;

typedef struct explore_thread {
    const char *name;
    void (*body)(void *data);
    void *data;
    coroutine_t coroutine;
    explore_step_t step; /* it is about to take */
    unsigned way;
    bool has_ended;
} explore_thread_t;

/* The choice made at one depth of the schedule. */
typedef struct explore_choice {
    explore_moves_t open, done; /* done: tried, with all that follows */
    uint32_t taken;             /* its bit's number */
    const char *what;
} explore_choice_t;

void explore_print_failure(const explore_scenario_t *scenario,
                           const explore_report_t *report,
                           const explore_thread_t *threads,
                           const explore_choice_t *choices, unsigned depth);
void explore_print_report(const explore_scenario_t *scenario,
                          const explore_report_t *report);

#endif
