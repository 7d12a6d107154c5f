/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_FLUSH_WORLD_H
#define SHOAL_TESTS_SIM_FLUSH_WORLD_H

/*
 * What a flush policy lives in, as discrete events in virtual time: callers, the client's
 * loop with its inbox and its waker, the network, and a server with one thread.  Only the
 * policy is real.
 *
 * What things cost was measured on loopback with a 2-core virtual machine, and is in
 * flush_world.c as medians; each latency varies by 15 % around them and has now and then
 * a tail.  CPUs are not scarce here: client, server and callers have their own.  Threads
 * that stay awake share one: sim/awake_world.h.
 */

#include "core/flush/flush_policy.h"
#include "sim/dice.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLUSH_CALLERS_MAX 1024
#define FLUSH_RING 65536 /* power of two: commands outstanding at once */
#define FLUSH_EVENTS_MAX 8192
#define FLUSH_STEPS 64 /* latency buckets in an octave: 1.6 % wide at most */
#define FLUSH_BUCKETS (64 * FLUSH_STEPS)

typedef enum flush_load_kind {
    FLUSH_LOAD_NONE,
    FLUSH_LOAD_CALLBACKS, /* closed loop: again from the result callback */
    FLUSH_LOAD_THREADS,   /* closed loop: blocked threads, woken in a row */
    FLUSH_LOAD_EVEN,      /* open loop: evenly spaced */
    FLUSH_LOAD_RANDOM,    /* open loop: as callers that know nothing of each other */
    FLUSH_LOAD_BURSTS,    /* open loop: ten times the rate in a tenth of the time */
    FLUSH_LOAD_RECORDED,  /* open loop: gaps of a real run, over and over */
} flush_load_kind_t;

typedef struct flush_load {
    flush_load_kind_t kind;
    unsigned callers;     /* closed loop */
    uint64_t think_us;    /* threads: between a result and the next command */
    bool is_think_random; /* exponential with this mean */
    uint64_t rate;        /* open loop: commands per second */
    const uint16_t *gaps; /* RECORDED: in microseconds */
    size_t gap_count;
} flush_load_t;

typedef struct flush_figures {
    uint64_t since_ns;
    uint64_t completed, flushes, flushed;
    uint64_t client_cpu_ns; /* the loop's, and what signalling it costs callers */
    uint64_t server_cpu_ns;
    uint64_t signals, timers;  /* wake-ups of the loop by callers, by its waker */
    uint64_t first_latency_ns; /* of the first command that was submitted since */
    uint32_t latencies[FLUSH_BUCKETS];
} flush_figures_t;

typedef struct flush_event {
    uint64_t at_ns;
    uint32_t kind;
    uint32_t value;
} flush_event_t;

typedef struct flush_command {
    uint64_t submitted_ns;
    uint32_t caller;
    uint32_t crew; /* the load that it belongs to */
} flush_command_t;

typedef struct flush_world {
    shoal__flush_policy_t policy;
    uint64_t rtt_ns;
    sim_dice_t dice;
    uint64_t now_ns;
    flush_event_t events[FLUSH_EVENTS_MAX]; /* a heap */
    size_t event_count;

    flush_load_t load;
    uint32_t crew; /* which load this is; commands of former ones are not repeated */
    size_t next_gap;
    uint64_t burst_ns; /* active time of the bursts so far */

    flush_command_t ring[FLUSH_RING];            /* in the order of submission */
    uint64_t submitted, taken, written, replied; /* positions in it, descending */

    bool is_asleep;      /* the loop */
    uint64_t turn_ns;    /* its next turn; NEVER: none is due */
    uint64_t armed_us;   /* its waker; NEVER: it is not armed */
    uint64_t wake_after; /* commands in the inbox that wake it up */
    uint64_t readable;   /* replies that have arrived */
    bool is_waker_due;

    bool is_server_asleep;
    uint64_t server_pending, server_batch;

    flush_figures_t figures;
} flush_world_t;

/* NULL if memory ran out; free() it.  A world can begin again as often as one likes. */
flush_world_t *flush_world_new(void);
void flush_world_begin(flush_world_t *world, shoal_flush_mode_t mode, uint64_t pause_us,
                       uint64_t rtt_us, uint64_t seed);

/* From now on these callers, and no others. */
void flush_world_load(flush_world_t *world, const flush_load_t *load);
void flush_world_run(flush_world_t *world, uint64_t span_us);
/* Count from now on. */
void flush_world_count(flush_world_t *world);

/* Results per second. */
static inline double flush_figures_rate(const flush_world_t *world)
{
    return (double)world->figures.completed * 1e9 /
           (double)(world->now_ns - world->figures.since_ns);
}

/* CPU time of both ends for one result. */
static inline double flush_figures_cpu_us(const flush_world_t *world)
{
    const flush_figures_t *figures = &world->figures;

    return (double)(figures->client_cpu_ns + figures->server_cpu_ns) / 1000 /
           (double)(figures->completed ? figures->completed : 1);
}

/* Commands per flush. */
static inline double flush_figures_batch(const flush_world_t *world)
{
    uint64_t flushes = world->figures.flushes ? world->figures.flushes : 1;

    return (double)world->figures.flushed / (double)flushes;
}

double flush_figures_latency_us(const flush_world_t *world, unsigned permille);

#endif
