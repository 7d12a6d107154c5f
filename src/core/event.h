/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_EVENT_H
#define SHOAL_CORE_EVENT_H

/* The event of a connection that callbacks receive. */

#include <shoal/events.h>

struct shoal_event {
    shoal_event_kind_t kind;
    int status;         /* LOST, ATTEMPT_FAILED: why; else 0 */
    const char *detail; /* a line of text, never NULL; dies with the callback */
    uint64_t delay_us;  /* RETRYING: until the next attempt; else 0 */
    uint64_t epoch;     /* number of the attempt among all of this connection, from 1 */
    uint64_t connection; /* number of the connection in its client, from 1 */
    const char *server;  /* "host:port", "[::1]:6379" or the path of a Unix socket */
};

#endif
