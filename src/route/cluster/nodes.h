/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_NODES_H
#define SHOAL_ROUTE_CLUSTER_NODES_H

/*
 * The nodes of a cluster that a client has heard of.  A node keeps its number until it is
 * forgotten, and its memory until the client is freed: other threads read its figures.
 *
 * Threads: the loop thread, but for shoal__nodes_each() and _describe().  What those read is
 * written under the lock.
 */

#include "route/cluster/node.h"
#include "route/route.h"
#include <pthread.h>

#define SHOAL__NODES_MAX 1024

typedef struct shoal__nodes {
    shoal__node_plan_t plan;
    pthread_mutex_t lock; /* a leaf: of ids, roles and the number of nodes */
    unsigned known;       /* of them, without those that were forgotten */
    _Atomic unsigned count;
    _Atomic(shoal__node_t *) items[SHOAL__NODES_MAX];
} shoal__nodes_t;

static inline unsigned shoal__nodes_count(const shoal__nodes_t *nodes)
{
    return atomic_load_explicit(&nodes->count, memory_order_acquire);
}

static inline shoal__node_t *shoal__nodes_at(const shoal__nodes_t *nodes,
                                             unsigned index)
{
    return atomic_load_explicit(&nodes->items[index], memory_order_relaxed);
}

/* The node of this connection; NULL: it is another one of the client's. */
static inline shoal__node_t *shoal__nodes_of(const shoal__nodes_t *nodes,
                                             const shoal__conn_t *conn)
{
    shoal__node_t *node = conn->id >= 1 && conn->id <= shoal__nodes_count(nodes)
                              ? shoal__nodes_at(nodes, (unsigned)conn->id - 1)
                              : NULL;

    return node && &node->conn == conn ? node : NULL;
}

/* All connections to nodes, by numbers below twice that of the nodes; NULL: this one is the bulk
 * lane of a node that has none. */
static inline shoal__conn_t *shoal__nodes_conn(const shoal__nodes_t *nodes,
                                               unsigned number)
{
    shoal__node_t *node = shoal__nodes_at(nodes, number / 2);
    shoal__bulk_t *bulk = shoal__node_bulk(node);

    if (number % 2 == 0)
        return &node->conn;
    return bulk ? &bulk->conn : NULL;
}

/* The bulk lane of the node, which has none yet; it is not open.  NULL: no memory. */
shoal__bulk_t *shoal__nodes_make_bulk(shoal__nodes_t *nodes, shoal__node_t *node);

/* 0 or SHOAL_ENOMEM. */
int shoal__nodes_init(shoal__nodes_t *nodes, const shoal__node_plan_t *plan);

/* The node at this address, or with this alias, rather than one that no view lists; a new one if
 * there is none, which `by` named (NULL: the program).  NULL: no memory, or there are too many. */
shoal__node_t *shoal__nodes_find(shoal__nodes_t *nodes, const char *host, int port,
                                 const shoal__address_t *by);
/* The node at an address that the node `by` named, as the program wants it to be reached. */
shoal__node_t *shoal__nodes_named(shoal__nodes_t *nodes, const char *host, int port,
                                  const shoal__node_t *by);
/* The node with this id, which `by` named with this address.  If it is connected elsewhere, or
 * will be soon, the address is an alias of it; else the address counts.  The port is known.
 * As _named. */
shoal__node_t *shoal__nodes_identify(shoal__nodes_t *nodes,
                                     const shoal__slots_node_t *named,
                                     const shoal__node_t *by);
/* A node says which name the host has: it is an alias, and the name in the certificate. */
void shoal__nodes_set_hostname(shoal__node_t *node, const char *hostname);
/* The node with this id that was listed last; NULL: none. */
shoal__node_t *shoal__nodes_with_id(const shoal__nodes_t *nodes, const char *id);

/* A random one that is ready, not silent, and owns slots (or, if none does, that is ready), not this
 * one (NULL: any); for a question one that owes no answer to an earlier one.  NULL: there is none. */
shoal__node_t *shoal__nodes_pick(const shoal__nodes_t *nodes,
                                 const shoal__node_t *not_this, bool is_question,
                                 shoal__random_t *random);

/* Nothing refers to the node: the next new one gets its place. */
void shoal__nodes_forget(shoal__nodes_t *nodes, shoal__node_t *node);

/* What other threads read of nodes stays as it is between these.  Any thread. */
void shoal__nodes_lock(shoal__nodes_t *nodes);
void shoal__nodes_unlock(shoal__nodes_t *nodes);

/* Visit the figures of each.  Any thread, with the lock. */
void shoal__nodes_each(const shoal__nodes_t *nodes, shoal__route_visit_fn visit,
                       void *data);

/* How many commands took bulk lanes, and have their results.  Any thread, with the lock. */
uint64_t shoal__nodes_bulk_commands(const shoal__nodes_t *nodes);

/* The view that is believed lists the node with this id; NULL: it does not. */
void shoal__nodes_list(shoal__nodes_t *nodes, shoal__node_t *node, const char *id);
void shoal__nodes_set_role(shoal__nodes_t *nodes, shoal__node_t *node,
                           shoal_node_role_t role, unsigned primary);

/* Add the nodes, and who owns each slot.  Any thread.  0 or SHOAL_ENOMEM. */
int shoal__nodes_describe(shoal__nodes_t *nodes, const shoal__slot_map_t *map,
                          shoal_topology_snapshot_t *snapshot);

/* After shut, or if nothing was opened. */
void shoal__nodes_release(shoal__nodes_t *nodes);

#endif
