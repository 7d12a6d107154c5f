/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_AWAKE_COUNT_H
#define SHOAL_CLIENT_AWAKE_COUNT_H

/*
 * Which callers are awake (client/awake.h), and how many.  Each of them looks at the loop
 * until it has its result or sleeps, and then counts no more.  All counts are over when the
 * background thread drives: a new round begins.
 */

#include "client/waiters.h"
#include <shoal/client.h>
#include <stdbool.h>

/* May the thread deliver results of others? */
bool shoal__awake_fits_locked(const shoal_client_t *client,
                              const shoal__waiter_t *waiter);
void shoal__awake_enter_locked(shoal_client_t *client, shoal__waiter_t *waiter);
void shoal__awake_leave_locked(shoal_client_t *client, shoal__waiter_t *waiter);
bool shoal__awake_counts_locked(const shoal_client_t *client,
                                const shoal__waiter_t *waiter);
/* The waiters in this list have their results. */
void shoal__awake_answered_locked(shoal_client_t *client, const shoal__list_t *callers);

#endif
