/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_CALLERS_H
#define SHOAL_TESTS_SIM_CALLERS_H

/* What callers do, and what they have left for the loop. */

#include "sim/call.h"

#define SIM_INBOX_MAX 256

typedef struct sim_batch {
    uint32_t first, count; /* entries of the book */
} sim_batch_t;

typedef struct sim_inbox {
    sim_batch_t written[SIM_THREADS_MAX]; /* of each thread, to be accepted; or none */
    sim_batch_t batches[SIM_INBOX_MAX];
    uint32_t batch_count, command_count; /* accepted, not taken over */
    uint32_t cancels[SIM_INBOX_MAX];     /* entries */
    uint32_t cancel_count;
} sim_inbox_t;

/* A random thread submits a burst or a unit, or the first half of that. */
void sim_callers_submit(struct sim_world *world);
/* A random thread cancels a random command. */
void sim_callers_cancel(struct sim_world *world);
/* A result was handed out: the callback may do either, on the loop's thread. */
void sim_callers_called_back(struct sim_world *world);
/* The loop takes over what is in the inbox. */
void sim_callers_take_over(struct sim_world *world);

#endif
