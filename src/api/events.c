/* SPDX-License-Identifier: MIT */
#include <shoal/events.h>

#include "core/event.h"

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

uint64_t shoal_event_connection(const shoal_event_t *event)
{
    return event->connection;
}

const char *shoal_event_server(const shoal_event_t *event)
{
    return event->server;
}
