/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_RELIEF_H
#define SHOAL_CLIENT_RELIEF_H

/*
 * Callers that write their commands themselves.
 *
 * While a client owes results to plain calls alone (core/company.h), the background
 * thread sleeps openly.  A caller that would have to wake it relieves it instead: it runs
 * a turn, in which its command and those of others leave.  The background thread wakes
 * for the replies only.
 *
 * No callback runs in such a turn: events are held (client/events.c), and results do
 * nothing but wake threads.  What the turn cannot do itself it leaves to the background
 * thread, and wakes it.
 *
 * Guarantee: one thread at a time has the loop, and nothing that is left for the loop
 * waits for another push.  (I11)
 */

#include <shoal/client.h>
#include <stdbool.h>

/* The loop's hook, before each poll of the background thread: wake the threads whose
 * results were delivered, and sleep openly if nothing speaks against it. */
void shoal__relief_sleep(void *owner);

/* A plain call was pushed.  True: this thread has the loop, and after the unlock
 * shoal__relief_run() must follow. */
bool shoal__relief_begins_locked(shoal_client_t *client);
void shoal__relief_run(shoal_client_t *client);

#endif
