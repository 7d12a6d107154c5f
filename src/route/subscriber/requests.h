/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_REQUESTS_H
#define SHOAL_ROUTE_SUBSCRIBER_REQUESTS_H

/* What a server is asked.  Loop thread. */

#include "core/push/subscriptions.h"
#include "net/conn.h"

typedef struct shoal__asker {
    shoal__conn_t *conn;
    shoal__pipe_t *pipe; /* of conn: its own, or its successor's */
    shoal__subscriptions_t *subscriptions;
    /* The server refused the oldest request.  It may change the error, which the registry
     * hears then.  NULL: nothing. */
    void (*on_refused)(struct shoal__asker *asker, shoal__bytes_t *error);
} shoal__asker_t;

/* Send the requests that the registry has, each with a PING behind it.  False: no memory. */
bool shoal__asker_ask(shoal__asker_t *asker, uint64_t now_us);

#define SHOAL__HEX_DIGITS 16

/* All 16 digits, without a NUL. */
void shoal__write_hex(uint64_t number, char digits[SHOAL__HEX_DIGITS]);

#endif
