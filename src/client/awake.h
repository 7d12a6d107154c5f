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

/* A thread is about to leave a command in the mailbox: may it stay awake, and see to the
 * command itself?  Then shoal__awake_drive() must follow. */
bool shoal__awake_joins_locked(shoal_client_t *client, shoal__waiter_t *waiter);

/* It did not leave one after all. */
void shoal__awake_quit(shoal_client_t *client, shoal__waiter_t *waiter);

/* The command was submitted: stay awake, run the loop, or poll alone, until the result is
 * there, until_us at most.  False: another thread delivers it, or has already. */
bool shoal__awake_drive(shoal_client_t *client, shoal__waiter_t *waiter,
                        uint64_t until_us);

#endif
