/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_LEASE_COUNT_H
#define SHOAL_CLIENT_LEASE_COUNT_H

/* The bound of a client's leases, and the way of a lease that was closed to the route. */

#include "core/request.h"
#include <stdbool.h>
#include <stddef.h>

/* Any thread: one lease is to be opened, or `count` blocking commands are to be submitted,
 * each of which needs a lease of its own; or so many were not after all.  False: there are
 * too many. */
bool shoal__lease_claim(shoal_client_t *client, size_t count);
void shoal__lease_unclaim(shoal_client_t *client, size_t count);

/* Loop thread: tell the route of leases that were closed, as the mailbox lists them. */
void shoal__lease_end_all(shoal_client_t *client, shoal_lease_t *closed);
/* Loop thread: the route is shut.  Leases that are closed from now on are their holders' to
 * free. */
void shoal__lease_end_shut(shoal_client_t *client);

#endif
