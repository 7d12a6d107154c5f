/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_DEMO_NODES_H
#define SHOAL_BENCH_DEMO_NODES_H

/* The nodes of the demonstration's cluster: what they say, and what an administrator does to
 * them.  Each call has connections of its own. */

#include "server/cluster.h"

#include <stdbool.h>

#define DEMO_PRIMARIES 3
#define DEMO_NODES 6 /* node i + 3 is the replica of i */

typedef struct demo_view {
    unsigned slots[DEMO_NODES];
    unsigned long long moved; /* redirects so far */
    unsigned long long asked;
} demo_view_t;

/* What the nodes say; of a dead one, what it said last.  `view` is that of the last time. */
void demo_nodes_look(const cluster_t *cluster, demo_view_t *view);

/* Moves slots from `first` on as redis-cli does, with all their keys: `count` of them, or as
 * many as go until `until_ns`.  Returns how many; -1: a node refused, which is said on standard
 * error. */
int demo_nodes_move(const cluster_t *cluster, unsigned first, unsigned count,
                    uint64_t until_ns, size_t from, size_t to);

/* CLUSTER FAILOVER; waits until the replica is a primary, for 30 s at most. */
bool demo_nodes_fail_over(const cluster_t *cluster, size_t replica);

/* kill -9; waits until the replica is a primary, for 30 s at most. */
bool demo_nodes_kill(const cluster_t *cluster, size_t primary, size_t replica);

#endif
