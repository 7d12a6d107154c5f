/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_STEPPER_H
#define SHOAL_BENCH_LOAD_STEPPER_H

/*
 * Lets more or fewer callers that are threads through, stage by stage, as a ladder of
 * numbers says: 1, 8, 128, 8, 1.  The last rung is the first one of the next time.  All
 * threads exist from the beginning; those that a stage does not want sleep before their
 * next call.  Calls are counted in slices of time.
 */

#include "load/crew.h"
#include "load/run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEPPER_TIMES 10u

typedef struct stepper_stage {
    uint64_t threads;
    size_t step; /* number of the change before it, 0 .. ; NONE: the base */
    _Atomic uint64_t begin_ns; /* 0: not yet */
    _Atomic uint64_t gap_ns;   /* the longest time without the end of any call */
    uint32_t *slices;          /* calls that ended in each; counted atomically */
} stepper_stage_t;

#define STEPPER_BASE SIZE_MAX

typedef struct stepper {
    run_t *run;
    stepper_stage_t *stages;
    size_t stages_count;
    uint32_t *slices; /* of all stages */
    size_t slices_each;
    crew_t crew;

    pthread_mutex_t lock; /* of is_over, and for changes of `let_through` */
    pthread_cond_t changed;
    bool is_over;

    _Alignas(64) _Atomic uint64_t let_through; /* callers below this number may call */
    _Atomic size_t stage;                      /* stages_count: none */
    _Alignas(64) _Atomic uint64_t last_ns;     /* when the last call ended; 0: none */
} stepper_t;

/* Begins with the first rung; the ladder is climbed while the run measures.  Returns -1
 * after run_fail(); stepper_stop() and stepper_release() are needed in either case. */
int stepper_start(stepper_t *stepper, run_t *run);

/* Waits until caller `number` may call; false if the round is over. */
bool stepper_pass(stepper_t *stepper, uint64_t number);

/* A call has ended. */
void stepper_count(stepper_t *stepper, uint64_t now_ns);

/* The phase is RUN_STOPPING: lets all callers out of stepper_pass(). */
void stepper_stop(stepper_t *stepper);

/* The callers are gone: leaves the results in the run, and frees. */
void stepper_release(stepper_t *stepper);

#endif
