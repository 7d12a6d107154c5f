/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_DRIVER_H
#define SHOAL_CLIENT_DRIVER_H

/* Which thread runs the loop of a client that was opened with a thread of its own.
 * core/driver_token.c decides, and net/driver_seat.c keeps the token.  This file tells
 * both what the loop saw, and runs the loop. */

#include <shoal/client.h>
#include <stdbool.h>
#include <stdint.h>

/* The background thread: run the loop while it is to, until the client is gone. */
void shoal__driver_run(shoal_client_t *client);

/* A blocking call begins: may this thread drive?  If so it is the loop thread, and
 * shoal__driver_drive() or shoal__driver_release() must follow. */
bool shoal__driver_take(shoal_client_t *client);
/* It has nothing to drive for. */
void shoal__driver_release(shoal_client_t *client);
/* Run the loop until the caller's result is there, until_us at most.  False: the
 * background thread took over, and delivers it. */
bool shoal__driver_drive(shoal_client_t *client, uint64_t until_us);

/* The end of a turn: may the loop sleep until wake_us? */
bool shoal__driver_may_sleep(shoal_client_t *client, uint64_t wake_us);

/* Results were delivered: wake the threads that wait for them.  If the loop is about
 * to be parked, wake them after that, so that they can drive. */
void shoal__driver_delivered(shoal_client_t *client);

#endif
