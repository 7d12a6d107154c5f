/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_CLUSTER_H
#define SHOAL_BENCH_CLUSTER_H

/* A private cluster: servers as in server.h, which have joined on ports of 127.0.0.1. */

#include "server/server.h"

#define CLUSTER_PRIMARIES_MAX 32u
#define CLUSTER_REPLICAS_MAX 4u /* of each primary */
#define CLUSTER_SERVERS_MAX (CLUSTER_PRIMARIES_MAX * (1 + CLUSTER_REPLICAS_MAX))

typedef struct cluster {
    server_t *servers; /* the primaries first */
    size_t count;
} cluster_t;

typedef struct cluster_plan {
    size_t primaries;
    size_t replicas; /* of each */
    uint64_t cpu;    /* or MACHINE_NO_CPU */
    bool has_tls; /* a second port of each; the first one makes certificates for all */
} cluster_plan_t;

/* Starts them, before this process has any thread, and waits until all agree.  Returns -1 with
 * a line in `problem`. */
int cluster_start(cluster_t *cluster, const cluster_plan_t *plan, char *problem,
                  size_t problem_bytes);

void cluster_stop(cluster_t *cluster);

#endif
