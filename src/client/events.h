/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_EVENTS_H
#define SHOAL_CLIENT_EVENTS_H

/*
 * Passes the events of connections on to the user's callbacks, to the log and to the
 * threads that wait for readiness.
 *
 * A thread in a blocking call may hold locks of the user, so no callback runs on that
 * thread.  While such a thread drives the loop, this file holds the events back, and
 * the background thread tells them later.
 */

#include "core/event.h"
#include "core/options.h"
#include "net/gate.h"

/* An event that is told later, on another thread. */
typedef struct shoal__held_event {
    shoal_event_t event; /* but for its texts */
    char detail[256];
    char server[272];
} shoal__held_event_t;

typedef struct shoal__events {
    shoal_client_t *client; /* only handed to callbacks */
    const shoal_options_t *options;
    shoal__gate_t *gate;
    shoal__held_event_t *held; /* in order */
    size_t held_count, held_room;
    bool is_due; /* an event was held, or could not be: the driver is to hand over */
} shoal__events_t;

void shoal__events_init(shoal__events_t *events, shoal_client_t *client,
                        const shoal_options_t *options, shoal__gate_t *gate);

void shoal__events_release(shoal__events_t *events);

/* Loop thread: tell the event at once.  is_ready: can the client send now? */
void shoal__events_tell(shoal__events_t *events, const shoal_event_t *event,
                        bool is_ready);
/* Loop thread: keep the event for later.  Without memory for it no callback hears of
 * it. */
void shoal__events_hold(shoal__events_t *events, const shoal_event_t *event);

/* Loop thread, not in a direct call: tell what was held. */
void shoal__events_tell_held(shoal__events_t *events, bool is_ready);

#endif
