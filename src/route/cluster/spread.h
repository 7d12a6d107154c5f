/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_SPREAD_H
#define SHOAL_ROUTE_CLUSTER_SPREAD_H

/*
 * A command that concerns several nodes, or several slots: each gets a part of it, which
 * travels as any other command; core/cluster/gather.h makes one result of theirs.
 *
 * A part for a node stays there, whatever becomes of the node's slots.
 *
 * Loop thread.
 */

#include "base/list.h"
#include "core/cluster/gather.h"
#include "core/request.h"
#include "route/cluster/node.h"

typedef struct shoal__cluster shoal__cluster_t;

typedef struct shoal__spread_part {
    shoal__node_t *node; /* that gets it; NULL: the owner of: */
    unsigned slot;
    const char *bytes;
    uint32_t bytes_count;
    bool is_at_replica;
    unsigned share; /* while it is placed: the number of its share */
} shoal__spread_part_t;

/* All of it stands in the arena of the gather. */
typedef struct shoal__spread {
    shoal__list_t listed;
    shoal__cluster_t *cluster; /* borrowed */
    shoal__request_t request;  /* the caller's */
    shoal__extra_t *extra;     /* of the parts; NULL: they have none */
    shoal__gather_t *gather;
    size_t parts_count; /* that are to be placed; 0: its result is due already */
    shoal__spread_part_t parts[];
} shoal__spread_t;

#endif
