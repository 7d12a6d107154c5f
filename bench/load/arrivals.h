/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_ARRIVALS_H
#define SHOAL_BENCH_LOAD_ARRIVALS_H

/*
 * Commands at a rate on the library: the pacer's threads submit, and results come as
 * callbacks on the clients' own threads.  Arrivals are dealt to the slots in turn; one
 * whose slot still waits for a reply waits, too, and its latency counts from its intended
 * moment.
 */

#include "load/pacer.h"
#include "load/shoal_load.h"

typedef struct arrivals arrivals_t;

/* Takes every slots_count-th command. */
typedef struct arrival_slot {
    arrivals_t *arrivals;
    shoal_client_t *client;
    uint64_t due_ns;
    uint64_t submitted_ns;
    command_t *command;
    atomic_bool is_busy;
} arrival_slot_t;

struct arrivals {
    run_t *run;
    bool is_beside; /* they count as commands beside the load */
    bool is_shared; /* results come on several threads */
    arrival_slot_t *slots;
    size_t slots_count;
    commands_t commands; /* one for all slots if it is fixed, else one for each */
    bool is_pacing;
    pacer_t pacer;
};

/* Makes the slots and starts the pacer.  Without clients nothing is submitted: the pacer
 * runs for nothing.  Returns -1 after run_fail(); arrivals_stop() and
 * arrivals_release() are needed in either case, for zeroed memory as well. */
int arrivals_start(arrivals_t *arrivals, run_t *run, const shoal_clients_t *clients,
                   bool is_beside, size_t slots, uint64_t rate);

/* The phase is RUN_STOPPING.  When the clients are closed, arrivals_release(). */
void arrivals_stop(arrivals_t *arrivals);
void arrivals_release(arrivals_t *arrivals);

#endif
