/* SPDX-License-Identifier: MIT */
#ifndef BENCH_MANY_CROWD_H
#define BENCH_MANY_CROWD_H

/* A route with many connections to one server, for measuring what they cost.  Every command
 * goes to the connection that crowd_aim() chose; the others idle. */

#include "route/route.h"

/* How many connections the next crowd has. */
void crowd_expect(unsigned connections);

/* A shoal__route_new_fn. */
int crowd_new(const shoal_options_t *options, uint64_t seed,
              const shoal__route_hooks_t *hooks, void *owner,
              shoal__route_t **ret_route);

/* Send what follows over this connection: 0 .. the number of connections - 1. */
void crowd_aim(shoal__route_t *route, unsigned connection);

/* How many are ready, and how many have given back the memory that they need no more. */
unsigned crowd_ready(const shoal__route_t *route);
unsigned crowd_at_rest(const shoal__route_t *route);

#endif
