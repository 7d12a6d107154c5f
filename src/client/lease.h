/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_LEASE_H
#define SHOAL_CLIENT_LEASE_H

/*
 * The life of a lease, as its holder sees it.  The loop learns of a lease with its first
 * command, and frees it when the holder has given it back and every command has its
 * result.  A lease that the loop does not know is its holder's to free: it was never
 * used, or the client's work is over.
 *
 * Any thread.
 */

#include <shoal/command.h>

/* 0, SHOAL_ECLOSED, SHOAL_EFULL or SHOAL_ENOMEM. */
int shoal__lease_open(shoal_client_t *client, shoal_lease_t **ret_lease);
void shoal__lease_close(shoal_lease_t *lease);

#endif
