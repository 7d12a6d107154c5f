/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_PROBER_H
#define SHOAL_CLIENT_PROBER_H

/* The client that publishes the probes of a pubsub (route/subscriber/probe.h). */

#include "client/client.h"
#include "route/probe_slip.h"

/* Any thread.  The pubsub holds a reference of the prober until it has another one, is closed
 * or freed; NULL: it has none.  0 or SHOAL_ECLOSED. */
int shoal__prober_set(shoal_client_t *pubsub, shoal_client_t *prober);

/* The hook on_probe of the route. */
bool shoal__prober_publish(void *owner, shoal__probe_slip_t *slip, bool is_shard,
                           const char *channel);

#endif
