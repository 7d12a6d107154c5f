/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_RUN_H
#define SHOAL_BENCH_LOAD_RUN_H

/*
 * One round of one strategy.  A load makes commands in threads of its own; the
 * coordinator, the main thread, decides what is warm-up and what is measured, and
 * takes the differences of all counters over the measured window.
 */

#include "judge/figures.h"
#include "judge/histogram.h"
#include "load/workload.h"
#include "options.h"
#include "server/controls.h"

#include <hiredis/hiredis.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum run_phase {
    RUN_WARMING,
    RUN_MEASURING,
    RUN_STOPPING, /* finish what is under way, send nothing new */
} run_phase_t;

/* A step of a ladder: another number of threads.  Medians and maxima are over all times. */
typedef struct run_step {
    double ops_per_s;  /* once the regime is reached */
    double reached_ms; /* since the step */
    double reached_ms_max;
    double late;     /* how many times it took longer than THREAD_STEP_LATE_MS */
    double stall_ms; /* the longest time without the end of any call */
} run_step_t;

extern const run_step_t run_no_step; /* all of it NaN */

/* What a load has counted so far. */
typedef struct load_counters {
    bool has_calls; /* the three below were counted */
    uint64_t writes;
    uint64_t reads;
    uint64_t wakeups;
    bool has_library; /* the ones below were counted */
    uint64_t caller_wakeups;
    uint64_t direct_calls;
    uint64_t handovers;
    uint64_t allocations;
    uint64_t batch_histogram[SHOAL_STATS_BATCH_BUCKETS];
    uint64_t flush_reasons[SHOAL_FLUSH_REASONS];
    bool has_messages;      /* the one below was counted */
    uint64_t lost_messages; /* their numbers were skipped */
    uint64_t
        foreign_cpu_ns; /* spent pushing, or waiting for the next intended moment */
} load_counters_t;

typedef struct run {
    const options_t *options;
    const strategy_t *strategy;
    const workload_t *workload;
    histogram_t *latency;           /* recorded while measuring only */
    histogram_t *service;           /* open loop: from the moment of submission */
    histogram_t *beside;            /* of the commands beside the load */
    uint64_t sampling;              /* one command in so many is timed */
    void *load;                     /* the load's own */
    int wake_fds[2];                /* a byte ends the coordinator's wait */
    double step_base_us;            /* of load_step once it has stopped; else NaN */
    run_step_t steps[FIGURE_STEPS]; /* of a ladder, once it has stopped; else NaN */
    double step_settled_ms[2];      /* the median and the maximum */
    atomic_int limits_left;         /* that were not reached yet */
    atomic_bool has_failed;
    char failure[160]; /* valid once has_failed is read as true */
    atomic_bool has_error;
    char first_error[160];

    /* Read for every command. */
    _Alignas(64) atomic_int phase;
    _Atomic uint64_t ops_limit;    /* of ops; UINT64_MAX: none, or it was reached */
    _Atomic uint64_t beside_limit; /* of beside_ops */
    _Atomic uint64_t large_limit;  /* of large_values */

    /* Written for every command. */
    _Alignas(64) _Atomic uint64_t ops;
    _Atomic uint64_t errors;
    _Atomic uint64_t beside_ops;   /* commands at a rate beside the load */
    _Atomic uint64_t large_values; /* written or read beside the load */
} run_t;

/* One way to make load. */
typedef struct load_kind {
    /* Connects and begins.  Returns -1 after run_fail(). */
    int (*start)(run_t *run);
    void (*count)(const run_t *run, load_counters_t *ret_counters);
    /* The phase is RUN_STOPPING, or start() failed half-way: ends and frees. */
    void (*stop)(run_t *run);
} load_kind_t;

extern const load_kind_t load_callback;
extern const load_kind_t load_sync;
extern const load_kind_t load_borrowed;
extern const load_kind_t load_callback_paced;
extern const load_kind_t load_mixed;
extern const load_kind_t load_step;
extern const load_kind_t load_pops;
extern const load_kind_t load_queue;
extern const load_kind_t load_pool;
extern const load_kind_t load_collector;
extern const load_kind_t load_mutex;
extern const load_kind_t load_redispp;
extern const load_kind_t load_explicit;
extern const load_kind_t load_pipelines; /* explicit, many connections per thread */
extern const load_kind_t load_raw;
extern const load_kind_t load_publish;
extern const load_kind_t load_subscribe; /* with and without a mailbox */
extern const load_kind_t load_listen;

/* What is shown while rounds run; NULL for nothing. */
typedef struct live {
    size_t step; /* 1 .. steps */
    size_t steps;
    const char *name;
} live_t;

/* Measures.  INFO is asked for over `controls`.
 *
 * Returns 0 with figures; 1 if it was interrupted before there were any; -1 with a
 * line in `problem`. */
int run_round(run_t *run, const controls_t *controls, const live_t *live,
              figures_t *ret_figures, char *problem, size_t problem_bytes);

/* The connection is gone or the like: the round is over.  The first text stays.
 * Returns -1. */
__attribute__((format(printf, 2, 3))) int run_fail(run_t *run, const char *format, ...);

/* A command failed, or its reply was wrong.  The first text stays. */
void run_note_error(run_t *run, const char *text, size_t bytes);

/* Notes what is wrong with a reply that hiredis has built. */
void run_check_reply(run_t *run, const command_t *command, const redisReply *reply);

/* One limit of commands is reached; the last one to be reached ends the round. */
void run_reach(run_t *run, _Atomic uint64_t *limit);

static inline run_phase_t run_phase(run_t *run)
{
    return (run_phase_t)atomic_load_explicit(&run->phase, memory_order_relaxed);
}

/* Counts finished commands, for a load that counts in one thread only. */
static inline void run_count(run_t *run, uint64_t commands)
{
    uint64_t ops = atomic_load_explicit(&run->ops, memory_order_relaxed) + commands;
    atomic_store_explicit(&run->ops, ops, memory_order_relaxed);
    if (ops >= atomic_load_explicit(&run->ops_limit, memory_order_relaxed))
        run_reach(run, &run->ops_limit);
}

/* Counts a finished command beside the load, from any thread. */
static inline void run_count_beside(run_t *run)
{
    uint64_t ops =
        atomic_fetch_add_explicit(&run->beside_ops, 1, memory_order_relaxed) + 1;
    if (ops >= atomic_load_explicit(&run->beside_limit, memory_order_relaxed))
        run_reach(run, &run->beside_limit);
}

/* Counts a large value that was written or read, from any thread. */
static inline void run_count_large(run_t *run)
{
    uint64_t values =
        atomic_fetch_add_explicit(&run->large_values, 1, memory_order_relaxed) + 1;
    if (values >= atomic_load_explicit(&run->large_limit, memory_order_relaxed))
        run_reach(run, &run->large_limit);
}

/* Counts finished commands, from any thread. */
static inline void run_count_shared(run_t *run, uint64_t commands)
{
    uint64_t ops =
        atomic_fetch_add_explicit(&run->ops, commands, memory_order_relaxed) + commands;
    if (ops >= atomic_load_explicit(&run->ops_limit, memory_order_relaxed))
        run_reach(run, &run->ops_limit);
}

#endif
