/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_AWAKE_H
#define SHOAL_CLIENT_AWAKE_H

/*
 * Threads in blocking calls that stay awake until their results come.
 *
 * While a client owes results to plain calls alone (core/company.h), these threads run the
 * loop themselves, one at a time: each takes what was left in the mailbox, reads what has
 * arrived, for whomever it is, writes what the flush policy lets go, and leaves the loop
 * to the next one.  In between it yields the CPU.  core/awake_rule.c says when that is
 * worth while.
 *
 * No callback runs on such a thread: events are held (client/events.c), and results do
 * nothing but let threads go on.  What the threads cannot do they leave to the background
 * thread, which then drives.
 *
 * Guarantee: while commands are outstanding a thread is awake that will look for their
 * replies, or the background thread polls, or looks within a millisecond.  (I11)
 */

#include "client/waiters.h"
#include <shoal/client.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum shoal__awake_end {
    SHOAL__AWAKE_ANSWERED, /* the result is there */
    SHOAL__AWAKE_SLEEP,    /* another thread will deliver the result */
    SHOAL__AWAKE_ALONE     /* nobody else waits: the thread has the loop, and may poll */
} shoal__awake_end_t;

/* The thread counts as awake from now on, and no more. */
void shoal__awake_enter_locked(shoal_client_t *client, shoal__waiter_t *waiter);
void shoal__awake_leave_locked(shoal_client_t *client, shoal__waiter_t *waiter);
bool shoal__awake_counts_locked(const shoal_client_t *client,
                                const shoal__waiter_t *waiter);
/* The waiters in this list have their results: they do not count any more. */
void shoal__awake_answered_locked(shoal_client_t *client, const shoal__list_t *callers);

/* A thread is about to leave a command in the mailbox: may it stay awake, and see to the
 * command itself?  Then shoal__awake_stay() must follow. */
bool shoal__awake_joins_locked(shoal_client_t *client, shoal__waiter_t *waiter);

/* It did not leave one after all. */
void shoal__awake_quit(shoal_client_t *client, shoal__waiter_t *waiter);

/* Stay awake, until_us at most. */
shoal__awake_end_t shoal__awake_stay(shoal_client_t *client, shoal__waiter_t *waiter,
                                     uint64_t until_us);

#endif
