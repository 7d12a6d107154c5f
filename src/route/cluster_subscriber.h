/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_SUBSCRIBER_H
#define SHOAL_ROUTE_CLUSTER_SUBSCRIBER_H

/*
 * The route of a pubsub in a cluster: a connection to each node that has a name, beside the
 * route of a cluster, which says who owns what and carries no command of a user.
 *
 * core/push/placement.h says where a name belongs.  When slots have other owners, names
 * follow them: the name leaves its former node, is subscribed at the new one, and its
 * listeners get a GAP behind the confirmation.
 *
 * If SHOAL_TOPOLOGY_AUTO finds a server of its own, all names are there.
 */

#include "route/route.h"

/* As shoal__route_new_fn says. */
int shoal__cluster_subscriber_new(const shoal_options_t *options, uint64_t seed,
                                  const shoal__route_hooks_t *hooks, void *owner,
                                  shoal__route_t **ret_route);

#endif
