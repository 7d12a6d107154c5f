/* SPDX-License-Identifier: MIT */

/* Which nodes are connected, and which ones have to wait for a place (core/places.h). */

#include "base/time_us.h"
#include "route/cluster/state.h"
#include <stdio.h>

#define DIAL_US 100000 /* then a node is looked at again that could not be dialed */

/* Is it to be asked?  Seeds are, while no owner is ready; and if all owners are down, any node
 * may know of a replica that has taken the place of one. */
static bool may_know(const shoal__cluster_t *cluster, const shoal__node_t *node)
{
    bool are_down = cluster->down == cluster->ready + cluster->unready;

    return (node->is_seed && cluster->ready == 0) ||
           (are_down && (node->is_seed || node->is_listed));
}

static bool is_wanted(const shoal__cluster_t *cluster, const shoal__node_t *node)
{
    bool unconfirmed = shoal__cluster_doubts(node);

    return !unconfirmed &&
           (node->slots > 0 || !shoal__node_is_empty(node) || node->is_leased ||
            may_know(cluster, node) || shoal__cluster_reads_at(cluster, node));
}

/* Do owners of slots need its place? */
static bool gives_way(const shoal__cluster_t *cluster, const shoal__node_t *node)
{
    return node->slots == 0 && !node->is_leased && shoal__node_is_empty(node) &&
           shoal__places_are_short(&cluster->set.places);
}

/* What the commands of a node wait for that has no place. */
static void note_lack(const shoal__cluster_t *cluster, shoal__node_t *node,
                      uint64_t now_us)
{
    const shoal__places_t *places = &cluster->set.places;
    shoal__pipe_t *pipe = &node->conn.pipe;
    bool lacks_place = node->slots > 0 && !shoal__places_have_room(places, true);

    if (lacks_place && !node->lacks_place) {
        pipe->is_offline = true;
        pipe->offline_since_us = now_us;
        pipe->attempts_failed = 0;
        snprintf(pipe->detail, sizeof pipe->detail,
                 "no place for a connection to %.150s: %u are open (connections_max)",
                 node->name, places->taken);
    }
    node->lacks_place = lacks_place;
}

static void connect_to(shoal__cluster_t *cluster, shoal__node_t *node, uint64_t now_us)
{
    node->idle_us = 0;
    if (shoal__node_is_open(node)) {
        node->lacks_place = false;
        return;
    }
    note_lack(cluster, node, now_us);
    if (shoal__conn_may_dial(&node->conn))
        shoal__conn_open(&node->conn);
    else /* others must be done before */
        cluster->look_us = shoal__time_min(cluster->look_us, now_us + DIAL_US);
}

static void disconnect(shoal__cluster_t *cluster, shoal__node_t *node, uint64_t now_us)
{
    if (node->idle_us == 0)
        node->idle_us = now_us;
    /* Another server may have the address of a node that is gone. */
    if ((node->conn.state != SHOAL__CONN_READY ||
         now_us >= node->idle_us + SHOAL__NODE_IDLE_US || gives_way(cluster, node)) &&
        shoal__node_is_empty(node)) {
        shoal__conn_close(&node->conn, now_us);
        shoal__leases_forsake(&cluster->leases, &node->conn);
    }
}

void shoal__cluster_connect(shoal__cluster_t *cluster, shoal__node_t *node,
                            uint64_t now_us)
{
    shoal__conn_rank(&node->conn, node->slots > 0);
    node->lacks_place = node->lacks_place && node->slots > 0;
    if (is_wanted(cluster, node) && !gives_way(cluster, node))
        connect_to(cluster, node, now_us);
    else if (shoal__node_is_open(node))
        disconnect(cluster, node, now_us);
}
