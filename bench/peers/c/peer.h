/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PEER_H
#define SHOAL_PEER_H

/*
 * One measurement: what the callers share.  A client starts its callers, which send
 * the command of the peer again and again until the phase says stop; the coordinator
 * moves the phase, takes the CPU time at the window's ends and prints the result.
 */

#include "options.h"

#include "judge/histogram.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_ARGUMENTS 3
#define PEER_KEYS 100000 /* of a cluster */
#define PEER_KEY_BYTES 16

typedef enum peer_phase { PEER_WARMING, PEER_MEASURING, PEER_STOPPING } peer_phase_t;

typedef struct peer {
    const peer_options_t *options;
    const char *argv[PEER_ARGUMENTS]; /* SET key value */
    size_t argvlen[PEER_ARGUMENTS];
    char *value;
    char (*keys)[PEER_KEY_BYTES + 1]; /* of a cluster; NULL: the one of argv */
    uint64_t random;                  /* which is next; never 0 */

    uint64_t sampling;  /* one command in so many of each caller is timed */
    uint64_t start_ns;  /* open loop: when command 0 is due */
    double interval_ns; /* open loop: between two commands */
    void *state;        /* the client's */

    _Atomic int phase;
    _Atomic uint64_t ops;
    _Atomic uint64_t errors;
    histogram_t *latency; /* from the intended moment, or from submission */
    histogram_t *service; /* open loop: from the actual submission */
    atomic_flag has_error;
    char first_error[160];
} peer_t;

typedef struct peer_client {
    const char *name;
    void (*start)(peer_t *peer);
    void (*stop)(peer_t *peer); /* the phase is PEER_STOPPING */
} peer_client_t;

extern const peer_client_t peer_client_async;

/* One command of one caller. */
typedef struct peer_shot {
    uint64_t intended_ns;
    uint64_t begin_ns;
    bool is_timed;
} peer_shot_t;

static inline peer_phase_t peer_phase(const peer_t *peer)
{
    return (peer_phase_t)atomic_load_explicit(&peer->phase, memory_order_relaxed);
}

/* The caller submits its command number `count`; `intended_ns` is 0 in a closed
 * loop. */
void peer_begin(const peer_t *peer, peer_shot_t *shot, uint64_t count,
                uint64_t intended_ns);
void peer_end(peer_t *peer, const peer_shot_t *shot);

static inline uint64_t peer_due_ns(const peer_t *peer, uint64_t number)
{
    return peer->start_ns + (uint64_t)((double)number * peer->interval_ns);
}

/* The arguments of the next command.  Its key is always the same; of a cluster, a random
 * one.  One thread at a time. */
void peer_command(peer_t *peer, const char *argv[PEER_ARGUMENTS]);

/* How many commands were due until now. */
uint64_t peer_released(const peer_t *peer);

/* An error reply. */
void peer_note_error(peer_t *peer, const char *text);

/* Ends the program with a line on standard error. */
_Noreturn void peer_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

void *peer_allocate(size_t count, size_t bytes);

#endif
