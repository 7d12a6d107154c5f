/* SPDX-License-Identifier: MIT */
#include "api/client.h"

#include <assert.h>
#include <stdio.h>

struct shoal_event {
    shoal_event_kind_t kind;
    int status;
    const char *detail;
    uint64_t delay_us;
    uint64_t epoch;
};

shoal_event_kind_t shoal_event_kind(const shoal_event_t *event)
{
    return event->kind;
}

int shoal_event_status(const shoal_event_t *event)
{
    return event->status;
}

const char *shoal_event_detail(const shoal_event_t *event)
{
    return event->detail;
}

uint64_t shoal_event_delay_us(const shoal_event_t *event)
{
    return event->delay_us;
}

uint64_t shoal_event_epoch(const shoal_event_t *event)
{
    return event->epoch;
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
    case SHOAL_EVENT_RETRYING:
        level = SHOAL_LOG_DEBUG;
        snprintf(line, sizeof line, "next attempt in %llu us",
                 (unsigned long long)event->delay_us);
        break;
    }
    if (level <= options->log_level)
        options->on_log(level, line, options->log_data);
}

/* Tell those who wait for the connection. */
static void publish(shoal__inbox_t *inbox, const shoal_event_t *event)
{
    shoal__inbox_lock(inbox);
    if (event->kind == SHOAL_EVENT_READY) {
        inbox->is_ready = true;
        inbox->last_status = 0;
    } else if (event->kind == SHOAL_EVENT_LOST) {
        inbox->is_ready = false;
        inbox->last_status = event->status;
    }
    if (inbox->waiting)
        uv_cond_broadcast(&inbox->changed);
    shoal__inbox_unlock(inbox);
}

static void tell(shoal_client_t *client, const shoal_event_t *event)
{
    if (client->options->on_log)
        log_event(client->options, event);
    if (client->options->on_event)
        client->options->on_event(client, event, client->options->event_data);
    publish(&client->inbox, event); /* last: who waited finds the event reported */
}

/* The thread of a direct call may hold locks of the user's: callbacks are not for it.
 * It hands over when it holds an event, so that these are all. */
static void hold(shoal_client_t *client, const shoal_event_t *event)
{
    shoal__held_event_t *held = &client->held[client->held_count];

    assert(client->held_count < SHOAL__HELD_EVENTS_MAX);
    if (client->held_count == SHOAL__HELD_EVENTS_MAX)
        return;
    *held = (shoal__held_event_t){.kind = event->kind,
                                  .status = event->status,
                                  .delay_us = event->delay_us,
                                  .epoch = event->epoch};
    snprintf(held->detail, sizeof held->detail, "%s", event->detail);
    client->held_count++;
}

void shoal__client_tell_held(shoal_client_t *client)
{
    unsigned count = client->held_count;

    client->held_count = 0;
    for (unsigned i = 0; i < count; i++) {
        const shoal__held_event_t *held = &client->held[i];
        const shoal_event_t event = {.kind = held->kind,
                                     .status = held->status,
                                     .detail = held->detail,
                                     .delay_us = held->delay_us,
                                     .epoch = held->epoch};
        tell(client, &event);
    }
}

void shoal__client_on_event(void *owner, shoal_event_kind_t kind, int status,
                            const char *detail, uint64_t delay_us)
{
    shoal_client_t *client = owner;
    const shoal_event_t event = {.kind = kind,
                                 .status = status,
                                 .detail = detail,
                                 .delay_us = delay_us,
                                 .epoch = client->route.conn.epoch};

    if (client->is_direct)
        hold(client, &event);
    else
        tell(client, &event);
}
