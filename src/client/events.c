/* SPDX-License-Identifier: MIT */
#include "client/events.h"

#include "base/alloc.h"
#include <stdio.h>

void shoal__events_init(shoal__events_t *events, shoal_client_t *client,
                        const shoal_options_t *options, shoal__gate_t *gate)
{
    *events = (shoal__events_t){.client = client, .options = options, .gate = gate};
}

static void log_event(const shoal_options_t *options, const shoal_event_t *event)
{
    shoal_log_level_t level = SHOAL_LOG_INFO;
    char line[400] = "";

    switch (event->kind) {
    case SHOAL_EVENT_CONNECTED:
        level = SHOAL_LOG_DEBUG;
        snprintf(line, sizeof line, "connected to %s", event->detail);
        break;
    case SHOAL_EVENT_READY:
        snprintf(line, sizeof line, "ready: %s", event->detail);
        break;
    case SHOAL_EVENT_LOST:
        level = SHOAL_LOG_WARN;
        snprintf(line, sizeof line, "lost: %s", event->detail);
        break;
    case SHOAL_EVENT_ATTEMPT_FAILED:
        level = SHOAL_LOG_WARN;
        snprintf(line, sizeof line, "no connection: %s", event->detail);
        break;
    case SHOAL_EVENT_TLS_FILES:
        level = SHOAL_LOG_ERROR;
        snprintf(line, sizeof line, "the files of TLS: %s", event->detail);
        break;
    case SHOAL_EVENT_TLS_UNVERIFIED:
        level = SHOAL_LOG_WARN;
        snprintf(line, sizeof line, "the certificate was not checked: %s",
                 event->detail);
        break;
    case SHOAL_EVENT_RETRYING:
        level = SHOAL_LOG_DEBUG;
        snprintf(line, sizeof line, "next attempt in %llu us",
                 (unsigned long long)event->delay_us);
        break;
    case SHOAL_EVENT_NODE_DOWN:
    case SHOAL_EVENT_FAILOVER:
    case SHOAL_EVENT_REDIRECT_REFUSED:
    case SHOAL_EVENT_ZONE_UNKNOWN:
    case SHOAL_EVENT_KEYSPACE_OFF:
        level = SHOAL_LOG_WARN;
        snprintf(line, sizeof line, "%s", event->detail);
        break;
    case SHOAL_EVENT_SERVER_CHANGED:
    case SHOAL_EVENT_MAP_CHANGED:
    case SHOAL_EVENT_NODE_UP:
        snprintf(line, sizeof line, "%s", event->detail);
        break;
    case SHOAL_EVENT_CREDENTIALS:
        level = event->status < 0 ? SHOAL_LOG_WARN : SHOAL_LOG_INFO;
        snprintf(line, sizeof line, "credentials: %s", event->detail);
        break;
    case SHOAL_EVENT_MAINTENANCE:
        snprintf(line, sizeof line, "maintenance: %s", event->detail);
        break;
    case SHOAL_EVENT_SENTINELS_LOST:
        level = SHOAL_LOG_WARN;
        snprintf(line, sizeof line, "%s", event->detail);
        break;
    }
    if (level <= options->log_level)
        options->on_log(level, line, options->log_data);
}

/* Tell the threads that wait for readiness.  `status` is that of a loss, else 0. */
static void publish(shoal__gate_t *gate, bool is_ready, int status)
{
    shoal__driver_seat_lock(gate->seat);
    gate->is_ready = is_ready;
    if (is_ready)
        gate->last_status = 0;
    else if (status < 0)
        gate->last_status = status;
    shoal__gate_tell_locked(gate);
    shoal__driver_seat_unlock(gate->seat);
}

/* Does its status say what became of a connection? */
static bool ends_wait(shoal_event_kind_t kind)
{
    return kind != SHOAL_EVENT_TLS_FILES && kind != SHOAL_EVENT_CREDENTIALS;
}

void shoal__events_tell(shoal__events_t *events, const shoal_event_t *event,
                        bool is_ready)
{
    const shoal_options_t *options = events->options;

    if (options->on_log)
        log_event(options, event);
    if (options->on_event)
        options->on_event(events->client, event, options->event_data);
    /* Last: when a thread that waited goes on, the callbacks have run. */
    publish(events->gate, is_ready, ends_wait(event->kind) ? event->status : 0);
}

static bool has_room(shoal__events_t *events)
{
    size_t grown = events->held_room ? events->held_room * 2 : 2;
    shoal__held_event_t *held;

    if (events->held_count < events->held_room)
        return true;
    held = shoal__realloc(events->held, grown * sizeof *held);
    if (!held)
        return false;
    events->held = held;
    events->held_room = grown;
    return true;
}

void shoal__events_hold(shoal__events_t *events, const shoal_event_t *event)
{
    shoal__held_event_t *held;

    events->is_due = true;
    if (!has_room(events))
        return;
    held = &events->held[events->held_count++];
    held->event = *event;
    snprintf(held->detail, sizeof held->detail, "%s", event->detail);
    snprintf(held->server, sizeof held->server, "%s", event->server);
}

void shoal__events_tell_held(shoal__events_t *events, bool is_ready)
{
    size_t count = events->held_count;

    if (!events->is_due)
        return;
    events->is_due = false;
    events->held_count = 0;
    for (size_t i = 0; i < count; i++) {
        shoal_event_t event = events->held[i].event;
        event.detail = events->held[i].detail;
        event.server = events->held[i].server;
        shoal__events_tell(events, &event, is_ready);
    }
    publish(events->gate, is_ready, 0); /* also for one that could not be held */
}

void shoal__events_release(shoal__events_t *events)
{
    shoal__free(events->held);
    events->held = NULL;
}
