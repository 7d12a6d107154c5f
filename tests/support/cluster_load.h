/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_CLUSTER_LOAD_H
#define SHOAL_TESTS_CLUSTER_LOAD_H

/* Callers of a client of a cluster, while slots move and nodes fail.
 *
 * Each caller has a list of its own, and pushes ascending numbers to it, several at a time
 * without waiting for results.  In the end the lists tell what became of the numbers: those
 * that are there ascend, which is the order of submission; what was acknowledged is there,
 * unless primaries were lost; what was NOT_EXECUTED is not.  Every eighth number is pushed by a
 * unit (MULTI ... EXEC).
 *
 * With pairs, every eighth number is written to two keys of the list's slot by one MSET
 * instead, and four numbers behind it an MGET reads both: it must find that number twice. */

#include "support/cluster_rig.h"
#include "support/live.h"

#include <stdatomic.h>

#define CLUSTER_LOAD_CALLERS 24
#define CLUSTER_LOAD_WAITS_MAX 1000

typedef struct cluster_load_plan {
    size_t callers;  /* 0: CLUSTER_LOAD_CALLERS */
    unsigned window; /* numbers of each caller that are under way */
    bool has_pairs;
    bool has_bulk;  /* some are for the bulk lanes (SHOAL_CALL_BULK) */
    unsigned slots; /* the keys are in so many first slots of each primary; 0: in all */
} cluster_load_plan_t;

typedef struct cluster_caller cluster_caller_t;

typedef struct cluster_tally {
    size_t ok, unknown, not_executed, errors;
    size_t lost;       /* acknowledged, and not there */
    size_t inversions; /* numbers behind a higher one */
    size_t unmarked;   /* of them: those whose results do not say so */
    size_t misread;    /* pairs that were not what was written last */
    size_t reordered;  /* commands: the library's own count, since the last tally */
} cluster_tally_t;

typedef struct cluster_load {
    cluster_rig_t *rig;
    shoal_client_t *client;
    cluster_caller_t *callers;
    cluster_load_plan_t plan;
    _Atomic bool is_over;
    _Atomic unsigned changes;              /* of the map */
    _Atomic unsigned losses;               /* of connections */
    _Atomic uint64_t changed_us;           /* when the map did last */
    _Atomic uint64_t heard_us, silence_us; /* of the chosen callers */
    uint64_t waits_us[CLUSTER_LOAD_WAITS_MAX];
    uint64_t
        changes_us[CLUSTER_LOAD_WAITS_MAX]; /* of each wait: until the map changed */
    size_t waits;
    uint64_t reordered; /* told with the last tally */
    char error[200];
} cluster_load_t;

/* Begin, with so many numbers under way for each caller. */
cluster_load_t *cluster_load_begin(cluster_rig_t *rig, unsigned window);
cluster_load_t *cluster_load_begin_as(cluster_rig_t *rig,
                                      const cluster_load_plan_t *plan);
/* The key of a caller, and its slot. */
const char *cluster_load_key(const cluster_load_t *load, size_t caller);
unsigned cluster_load_slot(const cluster_load_t *load, size_t caller);
/* How many of its numbers were taken so far. */
size_t cluster_load_taken(const cluster_load_t *load, size_t caller);
/* Wait until each caller had so many numbers taken from now on. */
void cluster_load_await_progress(cluster_load_t *load, size_t count);
/* A caller whose slot this node owns, as node `by` says. */
size_t cluster_load_caller_of(const cluster_load_t *load, size_t by, size_t owner);
/* A replica was promoted at this time: note how long the map takes to change, and this caller
 * has to wait until a number of its is taken. */
void cluster_load_note_wait(cluster_load_t *load, size_t caller, uint64_t since_us);

/* Choose the callers whose slots this node does not own, as node `by` says; how many of their
 * numbers were taken so far; and how long none was, at most, since they were chosen. */
void cluster_load_choose(cluster_load_t *load, size_t by, size_t node);
size_t cluster_load_chosen(const cluster_load_t *load);
/* Wait until each of them had so many numbers taken from now on. */
void cluster_load_await_chosen(cluster_load_t *load, size_t count);
uint64_t cluster_load_silence_us(const cluster_load_t *load);

/* Stop, and count what became of the numbers; prints it. */
cluster_tally_t cluster_load_stop(cluster_load_t *load);
/* Begin again, with empty lists. */
void cluster_load_go_on(cluster_load_t *load);
/* Report the waits, close the client, stop the rig. */
void cluster_load_end(cluster_load_t *load);

#endif
