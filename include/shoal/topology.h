/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOPOLOGY_H
#define SHOAL_TOPOLOGY_H

/**
 * @file
 * A snapshot of what a client knows of its servers, for people and dashboards: which nodes
 * there are, which of them is a primary or a replica, which slots each one owns, and whether
 * the client is connected to it.
 *
 * A snapshot never changes. It is built from what the client knows at that moment; no server
 * is asked.
 */

#include <shoal/cluster.h>
#include <shoal/connection.h>
#include <shoal/options.h>
#include <shoal/version.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A snapshot of the servers of a client. */
typedef struct shoal_topology_snapshot shoal_topology_snapshot_t;

/** What a node does. Later versions may add values. */
typedef enum shoal_node_role {
    SHOAL_NODE_UNKNOWN = 0, /**< not known: no view that the client believes has it */
    SHOAL_NODE_PRIMARY = 1, /**< it takes writes; in a cluster it may own slots */
    SHOAL_NODE_REPLICA = 2  /**< a copy of a primary */
} shoal_node_role_t;

/** Slots from `first` to `last`, both included. Never grows. */
typedef struct shoal_slot_range {
    unsigned first; /**< 0 .. 16383 */
    unsigned last;  /**< first .. 16383 */
} shoal_slot_range_t;

/** One node. The library makes these; newer versions append fields. */
typedef struct shoal_node_info {
    const char *name; /**< "host:port", "[::1]:6379", or the path of a Unix socket */
    const char *host; /**< the host of the name, or the path */
    int port;         /**< 0 for a Unix socket */
    const char *id;   /**< the node's id in its cluster; "": not known, or no cluster */
    shoal_node_role_t role;
    const struct shoal_node_info
        *primary; /**< of a replica: its primary, in the same snapshot; else NULL */
    shoal_connection_state_t
        state; /**< of the client's connection to it. An idle or closed one is normal:
                    the client connects to nodes that it needs */
    uint64_t connection; /**< number of this connection: see shoal_connection_get() and
                              shoal_stats_get_connection() */
    bool is_listed;      /**< the view that the client believed last has it; of a client
                         without a cluster: always true */
    bool
        is_down; /**< an attempt to reach it failed after the last success, or it leaves
                         commands unanswered */
    unsigned slots;                   /**< number of slots that it owns */
    const shoal_slot_range_t *ranges; /**< these slots, in ascending order */
    size_t ranges_count;
} shoal_node_info_t;

/**
 * Take a snapshot.
 *
 * @param client       the client
 * @param ret_topology receives the snapshot, which the caller releases; NULL after a failure
 *
 * Threads: any
 * Blocks:  never on the network; the loop thread may make the call wait while it takes a
 *          view in, for microseconds
 * Errors:  SHOAL_EINVAL  client or ret_topology is NULL
 *          SHOAL_ENOMEM
 *          SHOAL_ECLOSED the client is closed, and each command has its result
 *          SHOAL_EFORK   the client belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_topology_get(shoal_client_t *client,
                                    shoal_topology_snapshot_t **ret_topology);

/**
 * Give a snapshot back. Its nodes and their texts are gone afterwards. The client may be
 * closed and freed before.
 *
 * @param topology from shoal_topology_get(); NULL is allowed
 *
 * Threads: any
 * Since:   0.2
 */
SHOAL_EXTERN void shoal_topology_release(shoal_topology_snapshot_t *topology);

/**
 * What kind of servers the client has: SHOAL_TOPOLOGY_STANDALONE, SHOAL_TOPOLOGY_CLUSTER,
 * SHOAL_TOPOLOGY_SENTINEL, or SHOAL_TOPOLOGY_AUTO while the client does not know.
 *
 * Threads: any
 * Since:   0.2
 */
SHOAL_EXTERN shoal_topology_t
shoal_topology_kind(const shoal_topology_snapshot_t *topology);

/**
 * The number of nodes. A client of one server has one; with sentinels, or with reads from
 * replicas, the primary is the first one.
 *
 * Threads: any
 * Since:   0.2
 */
SHOAL_EXTERN size_t
shoal_topology_nodes_count(const shoal_topology_snapshot_t *topology);

/**
 * One node.
 *
 * @param topology from shoal_topology_get()
 * @param index    0 .. shoal_topology_nodes_count() - 1
 *
 * @return the node, which lives as long as the snapshot; NULL: there is none of this index
 *
 * Threads: any
 * Since:   0.2
 */
SHOAL_EXTERN const shoal_node_info_t *
shoal_topology_node(const shoal_topology_snapshot_t *topology, size_t index);

/**
 * The primary that owns a slot.
 *
 * @param topology from shoal_topology_get()
 * @param slot     0 .. 16383
 *
 * @return the node, which lives as long as the snapshot; NULL: nobody owns it, as far as the
 *         client knows, or the client has no cluster
 *
 * Threads: any
 * Since:   0.2
 */
SHOAL_EXTERN const shoal_node_info_t *
shoal_topology_owner(const shoal_topology_snapshot_t *topology, unsigned slot);

#ifdef __cplusplus
}
#endif

#endif
