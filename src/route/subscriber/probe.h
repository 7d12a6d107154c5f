/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_PROBE_H
#define SHOAL_ROUTE_SUBSCRIBER_PROBE_H

/*
 * The echo probe of a connection: core/push/probe_rule.h says what it is for, and when.
 *
 * The connection subscribes to a private channel, `__shoal:` and 16 digits, when its first names
 * are confirmed and nothing else is asked.  The registry does not know that channel.  The
 * hook on_probe publishes to it.
 *
 * Loop thread.
 */

#include "core/push/probe_rule.h"
#include "core/push/subscriptions.h"
#include "net/conn.h"
#include "route/probe_slip.h"
#include "route/subscriber/reception.h"
#include "route/subscriber/relay.h"

/* Of a node of a cluster. */
typedef struct shoal__probe_ops {
    /* Is the channel to be one of a shard? */
    bool (*has_shards)(void *owner);
    /* ... then: is it one of this node's? */
    bool (*is_here)(void *owner, shoal__bytes_t channel);
} shoal__probe_ops_t;

typedef struct shoal__probe {
    shoal__conn_t *conn;                   /* borrowed */
    shoal__subscriptions_t *subscriptions; /* borrowed: its registry */
    shoal__reception_t *reception; /* borrowed: who publishes, how often, figures */
    const shoal__probe_ops_t *ops; /* NULL: one server */
    void *owner;                   /* of ops */
    uint64_t number;               /* of channels so far: answers name theirs */
    bool is_asking;                /* SUBSCRIBE stands in the pipe */
    bool is_joined;                /* the server confirmed the channel */
    bool is_shard;                 /* it is one of a shard */
    uint64_t ask_us;               /* not before: the server refused it for now */
    uint64_t heard_us;             /* when a message came last, whatever its channel */
    uint64_t sent_us;              /* the probe under way; NEVER: there is none */
    unsigned restarts;             /* in a row */
    shoal__probe_slip_t *slip;     /* of the probe under way ... */
    uint32_t prober;               /* ... and which prober it was left to */
    char channel[SHOAL__RELAY_CHANNEL_BYTES + 1];
} shoal__probe_t;

/* Its operations, of a node of a cluster, are set afterwards. */
void shoal__probe_init(shoal__probe_t *probe, shoal__conn_t *conn,
                       shoal__subscriptions_t *subscriptions,
                       shoal__reception_t *reception);
void shoal__probe_release(shoal__probe_t *probe);

/* Does the connection have the channel, or ask for it? */
static inline bool shoal__probe_is_there(const shoal__probe_t *probe)
{
    return probe->is_asking || probe->is_joined;
}

/* There is another connection, or none: no server knows the channel. */
void shoal__probe_reset(shoal__probe_t *probe);

/* The hook is_answered of the connection: the request whose turn it is may be the probe's, the
 * relay's or the registry's. */
bool shoal__probe_is_answered(const shoal__probe_t *probe, const shoal__relay_t *relay);

/* A push came.  True: it is the probe's alone. */
bool shoal__probe_takes(shoal__probe_t *probe, const shoal__push_t *push);

/* What is due.  True: the connection leads nowhere and is to be made new,
 * shoal__probe_restart().  ret_wake_us: when to look again. */
bool shoal__probe_turn(shoal__probe_t *probe, uint64_t now_us, uint64_t *ret_wake_us);
void shoal__probe_restart(shoal__probe_t *probe);

#endif
