/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_WAITERS_H
#define SHOAL_BENCH_LOAD_WAITERS_H

/* Callers in the library's callbacks that wait for elements: each takes one, and waits for
 * the next. */

#include "load/pusher.h"
#include "load/shoal_load.h"

typedef struct waiters {
    run_t *run;
    pusher_t pusher;
    uint64_t count;
    bool is_measured; /* they are the load; else they are beside it */
} waiters_t;

/* Starts `count` of them, dealt out to the clients, and the pusher.  Returns -1 after run_fail();
 * waiters_stop() is needed in either case. */
int waiters_start(waiters_t *waiters, run_t *run, const shoal_clients_t *clients);

/* The phase is RUN_STOPPING: no result leads to another command, and closing the clients
 * waits for none.  Then waiters_release(). */
void waiters_stop(waiters_t *waiters);
void waiters_release(waiters_t *waiters);

#endif
