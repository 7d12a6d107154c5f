/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_WISHES_H
#define SHOAL_ROUTE_SUBSCRIBER_WISHES_H

/* What the holders of subscriptions wish, and the end of it.  Loop thread. */

#include "route/subscriber/state.h"

/* Do what was wished.  False: some of it waits for memory. */
bool shoal__subscriber_apply(shoal__subscriber_t *subscriber);
/* Subscriptions that got their end (shoal__subscriber_end()) give their names up. */
void shoal__subscriber_leave_ended(shoal__subscriber_t *subscriber);
/* No wish is taken any more, and each subscription gets SHOAL_ITEM_ENDED. */
void shoal__subscriber_end_all(shoal__subscriber_t *subscriber);

#endif
