/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_LARGE_H
#define SHOAL_BENCH_LOAD_LARGE_H

/* Callers beside the load: each writes a large value, reads it back, and so on. */

#include "load/crew.h"
#include "load/shoal_load.h"

#define LARGE_CALLERS 2

typedef struct large large_t;

typedef struct large_caller {
    large_t *large;
    shoal_client_t *client;   /* that it uses; NULL: a connection of its own */
    redisContext *connection; /* NULL: a client */
    char key[24];
    bool is_reading; /* the command under way is a GET */
} large_caller_t;

struct large {
    run_t *run;
    char *value;
    size_t bytes;
    large_caller_t callers[LARGE_CALLERS];
    crew_t crew; /* of those with connections */
};

/* Starts them, if the options ask for them.  With clients the callers are callbacks, and
 * share the clients with the load; NULL: they are threads, on plain hiredis.  Returns -1
 * after run_fail(); large_stop() is needed in either case. */
int large_start(large_t *large, run_t *run, const shoal_clients_t *clients);

/* The phase is RUN_STOPPING: no result leads to another command, and the threads end.
 * When the clients are closed, large_release(). */
void large_stop(large_t *large);
void large_release(large_t *large);

#endif
