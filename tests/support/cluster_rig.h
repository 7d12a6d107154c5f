/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_CLUSTER_RIG_H
#define SHOAL_TESTS_CLUSTER_RIG_H

/* A cluster of three primaries with a replica each: real servers on loopback ports, which end
 * with the test, however it ends.  A node that is silent for 1.5 s is taken for dead. */

#include "cluster_nodes/cluster_nodes.h"
#include "support/loopback_port.h"
#include "support/redis_process.h"
#include <shoal/shoal.h>
#include <stdbool.h>
#include <stddef.h>

#define CLUSTER_PRIMARIES 3
#define CLUSTER_NODES 6

typedef struct cluster_node {
    redis_process_t *server;
    loopback_port_t bus;
    char bus_text[12];
    char id[CLUSTER_ID_BYTES];
    const char *arguments[CLUSTER_NODE_OPTIONS];
} cluster_node_t;

typedef struct cluster_rig {
    cluster_node_t
        nodes[CLUSTER_NODES]; /* the primaries first, node i + 3 a replica of i */
} cluster_rig_t;

/* Start them, and wait until all nodes agree.  NULL: there is no redis-server to start. */
cluster_rig_t *cluster_rig_start(void);
void cluster_rig_stop(cluster_rig_t *rig); /* NULL is allowed */

int cluster_rig_port(const cluster_rig_t *rig, size_t node);
/* Options of a client that knows this node. */
shoal_options_t *cluster_rig_options(const cluster_rig_t *rig, size_t seed);

/* Which node owns the slot of this key, as `by` says?  CLUSTER_NODES: it does not say. */
size_t cluster_rig_owner(const cluster_rig_t *rig, size_t by, const char *key);
/* Wait until all nodes that run name this owner. */
void cluster_rig_await_owner(const cluster_rig_t *rig, const char *key, size_t owner);
/* Does this node take itself for a primary? */
bool cluster_rig_is_primary(const cluster_rig_t *rig, size_t node);
/* Wait until all nodes that run take the cluster for whole, and replicas are in touch with
 * their primaries. */
void cluster_rig_await_calm(const cluster_rig_t *rig);

/* The steps of moving a slot by hand: both ends are told; one of its keys goes over (false:
 * there is none any more); both are told who the owner is, or the move is given up. */
void cluster_rig_begin_move(const cluster_rig_t *rig, unsigned slot, size_t from,
                            size_t to);
bool cluster_rig_move_key(const cluster_rig_t *rig, unsigned slot, size_t from,
                          size_t to);
void cluster_rig_end_move(const cluster_rig_t *rig, unsigned slot, size_t from,
                          size_t to, bool is_source_first);
void cluster_rig_cancel_move(const cluster_rig_t *rig, unsigned slot, size_t from,
                             size_t to);
/* All of them. */
void cluster_rig_move(const cluster_rig_t *rig, unsigned slot, size_t from, size_t to);

/* The replica takes the place of its primary: "", " FORCE", " TAKEOVER".  Waits until the
 * replica says that it is a primary. */
void cluster_rig_failover(const cluster_rig_t *rig, size_t replica, const char *how);

/* One command to a node; its answer must begin so. */
void cluster_rig_tell(const cluster_rig_t *rig, size_t node, const char *command,
                      const char *answer);

#endif
