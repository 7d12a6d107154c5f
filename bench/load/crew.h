/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_CREW_H
#define SHOAL_BENCH_LOAD_CREW_H

/* Threads that all do the same work, each with a member of its own. */

#include "load/run.h"

#include <pthread.h>
#include <stddef.h>

typedef struct crew {
    pthread_t *threads;
    size_t count; /* that run */
} crew_t;

/* Starts `count` threads; thread i gets members + i * member_bytes.  Returns -1 after
 * run_fail() if not all of them could be started; join those that were. */
int crew_start(crew_t *crew, run_t *run, size_t count, void *(*work)(void *member),
               void *members, size_t member_bytes);

void crew_join(crew_t *crew);

#endif
