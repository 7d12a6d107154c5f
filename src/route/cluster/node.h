/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_NODE_H
#define SHOAL_ROUTE_CLUSTER_NODE_H

/*
 * One node of a cluster: its connection, and what is known of it.  A node is dialed at one
 * address.  Other addresses that lead to the same server are its aliases, as long as it is
 * connected at its own.
 *
 * Loop thread, but for the figures of its connection, and what shoal__nodes_describe() reads
 * under the lock of all nodes.
 */

#include "base/time_us.h"
#include "core/address_map.h"
#include "core/cluster/slot_map.h"
#include "core/cluster/slots_reply.h"
#include "net/conn.h"
#include "route/cluster/bulk.h"
#include "route/config.h"
#include "route/role_watch.h"
#include <shoal/replicas.h>
#include <shoal/topology.h>

typedef struct shoal__node_alias {
    char host[SHOAL__NODE_HOST_BYTES];
    int port; /* 0: none */
} shoal__node_alias_t;

/* Reads at the replicas of a primary.  For reading.c. */
typedef struct shoal__readers {
    uint16_t nodes[SHOAL_REPLICAS_MAX]; /* its replicas, by their indices */
    unsigned count, count_before;       /* ... the last list was made */
    _Atomic bool can_read;              /* one was usable, lately; any thread reads */
    bool are_wanted; /* there was a read for them: they are connected */
    shoal__replica_choice_t choice;
    struct shoal__node *chosen; /* by the side of this serial; NULL: none is usable */
    uint64_t serial;
} shoal__readers_t;

/* Nodes of a cluster may disagree whether others are called by name or by address. */
#define SHOAL__NODE_ALIASES 2

typedef struct shoal__node {
    shoal__conn_t conn;
    shoal__target_t target;
    shoal__endpoint_t endpoint; /* of the target */
    _Atomic(shoal__bulk_t *)
        bulk;            /* written under the lock of all nodes; NULL: it had none */
    shoal__address_t by; /* of the node that named it */
    char host[SHOAL__NODE_HOST_BYTES];
    char name[SHOAL__TARGET_NAME_BYTES];
    char hostname
        [SHOAL__NODE_HOST_BYTES];  /* which name the host has, as a node says; "" */
    char id[SHOAL__NODE_ID_BYTES]; /* "": not known */
    bool
        is_sure; /* its connection was not lost since a view had the id at its address */
    shoal__node_alias_t aliases[SHOAL__NODE_ALIASES];
    unsigned next_alias;    /* the place of the next one */
    shoal_node_role_t role; /* as the view says that was believed last */
    unsigned primary;       /* of a replica: its index; SLOT_NOBODY: not known */
    unsigned heir_of;  /* of which it has taken slots, although it was its replica: the
                         program is to hear of that; SLOT_NOBODY */
    void *owner;       /* borrowed: the cluster */
    unsigned index;    /* among the cluster's nodes */
    bool is_forgotten; /* another node may get its place */
    uint64_t unneeded_us; /* nothing needs it since then; 0: something does */
    unsigned slots;       /* that it owns */
    bool is_seed;         /* the program named it */
    bool is_listed;       /* the view that was believed last has it */
    unsigned named_by; /* not listed: the index of the node whose redirect named it */
    uint64_t named_us; /* ... and when, for the first time; 0: none did */
    uint64_t given_us; /* when redirects began to give it the commands that it has */
    uint64_t idle_us;  /* nothing keeps it open since then; 0: something does */
    bool was_up;       /* the program has heard that it is up */
    _Atomic bool is_down; /* ... and then that it is not; any thread reads */
    bool has_failed;      /* says the view that was believed last */
    bool lacks_place;     /* it is not connected because as many others are as may be */
    bool is_silent;       /* commands are unanswered, and it says nothing for a while */
    bool was_lost;        /* its connection, since the last turn */
    unsigned questions;   /* about the slots, which it has not answered */
    bool is_leased;       /* a lease has a connection to it, or waits for one */
    unsigned share;       /* its number among the shares, while commands are placed */
    shoal__readers_t readers;  /* of a primary */
    shoal__role_watch_t watch; /* of a replica that is read from */
} shoal__node_t;

/* What all nodes of a client have together; all of it borrowed. */
typedef struct shoal__node_plan {
    const shoal__conn_config_t *config;
    const shoal__conn_config_t *bulk_config;
    const shoal__conn_hooks_t *hooks, *bulk_hooks; /* their owner is the node */
    const shoal__address_map_t *map;               /* for what nodes name */
    const shoal__target_t *origin;                 /* whose credentials the nodes get */
    const char *zone; /* whose replicas are preferred; NULL: any */
    shoal__conn_set_t *set;
    void *owner;
} shoal__node_plan_t;

/* by: the address of the node that named it; NULL: the program did.  NULL: no memory. */
shoal__node_t *shoal__node_new(const shoal__node_plan_t *plan, unsigned index,
                               const char *host, int port, const shoal__address_t *by);
void shoal__node_free(shoal__node_t *node);
/* It is another node from now on, with the same number and connection, which is closed. */
void shoal__node_renew(shoal__node_t *node, const shoal__node_plan_t *plan,
                       const char *host, int port, const shoal__address_t *by);

static inline bool shoal__node_is_open(const shoal__node_t *node)
{
    return node->conn.state != SHOAL__CONN_IDLE &&
           node->conn.state != SHOAL__CONN_CLOSED;
}

/* May commands be for this very node? */
static inline bool shoal__node_is_known(const shoal__node_t *node)
{
    return node->slots > 0 || node->is_listed || node->is_seed;
}

static inline bool shoal__node_is_ready(const shoal__node_t *node)
{
    return node->conn.pipe.phase == SHOAL__PIPE_READY && !node->conn.pipe.is_offline;
}

/* Since when it owes an answer over this connection and says nothing; NEVER: it owes nothing. */
static inline uint64_t shoal__node_heard_us(const shoal__conn_t *conn)
{
    const shoal__pipe_t *pipe = &conn->pipe;

    if (pipe->phase != SHOAL__PIPE_READY || pipe->is_offline ||
        shoal__pipe_due(pipe) == pipe->ring.sent)
        return SHOAL__NEVER_US;
    return shoal__time_max(pipe->heard_us, pipe->waiting_since_us);
}

/* NULL: it has no bulk lane, or never had one. */
static inline shoal__bulk_t *shoal__node_bulk(const shoal__node_t *node)
{
    return atomic_load_explicit(&node->bulk, memory_order_relaxed);
}

/* When it is silent, if nothing comes before; NEVER.  A lane that waits says nothing of a node
 * that answers elsewhere. */
#define SHOAL__NODE_SILENT_US 500000
uint64_t shoal__node_silent_us(const shoal__node_t *node);

/* When this connection to it is given up if it has lost slots, or has left the cluster, so that
 * commands do not wait for it; NEVER: it owes nothing. */
uint64_t shoal__node_given_up_us(const shoal__node_t *node, const shoal__conn_t *conn);

/* Is nothing outstanding? */
static inline bool shoal__node_is_empty(const shoal__node_t *node)
{
    return node->conn.pipe.ring.head == node->conn.pipe.ring.tail &&
           shoal__pipe_held(&node->conn.pipe) == 0;
}

#endif
