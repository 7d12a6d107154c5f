/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_AWAKE_WORLD_H
#define SHOAL_TESTS_SIM_AWAKE_WORLD_H

/*
 * What threads in blocking calls live in, in virtual time: one core that they share, and
 * one core of a server.  Unlike in sim/flush_world.h a CPU is scarce here: one thread runs
 * at a time, and a core that has nothing to do goes idle, and costs the one who wakes it.
 *
 * The threads have one connection and stay awake, as in client/awake.c and
 * shoal__turn_awake(): each submits, reads for all, asks the flush policy, writes, and
 * yields.  Only the policy is real.  Or they are a pool: each has a connection, and sleeps
 * until its reply is there.
 *
 * Threads start at once, and submit again as soon as they have a result.  No thread gives
 * up because it was idle for too long: the server is close by.
 */

#include "core/flush/flush_policy.h"
#include "sim/dice.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AWAKE_THREADS_MAX 128
#define AWAKE_LATENCIES_MAX 131072

typedef struct awake_load {
    unsigned threads;
    bool is_tcp;      /* a write costs four times as much as over a Unix socket */
    bool is_pool;     /* a connection for each thread, and no policy */
    unsigned held;    /* so many threads do not get a CPU when their result is there, */
    uint64_t held_us; /* for so long: a page is missing, or they are in another queue */
} awake_load_t;

typedef struct awake_figures {
    double rate;   /* results per second */
    double cpu_us; /* of both ends, per result */
    double p50_us, p99_us;
    double batch; /* commands per write of the client */
} awake_figures_t;

/* Commands, or replies, that the other core may read from at_ns on. */
typedef struct awake_message {
    uint64_t at_ns;
    uint32_t count;
} awake_message_t;

/* A socket, or all of a pool's. */
typedef struct awake_line {
    awake_message_t messages[AWAKE_THREADS_MAX];
    uint64_t first, end; /* positions, ascending */
} awake_line_t;

typedef struct awake_core {
    uint64_t at_ns; /* its next step; SHOAL__NEVER_US: it is idle */
    uint64_t cpu_ns;
    awake_line_t inbox;
    uint64_t to_write; /* what the next step writes; 0: it reads */
} awake_core_t;

typedef struct awake_thread {
    bool has_result;
    uint64_t submitted_ns; /* 0: not yet */
    uint64_t held_until_ns;
    uint64_t seen; /* what the threads had done at its last look */
} awake_thread_t;

typedef struct awake_world {
    shoal__flush_policy_t policy;
    awake_load_t load;
    sim_dice_t dice;
    awake_core_t client, server;
    awake_thread_t threads[AWAKE_THREADS_MAX];
    unsigned running; /* the thread that has the client's core */
    uint64_t done;    /* results and commands of all threads */
    uint64_t look_us; /* nobody reads before then */

    uint32_t callers[AWAKE_THREADS_MAX]; /* of the commands, in their order */
    uint64_t submitted, replied;         /* positions in it */

    uint64_t writes, written;
    size_t result_count;
    uint32_t latencies[AWAKE_LATENCIES_MAX];
} awake_world_t;

/* A world without a past. */
void awake_world_begin(awake_world_t *world, const awake_load_t *load,
                       shoal_flush_mode_t mode, uint64_t pause_us, uint64_t seed);
/* Runs for span_us, and returns what happened meanwhile. */
awake_figures_t awake_world_run(awake_world_t *world, uint64_t span_us);

#endif
