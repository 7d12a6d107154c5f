/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_KEYSPACE_H
#define SHOAL_ROUTE_SUBSCRIBER_KEYSPACE_H

/*
 * Asks a server, once, whether it sends events of keys (core/push/keyspace_rule.h), and tells by
 * SHOAL_EVENT_KEYSPACE_OFF if it does not.  An answer that never comes, or is an error, tells
 * nothing.
 *
 * Loop thread.
 */

#include "core/push/keyspace_rule.h"
#include "core/push/subscriptions.h"
#include "net/conn.h"
#include "route/config.h"

typedef struct shoal__keyspace {
    shoal__keyspace_rule_t rule;
    shoal__conn_t *conn;                   /* borrowed */
    char server[SHOAL__TARGET_NAME_BYTES]; /* that the rule is about */
} shoal__keyspace_t;

/* Before the requests of a turn: in RESP2 a connection with a subscription takes no other
 * commands.  is_probed: it has the channel of a probe, or asks for it. */
void shoal__keyspace_turn(shoal__keyspace_t *keyspace,
                          const shoal__subscriptions_t *subscriptions, bool is_probed,
                          uint64_t now_us);

#endif
