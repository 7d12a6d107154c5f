/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_ITEMS_H
#define SHOAL_ROUTE_SUBSCRIBER_ITEMS_H

/* What comes from servers, on its way to the receivers.  Loop thread. */

#include "route/subscriber/reception.h"

/* Hand an item, which lacks data, to the receiver. */
void shoal__reception_deliver(shoal__reception_t *reception,
                              shoal__listener_t *listener, shoal_item_t *item);

/* A message came. */
void shoal__reception_count(shoal__reception_t *reception, const shoal__push_t *push);
/* ... for this topic: hand it to all who know that the topic is confirmed.  False: no memory. */
bool shoal__reception_message(shoal__reception_t *reception,
                              const shoal__topic_t *topic, const shoal__push_t *push,
                              uint64_t epoch);

/* A read is over: no callback runs any more. */
void shoal__reception_rest(shoal__reception_t *reception);
/* A turn is over.  Returns now_us if the loop is to look for more before it sleeps, else
 * SHOAL__NEVER_US. */
uint64_t shoal__reception_rest_turn(shoal__reception_t *reception, uint64_t now_us);
/* ... and nothing is held back. */
void shoal__reception_tell(shoal__reception_t *reception);

/* The share of the figures that is the same for all routes. */
void shoal__reception_read(const shoal__reception_t *reception,
                           shoal_pubsub_stats_t *ret_stats);

#endif
