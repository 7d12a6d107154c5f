/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_RELAY_H
#define SHOAL_ROUTE_SUBSCRIBER_RELAY_H

/*
 * The renewal of a subscriber's connection without a gap, if its successor leads to the same
 * process: core/push/relay_rule.h says how.
 *
 * Meanwhile the registry takes wishes, and asks for nothing.  The copy of it, in which the
 * successor's confirmations are noted, needs memory for each name; it is freed before the
 * successor takes over.
 *
 * Loop thread.
 */

#include "core/push/relay_rule.h"
#include "core/push/subscriptions.h"
#include "net/conn.h"
#include "route/subscriber/requests.h"

#define SHOAL__RELAY_PREFIX "__shoal:"
#define SHOAL__RELAY_CHANNEL_BYTES (sizeof SHOAL__RELAY_PREFIX - 1 + SHOAL__HEX_DIGITS)

typedef struct shoal__relay {
    shoal__conn_t *conn;                   /* borrowed */
    shoal__subscriptions_t *subscriptions; /* borrowed: its registry */
    shoal__relay_stage_t stage;
    shoal__relay_facts_t facts; /* of this stage */
    bool is_barred;             /* the next renewal is to be without a relay */
    uint8_t joined, answered;   /* bits: the present connection, the successor */
    bool has_parted;            /* PARTING: the server says that the channel is gone */
    uint64_t number;            /* of relays so far: answers name theirs */
    uint64_t end_us;            /* it is late then */
    char channel[SHOAL__RELAY_CHANNEL_BYTES + 1], marker[SHOAL__HEX_DIGITS + 1];
    shoal__subscriptions_t copy; /* COPYING */
    shoal__listener_t all;       /* ... listens to all of it */
    shoal__asker_t asker;        /* ... asks for it */
} shoal__relay_t;

static inline void shoal__relay_init(shoal__relay_t *relay, shoal__conn_t *conn,
                                     shoal__subscriptions_t *subscriptions)
{
    *relay = (shoal__relay_t){.conn = conn, .subscriptions = subscriptions};
}

/* The connection's hooks. */
bool shoal__relay_begin(shoal__relay_t *relay, uint64_t now_us);
void shoal__relay_gone(shoal__relay_t *relay);
void shoal__relay_hear_successor(shoal__relay_t *relay, const shoal__push_t *push);

/* Have pushes answered the request whose turn it is: over the present connection, be it the
 * relay's or the registry's; and over the successor (net/conn.h, is_answered)? */
bool shoal__relay_is_answered(const shoal__relay_t *relay);
bool shoal__relay_is_copy_answered(const shoal__relay_t *relay);

/* The connection is ready.  True: it is the successor, and has all names. */
bool shoal__relay_succeeds(shoal__relay_t *relay);
/* It is lost, or closed. */
void shoal__relay_end(shoal__relay_t *relay);

/* A push came over the connection.  True: it is not for the registry or for receivers. */
bool shoal__relay_takes_push(shoal__relay_t *relay, const shoal__push_t *push);
static inline bool shoal__relay_takes(shoal__relay_t *relay, const shoal__push_t *push)
{
    return relay->stage != SHOAL__RELAY_NONE && shoal__relay_takes_push(relay, push);
}

/* What is due, also of the registry's requests, before the turn of the connection.  Returns when
 * to look again; ask behind that turn. */
void shoal__relay_turn(shoal__relay_t *relay, shoal__asker_t *asker, uint64_t now_us);
uint64_t shoal__relay_wake_us(const shoal__relay_t *relay, uint64_t now_us);

#endif
