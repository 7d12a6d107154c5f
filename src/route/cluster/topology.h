/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_TOPOLOGY_H
#define SHOAL_ROUTE_CLUSTER_TOPOLOGY_H

/*
 * Asks nodes of a cluster how the slots are divided: CLUSTER SLOTS for the owners and their
 * addresses, and behind it CLUSTER NODES for the configuration epochs.  What came of it is a
 * view, which the owner merges into its map.  core/cluster/topology_rule.h says when.
 *
 * Loop thread.
 */

#include "core/cluster/slot_map.h"
#include "core/cluster/topology_rule.h"
#include "route/cluster/nodes.h"

/* One node's answer. */
typedef struct shoal__view {
    shoal__slot_view_t slots;
    uint64_t epochs[SHOAL__NODES_MAX]; /* by the nodes' numbers */
    bool has_failed[SHOAL__NODES_MAX]; /* most primaries think so of the node */
    char ids[SHOAL__NODES_MAX]
            [SHOAL__NODE_ID_BYTES]; /* "": it does not list the node */
    uint16_t
        primaries[SHOAL__NODES_MAX]; /* of the replicas; SLOT_NOBODY: it is a primary,
                                             or not listed */
    char self
        [SHOAL__NODE_ID_BYTES]; /* the id of the node that answered; "": not known */
    bool lacks_nodes; /* the node that answered knows others that are up, too */
    bool knows_us;    /* it lists a node that another view had, which was believed */
} shoal__view_t;

typedef struct shoal__topology {
    shoal__nodes_t *nodes; /* borrowed */
    shoal__topology_rule_t rule;
    shoal__view_t *view; /* the one under way, or to be merged; NULL: none was needed */
    shoal__node_t *asked, *asked_before; /* NULL: none */
    shoal__node_t *hint; /* ask this one first, if it is ready; NULL: any */
    uint64_t serial;     /* of the question */
    shoal__counter_t asked_count, refused; /* questions, and views; any thread reads */
    char why[240];                         /* the last answer was no view; "": it was */
    bool is_view_ready;                    /* the owner has to merge it */
    bool has_slots; /* CLUSTER SLOTS was answered and understood */
} shoal__topology_t;

/* Borrows the nodes. */
void shoal__topology_init(shoal__topology_t *topology, shoal__nodes_t *nodes);
void shoal__topology_release(shoal__topology_t *topology);

/* Ask, if it is time, and a node is ready. */
void shoal__topology_turn(shoal__topology_t *topology, shoal__random_t *random,
                          uint64_t now_us);
/* SHOAL__NEVER_US: no node could be asked, or an answer is awaited that wakes the loop. */
uint64_t shoal__topology_wake_us(const shoal__topology_t *topology);

/* The view was merged, with news or without; or refused. */
void shoal__topology_merged(shoal__topology_t *topology, bool is_refused, bool is_news);

#endif
