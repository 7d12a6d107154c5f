/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_BULK_H
#define SHOAL_ROUTE_CLUSTER_BULK_H

/*
 * The bulk lane of a node: a second connection to it, for commands that would hold others up.
 *
 *     N:     s1 a s2 | b c ...         s: commands for one slot; S: a bulk one
 *     pen:             S s3            S waits for s1 and s2, s3 for S
 *     lane:                 S s3       once N has answered s1 and s2
 *     pen:                        s4   S was answered: the slot goes back
 *     N:                          s4   once the lane has answered s3
 *
 * There and back are hand-overs (handovers.h), between two pipes of one node.  In between the
 * map says LANE.
 *
 * Loop thread, but for the figures of its connection.
 */

#include "base/list.h"
#include "core/cluster/lane_slots.h"
#include "net/conn.h"

typedef struct shoal__bulk {
    shoal__conn_t conn;   /* the owner of its hooks is the node */
    shoal__list_t listed; /* among those that are open, or wanted */
    shoal__lane_slots_t slots;
    bool is_wanted;    /* a bulk command came for the node, and the lane was not open */
    uint64_t used_us;  /* when it last had something to do */
    uint64_t again_us; /* it is not opened before: an attempt failed */
    uint64_t renew_us; /* ... nor renewed */
} shoal__bulk_t;

/* A lane to this target, which is not open.  NULL: no memory. */
shoal__bulk_t *shoal__bulk_new(const shoal__conn_plan_t *plan);
void shoal__bulk_free(shoal__bulk_t *bulk); /* NULL is allowed */

static inline bool shoal__bulk_is_open(const shoal__bulk_t *bulk)
{
    return bulk->conn.state != SHOAL__CONN_IDLE &&
           bulk->conn.state != SHOAL__CONN_CLOSED;
}

#endif
