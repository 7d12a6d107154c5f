/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_DRIVER_H
#define SHOAL_CLIENT_DRIVER_H

/* Which thread runs the loop of a client that was opened with a thread of its own.
 * core/driver_token.c decides, and net/driver_seat.c keeps the token.  This file tells
 * both what the loop saw, and runs the loop. */

#include "client/waiters.h"
#include <shoal/client.h>
#include <stdbool.h>
#include <stdint.h>

/* How a thread in a blocking call left the loop. */
typedef enum shoal__driver_left {
    SHOAL__DRIVER_LEFT_ANSWERED,     /* with its result */
    SHOAL__DRIVER_LEFT_FREE,         /* no thread has it: this one or another one may */
    SHOAL__DRIVER_LEFT_TO_BACKGROUND /* the background thread will deliver the result */
} shoal__driver_left_t;

/* The background thread: run the loop while it is to, until the client is gone. */
void shoal__driver_run(shoal_client_t *client);

/* A thread in a blocking call, which begins or goes on: may it drive?  If so it is the
 * loop thread (waiter->has_loop), and shoal__driver_poll_alone(), _leave() or _release()
 * must follow. */
bool shoal__driver_take(shoal_client_t *client, shoal__waiter_t *waiter);
/* may_poll: also if the thread is alone and does not stay awake. */
bool shoal__driver_take_locked(shoal_client_t *client, shoal__waiter_t *waiter,
                               bool may_poll);
/* Likewise, if nothing but this thread's own command is outstanding. */
bool shoal__driver_take_alone_locked(shoal_client_t *client, shoal__waiter_t *waiter);
/* It has nothing to drive for. */
void shoal__driver_release(shoal_client_t *client, shoal__waiter_t *waiter);
/* It leaves the loop, after a turn. */
shoal__driver_left_t shoal__driver_leave(shoal_client_t *client,
                                         shoal__waiter_t *waiter);
/* It is alone: poll until the result is there, until_us at most.  False: the background
 * thread took over. */
bool shoal__driver_poll_alone(shoal_client_t *client, shoal__waiter_t *waiter,
                              uint64_t until_us);

/* The end of a turn: may the loop sleep until wake_us? */
bool shoal__driver_may_sleep(shoal_client_t *client, uint64_t wake_us);

/* Results were delivered: wake the threads that wait for them.  If the loop is about
 * to be parked, wake them after that, so that they can drive. */
void shoal__driver_delivered(shoal_client_t *client);

#endif
