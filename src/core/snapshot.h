/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_SNAPSHOT_H
#define SHOAL_CORE_SNAPSHOT_H

/*
 * A snapshot of the servers of a client, as <shoal/topology.h> has it.  It is new, gets its
 * nodes, is sealed, and never changes then.
 *
 * Threads: one, until it is sealed; any afterwards.
 */

#include "resp/key_slot.h"
#include <shoal/topology.h>

#define SHOAL__SNAPSHOT_NONE 0xFFFFu /* instead of a node */

/* What a node is made of.  The texts are copied. */
typedef struct shoal__snapshot_node {
    const char *name; /* "host:port", "[::1]:6379", or a path */
    const char *id;   /* NULL: not known */
    shoal_node_role_t role;
    unsigned primary; /* of a replica: the number of its primary; NONE: not known */
    shoal_connection_state_t state;
    uint64_t connection;
    bool is_listed, is_down;
} shoal__snapshot_node_t;

/* NULL: no memory. */
shoal_topology_snapshot_t *shoal__snapshot_new(void);
/* NULL is allowed. */
void shoal__snapshot_free(shoal_topology_snapshot_t *snapshot);

void shoal__snapshot_set_kind(shoal_topology_snapshot_t *snapshot,
                              shoal_topology_t kind);
/* The node gets the next number, from 0.  0 or SHOAL_ENOMEM. */
int shoal__snapshot_add(shoal_topology_snapshot_t *snapshot,
                        const shoal__snapshot_node_t *node);
/* The slot has this owner, which is added before the snapshot is sealed. */
void shoal__snapshot_own(shoal_topology_snapshot_t *snapshot, unsigned slot,
                         unsigned node);
/* Nothing changes from now on.  0 or SHOAL_ENOMEM. */
int shoal__snapshot_seal(shoal_topology_snapshot_t *snapshot);

/* Of a sealed one. */
shoal_topology_t shoal__snapshot_kind(const shoal_topology_snapshot_t *snapshot);
size_t shoal__snapshot_count(const shoal_topology_snapshot_t *snapshot);
/* NULL: none. */
const shoal_node_info_t *shoal__snapshot_node(const shoal_topology_snapshot_t *snapshot,
                                              size_t index);
const shoal_node_info_t *
shoal__snapshot_owner(const shoal_topology_snapshot_t *snapshot, unsigned slot);

#endif
