/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_CLUSTER_NODES_H
#define SHOAL_TOOLS_CLUSTER_NODES_H

/* Servers on loopback become a cluster.  A node that is silent for 1.5 s is taken for dead. */

#include <stdbool.h>
#include <stddef.h>

#define CLUSTER_SLOTS 16384
#define CLUSTER_NODE_OPTIONS 32 /* room for them, some more, and NULL */
#define CLUSTER_ID_BYTES 41

typedef struct cluster_place {
    int port;
    int bus; /* the port of the nodes' own protocol */
} cluster_place_t;

/* What a server is started with besides its port; ends with NULL.  `bus_text` is the number
 * of its bus port, and must outlive the array. */
void cluster_node_options(const char *options[CLUSTER_NODE_OPTIONS],
                          const char *bus_text);

/* Make servers that were started so a cluster, and wait until all of them agree.  The first
 * `primaries` share the slots evenly; the others are replicas of each of them in turn.  False:
 * a server refused, or they did not agree within 30 s. */
bool cluster_nodes_join(const cluster_place_t *places, size_t count, size_t primaries);

/* One more node becomes known to all of these, and they to it: it owns nothing.  False: as
 * above. */
bool cluster_nodes_meet(const cluster_place_t *places, size_t count, size_t node);
/* Wait until all of them know so many nodes.  False: within 30 s they did not. */
bool cluster_nodes_know_each_other(const cluster_place_t *places, size_t count);

/* Does the node take the cluster for whole, and is it, as a replica, in touch with its
 * primary? */
bool cluster_node_is_calm(int port);

#endif
