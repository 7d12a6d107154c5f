/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_CALLERS_H
#define SHOAL_BENCH_LOAD_CALLERS_H

/*
 * Callers that are threads: each waits for its turn, makes a blocking call, and counts it.
 * In a closed loop its turn comes at once, in an open loop the pacer says when.  A way
 * says what a call is.
 */

#include "load/crew.h"
#include "load/large.h"
#include "load/pacer.h"
#include "load/pusher.h"
#include "load/run.h"
#include "load/stepper.h"

typedef struct callers callers_t;

typedef struct caller {
    callers_t *callers;
    run_t *run;
    commands_t commands; /* of one call */
    void *seat;          /* what its calls go through; the way's own */
    uint64_t since_ns;   /* from when its latency counts; 0: not at all */
} caller_t;

typedef struct caller_way {
    /* One call, the part that is timed.  Returns NULL after run_fail(): the caller ends. */
    void *(*call)(caller_t *caller);
    /* Checks and frees what call() returned, and may set since_ns; may be NULL. */
    void (*settle)(caller_t *caller, void *reply);
} caller_way_t;

/* A blocking call of the library; a caller's seat is its client. */
extern const caller_way_t sync_way;

struct callers {
    run_t *run;
    const caller_way_t *way;
    caller_t *list;
    size_t count;
    crew_t crew;
    bool is_paced;
    pacer_t pacer;
    bool is_stepping; /* more and fewer of them call */
    stepper_t stepper;
    bool is_popping; /* calls wait for what the pusher pushes */
    pusher_t pusher;
    large_t large; /* callers beside these, which the load starts */
};

/* Makes `count` callers with the commands of a call each, and no seats yet.  Returns -1
 * after run_fail(); callers_release() is needed in either case. */
int callers_init(callers_t *callers, run_t *run, const caller_way_t *way, size_t count,
                 size_t commands_each);

/* Starts the threads.  Returns -1 after run_fail(); callers_join() is needed in either
 * case. */
int callers_start(callers_t *callers);

/* The phase is RUN_STOPPING: waits until all threads are gone. */
void callers_join(callers_t *callers);
void callers_release(callers_t *callers);

/* CPU time that the open loop spent waiting, or the pusher pushing. */
uint64_t callers_foreign_cpu_ns(const callers_t *callers);

#endif
