/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_PUBSUB_H
#define SHOAL_CLIENT_PUBSUB_H

/* Subscribing, from any thread; and waiting for confirmations. */

#include "client/client.h"
#include "route/subscription.h"

/* A pubsub is a client with a route of its own (route/subscriber.h), to which nobody submits
 * commands. */
struct shoal_pubsub {
    shoal_client_t client;
};

_Static_assert(sizeof(shoal_pubsub_t) == sizeof(shoal_client_t),
               "shoal__client_open() makes both");

/* The arguments are right.  0, SHOAL_ENOMEM or
 * SHOAL_ECLOSED. */
int shoal__pubsub_subscribe(shoal_pubsub_t *pubsub, const shoal_name_t *names,
                            size_t count, const shoal_receiver_t *receiver,
                            shoal_subscription_t **ret_subscription);
/* The same of a change, ADD or REMOVE. */
int shoal__pubsub_change(shoal_subscription_t *subscription, shoal__change_kind_t kind,
                         const shoal_name_t *names, size_t count);
/* As shoal_subscription_wait() says. */
int shoal__pubsub_wait(shoal_subscription_t *subscription, uint64_t timeout_us);
/* End it, and give its reference back. */
void shoal__pubsub_unsubscribe(shoal_subscription_t *subscription);

/* The hook on_heard of the route: wakes those who wait for confirmations, and the consumers of
 * mailboxes. */
void shoal__pubsub_heard(void *owner, bool has_news);

/* Whose it is. */
static inline shoal_client_t *
shoal__subscription_client(const shoal_subscription_t *subscription)
{
    return subscription->holder;
}

#endif
