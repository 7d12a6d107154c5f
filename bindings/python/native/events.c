/* SPDX-License-Identifier: MIT */
#include "events.h"

#include <string.h>

/* `to` has room for `bytes`, and its last byte is 0. */
static void keep_text(char *to, const char *text, size_t bytes)
{
    strncpy(to, text, bytes - 1);
}

void shoalpy_events_keep(shoalpy_events_t *events, const shoal_event_t *event)
{
    shoalpy_event_t *kept = &events->list[events->seen++ % SHOALPY_EVENTS];

    kept->kind = (int)shoal_event_kind(event);
    kept->status = shoal_event_status(event);
    kept->delay_us = shoal_event_delay_us(event);
    kept->epoch = shoal_event_epoch(event);
    kept->connection = shoal_event_connection(event);
    keep_text(kept->detail, shoal_event_detail(event), sizeof kept->detail);
    keep_text(kept->server, shoal_event_server(event), sizeof kept->server);
}

size_t shoalpy_events_take(shoalpy_events_t *events, shoalpy_event_t *taken,
                           size_t count_max, uint64_t *ret_lost)
{
    size_t count = 0;

    *ret_lost = 0;
    if (events->seen - events->told > SHOALPY_EVENTS) {
        *ret_lost = events->seen - events->told - SHOALPY_EVENTS;
        events->told += *ret_lost;
    }
    while (count < count_max && events->told < events->seen)
        taken[count++] = events->list[events->told++ % SHOALPY_EVENTS];
    return count;
}
