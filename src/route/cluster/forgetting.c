/* SPDX-License-Identifier: MIT */

/* Nodes that left the cluster are forgotten, so that others get their places among the nodes: a
 * cluster may change its addresses for years.
 *
 * It happens while no question for a view is under way, between all else that a turn does.  A node
 * is forgotten when nothing refers to it any more; what only remembers it does so no longer. */

#include "base/time_us.h"
#include "route/cluster/state.h"

#define KEPT_US 60000000                  /* so long after it was needed last ... */
#define NODES_KEPT (SHOAL__NODES_MAX / 2) /* ... unless there are more */

static bool has_lane(const shoal__node_t *node)
{
    const shoal__bulk_t *bulk = shoal__node_bulk(node);

    return bulk && shoal__bulk_is_open(bulk);
}

static bool is_needed(const shoal__node_t *node)
{
    return has_lane(node) || shoal__node_is_known(node) || node->named_us > 0 ||
           shoal__node_is_open(node) || !shoal__node_is_empty(node) ||
           node->questions > 0;
}

/* Has a redirect named it that the turn has not heeded? */
static bool is_told(const shoal__cluster_t *cluster, const shoal__node_t *node)
{
    for (unsigned i = 0; i < cluster->told_count; i++)
        if (cluster->told[cluster->told_slots[i]] == node->index)
            return true;
    return false;
}

/* Has it named a node that is doubted still? */
static bool is_namer(const shoal__cluster_t *cluster, const shoal__node_t *node)
{
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        const shoal__node_t *other = shoal__cluster_node(cluster, i);
        if (shoal__cluster_doubts(other) && other->named_by == node->index)
            return true;
    }
    return false;
}

static bool is_referred_to(const shoal__cluster_t *cluster, const shoal__node_t *node)
{
    return is_told(cluster, node) || is_namer(cluster, node) ||
           shoal__handovers_use(&cluster->handovers, &node->conn.pipe) ||
           shoal__leases_use(&cluster->leases, &node->conn, node);
}

/* What remembers it, and can do without. */
static void drop_memories(shoal__cluster_t *cluster, const shoal__node_t *node)
{
    shoal__topology_t *topology = &cluster->topology;

    if (topology->asked_before == node)
        topology->asked_before = NULL;
    if (topology->hint == node)
        topology->hint = NULL;
    shoal__leases_forget_site(&cluster->leases, &node->conn);
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        shoal__node_t *other = shoal__cluster_node(cluster, i);
        if (other->readers.chosen == node)
            other->readers.chosen = NULL;
        if (other->heir_of == node->index)
            other->heir_of = SHOAL__SLOT_NOBODY;
        if (other->primary == node->index)
            shoal__nodes_set_role(&cluster->nodes, other, other->role,
                                  SHOAL__SLOT_NOBODY);
    }
}

/* When it may be forgotten; NEVER: it is needed. */
static uint64_t due_us(shoal__node_t *node, bool are_many, uint64_t now_us)
{
    if (node->is_forgotten || is_needed(node)) {
        node->unneeded_us = 0;
        return SHOAL__NEVER_US;
    }
    if (node->unneeded_us == 0)
        node->unneeded_us = now_us;
    return are_many ? now_us : node->unneeded_us + KEPT_US;
}

void shoal__cluster_forget(shoal__cluster_t *cluster, uint64_t now_us)
{
    bool are_many = cluster->nodes.known > NODES_KEPT;
    bool is_asking = cluster->topology.asked || cluster->topology.is_view_ready;

    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        shoal__node_t *node = shoal__cluster_node(cluster, i);
        uint64_t at_us = due_us(node, are_many, now_us);
        if (now_us < at_us) {
            cluster->look_us = shoal__time_min(cluster->look_us, at_us);
            continue;
        }
        /* Else a look comes when the view does, or what refers to it ends. */
        if (is_asking || is_referred_to(cluster, node))
            continue;
        drop_memories(cluster, node);
        shoal__nodes_forget(&cluster->nodes, node);
    }
}
