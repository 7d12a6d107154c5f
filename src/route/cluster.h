/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_H
#define SHOAL_ROUTE_CLUSTER_H

/* A cluster: a connection to each primary that owns slots.  Its parts are in
 * route/cluster/. */

#include "route/route.h"

/* `options` is borrowed until the route is freed.  0 or SHOAL_ENOMEM; *ret_route is
 * untouched on failure. */
int shoal__cluster_new(const shoal_options_t *options, uint64_t seed,
                       const shoal__route_hooks_t *hooks, void *owner,
                       shoal__route_t **ret_route);

#endif
