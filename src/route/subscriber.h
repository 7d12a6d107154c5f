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
#include "route/subscription.h"

/* As shoal__route_new_fn says. */
int shoal__subscriber_new(const shoal_options_t *options, uint64_t seed,
                          const shoal__route_hooks_t *hooks, void *owner,
                          shoal__route_t **ret_route);

/* Any thread, of such a route, until it is freed. */
shoal__post_t *shoal__subscriber_post(shoal__route_t *route);
void shoal__subscriber_stats(const shoal__route_t *route,
                             shoal_pubsub_stats_t *ret_stats);

/* Loop thread: nothing more is to be delivered to the subscription, which its holder still
 * closes. */
void shoal__subscriber_end(shoal__route_t *route, shoal_subscription_t *subscription);

#endif
