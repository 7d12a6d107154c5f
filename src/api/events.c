/* SPDX-License-Identifier: MIT */
#include <shoal/events.h>

#include "core/event.h"

shoal_event_kind_t shoal_event_kind(const shoal_event_t *event)
{
    return event ? event->kind : SHOAL_EVENT_CONNECTED;
}

int shoal_event_status(const shoal_event_t *event)
{
    return event ? event->status : 0;
}

const char *shoal_event_detail(const shoal_event_t *event)
{
    return event ? event->detail : "";
}

uint64_t shoal_event_delay_us(const shoal_event_t *event)
{
    return event ? event->delay_us : 0;
}

uint64_t shoal_event_epoch(const shoal_event_t *event)
{
    return event ? event->epoch : 0;
}

uint64_t shoal_event_connection(const shoal_event_t *event)
{
    return event ? event->connection : 0;
}

const char *shoal_event_server(const shoal_event_t *event)
{
    return event ? event->server : "";
}
