/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_TURN_H
#define SHOAL_CLIENT_TURN_H

/*
 * One turn of the loop: look, take over, write, tell.  The order is the library's heart:
 *
 *   1. after a pause, read what has arrived, before anything new is written
 *   2. tell held events, see whether a close is wanted, take over the mailbox
 *   3. the route: time-outs, retries, writing
 *   4. wake the threads whose results were delivered
 *   5. may the loop sleep?
 */

#include "route/route.h"

/* What the client does when its route tells it something; the owner is the client.  But
 * for a lease that is over, which is of the client's life. */
extern const shoal__route_hooks_t shoal__turn_route_hooks;

/* A caller that is awake has the loop (client/awake.h): read what has arrived, take over
 * what other callers left, and write.  Nothing is polled. */
void shoal__turn_awake(shoal_client_t *client, bool is_still, uint64_t now_us);

/* The loop's hook: returns when the next turn must come. */
uint64_t shoal__turn_run(void *owner, uint64_t now_us);

#endif
