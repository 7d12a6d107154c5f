/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_H
#define SHOAL_ROUTE_SUBSCRIBER_H

/*
 * The route of a pubsub: one connection, over which no command of a user goes.
 *
 * It connects when a name is wanted, sends what core/push/subscriptions.c says, and delivers
 * what comes.
 */

#include "route/route.h"

/* As shoal__route_new_fn says. */
int shoal__subscriber_new(const shoal_options_t *options, uint64_t seed,
                          const shoal__route_hooks_t *hooks, void *owner,
                          shoal__route_t **ret_route);

#endif
