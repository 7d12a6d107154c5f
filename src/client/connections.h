/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_CONNECTIONS_H
#define SHOAL_CLIENT_CONNECTIONS_H

/* Finds one of the client's connections, and replaces connections.  Any thread may
 * call. */

#include "client/client.h"
#include "route/route.h"

/* The connection with this number.  0 or SHOAL_ENOENT. */
int shoal__connections_find(const shoal_client_t *client, uint64_t connection,
                            shoal__route_member_t *ret_member);

/* Ask the loop to connect anew.  0 or SHOAL_ECLOSED. */
int shoal__connections_renew(shoal_client_t *client);

/* Leave credentials for the loop: *secret is NULL, or an earlier one that nobody took, for the
 * caller to free.  0 or SHOAL_ECLOSED: nothing changed. */
int shoal__connections_authenticate(shoal_client_t *client, shoal__secret_t **secret);

#endif
