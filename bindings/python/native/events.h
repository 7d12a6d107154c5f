/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_EVENTS_H
#define SHOAL_PYTHON_EVENTS_H

/*
 * The last events of a client or a pubsub, kept until Python takes them.  The caller holds
 * a lock around each call.
 */

#include <shoal/shoal.h>
#include <stddef.h>
#include <stdint.h>

#define SHOALPY_EVENTS 128
#define SHOALPY_DETAIL_BYTES 160
#define SHOALPY_SERVER_BYTES 272 /* a host name, a colon and a port */

/* What happened to the connection; shoal_event_t, kept. */
typedef struct shoalpy_event {
    int kind, status;
    uint64_t delay_us, epoch, connection;
    char detail[SHOALPY_DETAIL_BYTES];
    char server[SHOALPY_SERVER_BYTES];
} shoalpy_event_t;

/* Zeroed memory has none. */
typedef struct shoalpy_events {
    uint64_t seen, told;
    shoalpy_event_t list[SHOALPY_EVENTS];
} shoalpy_events_t;

/* Keep a copy; of more than SHOALPY_EVENTS the oldest is lost. */
void shoalpy_events_keep(shoalpy_events_t *events, const shoal_event_t *event);

/* Take up to count_max, oldest first.  Those that were lost for lack of room are counted in
 * ret_lost. */
size_t shoalpy_events_take(shoalpy_events_t *events, shoalpy_event_t *taken,
                           size_t count_max, uint64_t *ret_lost);

#endif
