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

#include "route/links.h"

/* `waiting` is the queue's from now on. */
void shoal__lease_queue_add(shoal__links_t *links, shoal_lease_t *lease,
                            shoal__listed_request_t *waiting);
/* The lease is one of other links from now on. */
void shoal__lease_queue_move(shoal__links_t *from, shoal__links_t *to,
                             const shoal_lease_t *lease);
/* May its first command be handed to a connection?  False: there is none, or the lease
 * takes no more. */
bool shoal__lease_queue_may_leave(const shoal_lease_t *lease);
/* A command of the lease was given up, and those of the queue rely on it: they, and those
 * that come, are to fail. */
void shoal__lease_queue_break(shoal_lease_t *lease);
/* What its commands need of a log. */
size_t shoal__lease_queue_log_bytes(const shoal_lease_t *lease);
/* The first command, which the caller frees with shoal__free(); NULL: none is left. */
shoal__listed_request_t *shoal__lease_queue_take(shoal__links_t *links,
                                                 shoal_lease_t *lease);

/* Fail those behind a gap; and all commands.  Not those that callbacks add meanwhile. */
void shoal__lease_queue_fail_behind(shoal__links_t *links, shoal_lease_t *lease);
void shoal__lease_queue_fail(shoal__links_t *links, shoal_lease_t *lease, int status,
                             const char *detail);
/* Fail those whose deadline has passed. */
void shoal__lease_queue_expire(shoal__links_t *links, shoal_lease_t *lease,
                               uint64_t now_us, const char *detail);
/* Give up one command, and the unit that it is part of.  False: it is not here. */
bool shoal__lease_queue_cancel(shoal__links_t *links, shoal_lease_t *lease,
                               uint64_t ticket);

#endif
