/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_PUBSUB_PUBLISHER_H
#define SHOAL_BENCH_PUBSUB_PUBLISHER_H

/*
 * Publishes with the library, from one thread over one connection, to one channel after the
 * other.  At `options->rate` messages per second, late ones at once; or, in a closed loop, as
 * many as the server takes, of which at most `options->window` are under way to a receiver.
 * The receiver sends a byte for each MESSAGE_CREDIT messages that it has.
 */

#include "load/crew.h"
#include "load/run.h"

#include <sys/types.h>

#define PUBLISHER_CHANNELS_MAX 100000u
#define PUBLISHER_CHANNEL_BYTES 32u /* are enough for a name */

/* The channel with this number. */
void publisher_channel(uint64_t number, char *text, size_t text_bytes);
uint64_t publisher_channels(const options_t *options);

/* Publishes until the run is over; every answer counts as a command of the run.  `credits`
 * is what the receiver writes to, -1 for none; its end is the end, too. */
void publisher_run(run_t *run, int credits);

/* The same in a process of its own, on options->publisher_cpu: its cost is not the client's. */
typedef struct publisher {
    run_t *run;
    pid_t pid;   /* 0: not started */
    int credits; /* for receipts_t */
    crew_t crew; /* looks whether it lives */
} publisher_t;

/* The process waits for publisher_go().  This process has no threads yet.  Returns -1 after
 * run_fail(); publisher_stop() is needed in either case. */
int publisher_start(publisher_t *publisher, run_t *run);

/* The receiver is there. */
int publisher_go(publisher_t *publisher);

/* The phase is RUN_STOPPING. */
void publisher_stop(publisher_t *publisher);

#endif
