/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_COUNTING_H
#define SHOAL_TESTS_COUNTING_H

/* Threads in blocking calls.  Each of them counts by INCR in a key of its own, so it knows
 * which reply is the right one, and after a loss or a deadline which ones can be.  And the
 * program's callbacks, which run on one thread only, and on none that is in a call. */

#include "support/live.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define COUNTING_NO_END SIZE_MAX

typedef struct counting {
    /* What counting_start() is to do; the rest is zero before. */
    size_t calls;        /* COUNTING_NO_END: until `is_over`, or a call is refused */
    uint32_t flags;      /* of each call */
    uint64_t timeout_us; /* 0: the client's */
    uint64_t think_us;   /* between calls */
    const _Atomic bool *is_over; /* NULL: never */

    shoal_client_t *client;
    pthread_t thread;
    char key[32];
    long long low, high; /* the number is one of these, or between them */
    _Atomic size_t replied, losses, timeouts;
    size_t wrong, early, others, untold;
    int end; /* what the last call returned */
} counting_t;

/* Open a client whose events are noted, and empty the server. */
shoal_client_t *counting_open(shoal_options_t *options);
/* Submit a command whose callback is noted. */
void counting_submit(shoal_client_t *client);
size_t counting_callbacks(void);
size_t counting_losses_told(void);
/* Close the client, which owes nothing: no callback ran on a wrong thread. */
void counting_close(shoal_client_t *client);

void counting_start(counting_t *callers, size_t count, shoal_client_t *client);
/* They end, and none of them saw anything wrong. */
void counting_join(counting_t *callers, size_t count);

/* Wait until each of them got so many replies more. */
void counting_wait_for_replies(const counting_t *callers, size_t count, size_t more);
/* Wait until callers drive, which they do not in a pause of core/awake_rule.h. */
void counting_wait_for_drives(shoal_client_t *client);

#endif
