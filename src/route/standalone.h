/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_STANDALONE_H
#define SHOAL_ROUTE_STANDALONE_H

/* One server: one connection that callers share, and those of leases. */

#include "route/route.h"

/* `options` is borrowed until the route is freed.  0 or SHOAL_ENOMEM; *ret_route is
 * untouched on failure. */
int shoal__standalone_new(const shoal_options_t *options, uint64_t seed,
                          const shoal__route_hooks_t *hooks, void *owner,
                          shoal__route_t **ret_route);

#endif
