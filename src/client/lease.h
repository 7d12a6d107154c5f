/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_LEASE_H
#define SHOAL_CLIENT_LEASE_H

/*
 * The life of a lease, as its holder sees it.  The loop learns of a lease with its first
 * command, and frees it when the holder has given it back and every command has its
 * result.  A lease that the loop does not know is its holder's to free: it was never
 * used, or the client's work is over.
 *
 * Any thread, unless a function says otherwise.
 */

#include "core/request.h"
#include <stdbool.h>
#include <stdint.h>

/* 0, SHOAL_ECLOSED, SHOAL_EFULL or SHOAL_ENOMEM. */
int shoal__lease_open(shoal_client_t *client, shoal_lease_t **ret_lease);
void shoal__lease_close(shoal_lease_t *lease);

/* `count` blocking commands are to be submitted, each of which needs a lease of its own;
 * or so many were not accepted after all.  False: there are too many leases. */
bool shoal__lease_claim(shoal_client_t *client, size_t count);
void shoal__lease_unclaim(shoal_client_t *client, size_t count);

/* Loop thread: tell the route of leases that were closed (the mailbox's list); or, once
 * the route is shut, free them. */
void shoal__lease_end_all(shoal_client_t *client, shoal_lease_t *closed);
void shoal__lease_end_shut(shoal_client_t *client);
/* Loop thread: it is over. */
void shoal__lease_free(shoal_client_t *client, shoal_lease_t *lease);

#endif
