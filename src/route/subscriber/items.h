/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_ITEMS_H
#define SHOAL_ROUTE_SUBSCRIBER_ITEMS_H

/* What comes from the server, on its way to the receivers.  Loop thread. */

#include "route/subscriber/state.h"

/* Hand an item, which lacks epoch and data, to the receiver. */
void shoal__subscriber_deliver(shoal__subscriber_t *subscriber,
                               shoal__listener_t *listener, shoal_item_t *item);

/* The registry's hook. */
void shoal__subscriber_mark(void *owner, shoal__listener_t *listener,
                            shoal_item_t *mark);
/* The connection's hook on_message. */
void shoal__subscriber_hear(void *owner, const shoal__push_t *push);

/* A read, or a turn, is over: no callback runs any more. */
void shoal__subscriber_rest(shoal__subscriber_t *subscriber);

#endif
