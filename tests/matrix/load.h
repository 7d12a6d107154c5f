/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_MATRIX_LOAD_H
#define SHOAL_TESTS_MATRIX_LOAD_H

/*
 * Load on a rig's client while something happens to it: reads and writes from several
 * threads, of which some are cancelled and some are in a hurry.  In the borrowed mode
 * the test's own thread submits, in load_turn().
 *
 * And an agent: a thread that does to the server what takes its time, so that the load
 * goes on meanwhile.  A server that is started there lives as long as that thread.
 */

#include "matrix/rig.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_THREADS_MAX 64

typedef struct load_plan {
    unsigned threads;      /* that submit, 1 .. LOAD_THREADS_MAX */
    size_t commands;       /* so many in all; 0: until load_stop() */
    size_t window;         /* at most so many are under way */
    unsigned per_ms;       /* at most so many a millisecond; 0: no bound */
    unsigned writes;       /* percent */
    unsigned cancels;      /* percent */
    unsigned hurries;      /* percent: a timeout of up to ... */
    uint64_t hurry_us_max; /* ... so much */
    uint64_t timeout_us;   /* of the others; 0: the client's */
} load_plan_t;

typedef struct load load_t;

load_t *load_start(matrix_t *m, const load_plan_t *plan);
/* Let it work for a moment. */
void load_turn(load_t *load);
/* Were all commands of the plan submitted? */
bool load_is_spent(const load_t *load);
/* Submit no more.  Everything submitted is done when it returns. */
void load_stop(load_t *load);

/* Let it work until a condition holds.  Between load_start() and load_stop() nothing
 * else may end the test: the threads would outlive the client. */
#define LOAD_UNTIL(load, condition)                                                    \
    do {                                                                               \
        uint64_t since_us_ = waiting_now_us();                                         \
        while (!(condition)) {                                                         \
            load_turn(load);                                                           \
            if (waiting_now_us() - since_us_ > WAITING_US_MAX) {                       \
                load_stop(load);                                                       \
                print_error("never came true: %s\n", #condition);                      \
                _fail(__FILE__, __LINE__);                                             \
            }                                                                          \
        }                                                                              \
    } while (0)

/* The whole plan, which names its commands. */
void load_run(matrix_t *m, const load_plan_t *plan);

typedef struct load_agent load_agent_t;
typedef void (*load_job_fn)(void *data);

/* Ends with the rig. */
load_agent_t *load_agent_new(matrix_t *m);
/* Give it something to do; it must have nothing. */
void load_agent_begin(load_agent_t *agent, load_job_fn job, void *data);
bool load_agent_is_idle(load_agent_t *agent);

#endif
