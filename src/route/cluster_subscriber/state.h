/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_SUBSCRIBER_STATE_H
#define SHOAL_ROUTE_CLUSTER_SUBSCRIBER_STATE_H

/*
 * What the route of a pubsub in a cluster consists of.
 *
 * A *site* is a connection to one node, with a registry of the names that are to be there.
 * Two listeners of that registry stand for all subscriptions: one for names of their own
 * kind, one for KEYSPACE.  Who really listens is in the audience.
 *
 * A site keeps its memory until the route is freed: other threads read its figures.
 *
 * Loop thread, but for the post and the counters.
 */

#include "core/push/audience.h"
#include "core/push/placement.h"
#include "core/push/subscriptions.h"
#include "route/cluster/state.h"
#include "route/subscriber/keyspace.h"
#include "route/subscriber/probe.h"
#include "route/subscriber/reception.h"
#include "route/subscriber/relay.h"
#include "route/subscriber/requests.h"

typedef struct shoal__site {
    struct shoal__cluster_subscriber *owner;
    unsigned index;  /* of the node, as long as that is at this address */
    bool is_primary; /* the node owns slots */
    shoal__endpoint_t endpoint;
    shoal__target_t target;
    shoal__address_t by; /* of the node that named it */
    char host[SHOAL__NODE_HOST_BYTES], hostname[SHOAL__NODE_HOST_BYTES];
    char name[SHOAL__TARGET_NAME_BYTES];
    shoal__conn_t conn;
    shoal__subscriptions_t subscriptions;
    shoal__asker_t asker;
    shoal__relay_t relay;
    shoal__keyspace_t keyspaces;
    shoal__probe_t probe;
    shoal__listener_t own, keyspace;
    uint64_t epoch;         /* the connection's that was ready last */
    uint64_t idle_since_us; /* no name is to be here since then; NEVER: one is */
} shoal__site_t;

typedef struct shoal__cluster_subscriber {
    shoal__route_t route; /* first: what the client holds */
    shoal__route_hooks_t hooks;
    void *owner; /* of the hooks */
    shoal__cluster_t *cluster;
    shoal__conn_config_t config; /* of sites; a copy of the cluster's, with its TLS */
    shoal__loop_t *loop;
    bool is_open;       /* the cluster is */
    bool is_probe_auto; /* a server of its own is not probed */
    shoal__reception_t reception;
    shoal__audience_t audience;
    shoal__list_t fresh;  /* topics that are to be placed */
    shoal__list_t later;  /* ... and those that could not be, or were refused */
    uint64_t again_us;    /* when the latter are tried, if no slot moves before */
    uint64_t pause_us;    /* between two attempts */
    uint64_t look_us;     /* look then whether there are other primaries */
    uint64_t map_changes; /* of the cluster, that were heeded */
    uint16_t primaries[SHOAL__NODES_MAX]; /* by that map; or the one server */
    unsigned primaries_count;
    uint64_t epoch; /* of marks: the connection's that caused them */
    _Atomic unsigned sites_count;
    _Atomic(shoal__site_t *) sites[SHOAL__NODES_MAX];
} shoal__cluster_subscriber_t;

static inline unsigned shoal__sites_count(const shoal__cluster_subscriber_t *subscriber)
{
    return atomic_load_explicit(&subscriber->sites_count, memory_order_acquire);
}

static inline shoal__site_t *
shoal__site_at(const shoal__cluster_subscriber_t *subscriber, unsigned at)
{
    return atomic_load_explicit(&subscriber->sites[at], memory_order_relaxed);
}

/* ---- site.c ---- */

/* The one at the address of this node; NULL: there is none. */
shoal__site_t *shoal__site_find(const shoal__cluster_subscriber_t *subscriber,
                                const shoal__node_t *node);
/* ... it is made then.  NULL: no memory. */
shoal__site_t *shoal__site_of(shoal__cluster_subscriber_t *subscriber,
                              const shoal__node_t *node);
/* The node that is at the site's address; NULL: it has left. */
shoal__node_t *shoal__site_node(const shoal__site_t *site);
void shoal__site_free(shoal__site_t *site);

/* A topic of the audience is to be there; 0 or SHOAL_ENOMEM.  It is not to be there. */
int shoal__site_add(shoal__site_t *site, const shoal__topic_t *topic);
void shoal__site_remove(shoal__site_t *site, const shoal__topic_t *topic);
/* Is it to be there?  Has the node confirmed it? */
bool shoal__site_has(const shoal__site_t *site, const shoal__topic_t *topic);
bool shoal__site_confirms(const shoal__site_t *site, const shoal__topic_t *topic);

/* Connect, hang up, and ask for names.  Returns when to look again; so does the relay, behind the
 * turn of the connections. */
uint64_t shoal__site_turn(shoal__site_t *site, uint64_t now_us);
void shoal__site_shut(shoal__site_t *site, uint64_t now_us);

/* ---- answers.c ---- */

/* The hooks of the registry, the asker and the connection. */
void shoal__site_on_mark(void *owner, shoal__listener_t *listener, shoal_item_t *mark);
void shoal__site_on_refused(shoal__asker_t *asker, shoal__bytes_t *error);
void shoal__site_on_message(void *owner, const shoal__push_t *push);
/* Its connection is gone. */
void shoal__site_lost(shoal__site_t *site, const char *detail);

/* ---- placing.c ---- */

extern const shoal__audience_hooks_t shoal__cluster_subscriber_hooks;

/* Place topics that are new; all of them, if slots have other owners. */
void shoal__topics_place(shoal__cluster_subscriber_t *subscriber, uint64_t now_us);
/* Topics of the site are refused: they are placed anew after a while. */
void shoal__topic_put_off(shoal__cluster_subscriber_t *subscriber,
                          shoal__topic_t *topic, uint64_t now_us);
/* Is the topic confirmed at every site where it is to be? */
bool shoal__topic_is_whole(const shoal__cluster_subscriber_t *subscriber,
                           const shoal__topic_t *topic);

#endif
