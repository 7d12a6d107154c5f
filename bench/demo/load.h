/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_DEMO_LOAD_H
#define SHOAL_BENCH_DEMO_LOAD_H

/* Threads that share a client of a cluster.  Each has callers, and each caller increments
 * keys of its own, one command at a time: every answer must be one more than the one before.
 * The keys of a caller are in a block of slots of its own. */

#include <stdint.h>

#define DEMO_CALLERS 32u /* of a thread */
#define DEMO_KEYS 50u    /* of a caller */

typedef struct demo_load demo_load_t;

typedef struct demo_counts {
    uint64_t done;    /* answered rightly */
    uint64_t failed;  /* with an error, or not executed */
    uint64_t wrong;   /* another number than the next one */
    uint64_t unknown; /* sent, and never answered */
    uint64_t
        lost; /* numbers that a primary acknowledged and its successor does not have */
} demo_counts_t;

/* By the port of a node.  Exits with a line on standard error if it cannot. */
demo_load_t *demo_load_start(int port, unsigned threads);
void demo_load_stop(demo_load_t *load);

/* So far. */
demo_counts_t demo_load_counts(demo_load_t *load);
/* In microseconds, since the last time that it was asked for; NaN: nothing was answered. */
double demo_load_p99_us(demo_load_t *load);
/* The text of the first command that failed; "" without one. */
const char *demo_load_first_error(const demo_load_t *load);

/* From now on a primary may have died with numbers that it had acknowledged. */
void demo_load_expect_loss(demo_load_t *load);

#endif
