/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_REQUESTS_H
#define SHOAL_ROUTE_SUBSCRIBER_REQUESTS_H

/* What the server is asked.  Loop thread. */

#include "route/subscriber/state.h"

/* Send the requests that the registry has, each with a PING behind it. */
void shoal__subscriber_ask(shoal__subscriber_t *subscriber, uint64_t now_us);

#endif
