/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_NODES_H
#define SHOAL_ROUTE_CLUSTER_NODES_H

/*
 * The nodes of a cluster that a client has heard of.  A node keeps its number, and its
 * memory until the client is freed: other threads read its figures.
 *
 * Threads: the loop thread, but for shoal__nodes_each().
 */

#include "route/cluster/node.h"
#include "route/route.h"

#define SHOAL__NODES_MAX 1024

typedef struct shoal__nodes {
    shoal__node_plan_t plan;
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

/* The node at this address; a new one if there is none, which `by` named (NULL: the
 * program).  NULL: no memory, or there are too many. */
shoal__node_t *shoal__nodes_find(shoal__nodes_t *nodes, const char *host, int port,
                                 const shoal__address_t *by);
/* The node with this id that was listed last; NULL: none. */
shoal__node_t *shoal__nodes_with_id(const shoal__nodes_t *nodes, const char *id);

/* A random one that is ready, not silent, and owns slots (or, if none does, that is ready), not this
 * one (NULL: any).  NULL: there is none. */
shoal__node_t *shoal__nodes_pick(const shoal__nodes_t *nodes,
                                 const shoal__node_t *not_this,
                                 shoal__random_t *random);

/* Visit the figures of each.  Any thread. */
void shoal__nodes_each(const shoal__nodes_t *nodes, shoal__route_visit_fn visit,
                       void *data);

/* After shut, or if nothing was opened. */
void shoal__nodes_release(shoal__nodes_t *nodes);

#endif
