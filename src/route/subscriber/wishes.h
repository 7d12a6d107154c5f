/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_WISHES_H
#define SHOAL_ROUTE_SUBSCRIBER_WISHES_H

/* What the holders of subscriptions wish, and the end of it.  Loop thread. */

#include "route/subscriber/reception.h"

/* Do what was wished so far.  Returns when to go on: some of it waits for memory, or was wished
 * meanwhile. */
uint64_t shoal__reception_apply(shoal__reception_t *reception, uint64_t now_us);
/* Subscriptions that got their end (shoal__subscription_end()) give their names up. */
void shoal__reception_leave_ended(shoal__reception_t *reception);
/* No wish is taken any more, and each subscription gets SHOAL_ITEM_ENDED. */
void shoal__reception_end_all(shoal__reception_t *reception);

#endif
