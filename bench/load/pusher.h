/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_PUSHER_H
#define SHOAL_BENCH_LOAD_PUSHER_H

/*
 * What commands that block wait for: a thread pushes `options->pushes` elements per second
 * onto one list, by a plain hiredis connection of its own.  An element is the moment of its
 * push.  The pusher is no part of the client: what it costs is told apart.
 */

#include "load/crew.h"
#include "load/run.h"

/* The list, and the command that takes from it.  After 2 seconds without an element the
 * answer is nil. */
#define PUSHER_LIST "shoal-bench:pops"
#define PUSHER_POP "BLPOP", PUSHER_LIST, "2"

typedef struct pusher {
    run_t *run;
    redisContext *connection; /* NULL: not started */
    uint64_t unanswered;      /* commands */
    crew_t crew;              /* of one thread */
} pusher_t;

/* Empties the list and begins.  Returns -1 after run_fail(); the two below are needed in
 * either case. */
int pusher_start(pusher_t *pusher, run_t *run);

/* The phase is RUN_STOPPING: no elements any more but one for each of those that wait. */
void pusher_stop(pusher_t *pusher, uint64_t waiters);

/* Nobody waits any more: the list goes, too. */
void pusher_release(pusher_t *pusher);

/* CPU time of the thread. */
uint64_t pusher_cpu_ns(const pusher_t *pusher);

/* When the element was pushed, by the clock of clock_ns(). */
uint64_t pusher_moment_ns(const char *element, size_t bytes);

#endif
