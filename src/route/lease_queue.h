/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_LEASE_QUEUE_H
#define SHOAL_ROUTE_LEASE_QUEUE_H

/*
 * The commands of a lease that no connection has yet.
 *
 * They are part of the route's account, beside those of the connections: a command that
 * leaves the queue leaves the account with it.  One that fails here was not executed; the
 * statistics of the shared connection count it.
 *
 * Loop thread.
 */

#include "core/lease.h"
#include "net/conn.h"

/* `waiting` is the queue's from now on. */
void shoal__lease_queue_add(shoal__conn_t *shared, shoal_lease_t *lease,
                            shoal__retry_t *waiting);
/* What its commands need of a log. */
size_t shoal__lease_queue_log_bytes(const shoal_lease_t *lease);
/* The first command, which the caller frees with shoal__free(); NULL: none is left. */
shoal__retry_t *shoal__lease_queue_take(shoal__conn_t *shared, shoal_lease_t *lease);

/* Fail all commands, but not those that callbacks add meanwhile. */
void shoal__lease_queue_fail(shoal__conn_t *shared, shoal_lease_t *lease, int status,
                             const char *detail);
/* Fail those whose deadline has passed. */
void shoal__lease_queue_expire(shoal__conn_t *shared, shoal_lease_t *lease,
                               uint64_t now_us, const char *detail);
/* Give up one command, and the unit that it is part of.  False: it is not here. */
bool shoal__lease_queue_cancel(shoal__conn_t *shared, shoal_lease_t *lease,
                               uint64_t ticket);

#endif
