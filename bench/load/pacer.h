/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_PACER_H
#define SHOAL_BENCH_LOAD_PACER_H

/*
 * The generator of an open loop: releases every command at its intended moment, whether
 * or not earlier ones were answered.  What comes late is released at once, so the number
 * of commands does not depend on how fast the other side is.  The moments are evenly
 * spaced, or as far apart at random as those of callers that know nothing of each other
 * (a Poisson process).
 *
 * To be on time it spins, on a CPU of its own if there is one, and hands the CPU over
 * to any other thread that wants it.  CPU time spent waiting is reported apart; what
 * releasing costs counts as the client's.
 */

#include "load/crew.h"
#include "load/run.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PACER_MOMENTS 65536u /* random ones repeat after so many commands */

/* Returns false if no caller can take the command yet: it is offered again. */
typedef bool (*pacer_release_cb)(void *data, uint64_t number);

typedef struct pacer pacer_t;

typedef struct pacer_thread {
    pacer_t *pacer;
    uint64_t first; /* number of its first command */
    _Alignas(64) _Atomic uint64_t idle_cpu_ns;
} pacer_thread_t;

struct pacer {
    run_t *run;
    uint64_t start_ns;
    double interval_ns;
    double *moments; /* of PACER_MOMENTS commands, in intervals; NULL: even */
    pacer_release_cb release;
    void *data;
    uint64_t threads_count;
    pacer_thread_t *threads;
    crew_t crew;
    sem_t due; /* released and not yet taken */
    _Alignas(64) _Atomic uint64_t taken;
};

/* Releases `rate` commands per second.  With a NULL `release`, commands are for pacer_take().  Returns -1 after
 * run_fail().  pacer_stop() is needed in either case. */
int pacer_start(pacer_t *pacer, run_t *run, uint64_t rate, pacer_release_cb release,
                void *data);

/* The phase is RUN_STOPPING.  Lets `takers` threads out of pacer_take(). */
void pacer_stop(pacer_t *pacer, uint64_t takers);
void pacer_release_memory(pacer_t *pacer);

/* The intended moment of a command. */
static inline uint64_t pacer_due_ns(const pacer_t *pacer, uint64_t number)
{
    double intervals = (double)number;
    if (pacer->moments)
        intervals = (double)(number - number % PACER_MOMENTS) +
                    pacer->moments[number % PACER_MOMENTS];
    return pacer->start_ns + (uint64_t)(intervals * pacer->interval_ns);
}

/* Waits for the next command; false if there will be none. */
bool pacer_take(pacer_t *pacer, uint64_t *ret_due_ns);

uint64_t pacer_idle_cpu_ns(const pacer_t *pacer);

#endif
