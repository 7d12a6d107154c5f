/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_CLUSTER_LOAD_H
#define SHOAL_TESTS_CLUSTER_LOAD_H

/* Callers of a client of a cluster, while slots move and nodes fail.
 *
 * Each caller has a list of its own, and pushes ascending numbers to it, several at a time
 * without waiting for results.  In the end the lists tell what became of the numbers: those
 * that are there ascend, which is the order of submission; what was acknowledged is there,
 * unless primaries were lost; what was NOT_EXECUTED is not. */

#include "support/cluster_rig.h"
#include "support/live.h"

#include <stdatomic.h>

#define CLUSTER_LOAD_CALLERS 24
#define CLUSTER_LOAD_WAITS_MAX 1000

typedef struct cluster_caller cluster_caller_t;

typedef struct cluster_tally {
    size_t ok, unknown, not_executed, errors;
    size_t lost;       /* acknowledged, and not there */
    size_t inversions; /* numbers behind a higher one */
} cluster_tally_t;

typedef struct cluster_load {
    cluster_rig_t *rig;
    shoal_client_t *client;
    cluster_caller_t *callers;
    unsigned window; /* numbers of a caller that are under way */
    _Atomic bool is_over;
    _Atomic unsigned changes; /* of the map */
    _Atomic unsigned losses;  /* of connections */
    uint64_t waits_us[CLUSTER_LOAD_WAITS_MAX];
    size_t waits;
    char error[200];
    cluster_tally_t tally;
} cluster_load_t;

/* Begin, with so many numbers under way for each caller. */
cluster_load_t *cluster_load_begin(cluster_rig_t *rig, unsigned window);
/* The key of a caller, and its slot. */
const char *cluster_load_key(const cluster_load_t *load, size_t caller);
unsigned cluster_load_slot(const cluster_load_t *load, size_t caller);
/* Wait until each caller had so many numbers taken from now on. */
void cluster_load_await_progress(cluster_load_t *load, size_t count);
/* A caller whose slot this node owns, as node `by` says. */
size_t cluster_load_caller_of(const cluster_load_t *load, size_t by, size_t owner);
/* Note how long this caller has to wait, from now on, until a number of its is taken. */
void cluster_load_note_wait(cluster_load_t *load, size_t caller);

/* Stop, and count what became of the numbers; prints it. */
cluster_tally_t cluster_load_stop(cluster_load_t *load);
/* Begin again, with empty lists. */
void cluster_load_go_on(cluster_load_t *load);
/* Close the client, stop the rig. */
void cluster_load_end(cluster_load_t *load);

#endif
