/* SPDX-License-Identifier: MIT */
#include "server/cluster.h"

#include "cluster_nodes/cluster_nodes.h"

#include <stdio.h>
#include <stdlib.h>

int cluster_start(cluster_t *cluster, const cluster_plan_t *plan, char *problem,
                  size_t problem_bytes)
{
    cluster_place_t places[CLUSTER_SERVERS_MAX];
    size_t count = plan->primaries * (1 + plan->replicas);
    server_plan_t node = {
        .cpu = plan->cpu, .has_port = true, .has_tls = plan->has_tls, .is_node = true};

    *cluster = (cluster_t){.servers = calloc(count, sizeof *cluster->servers)};
    if (!cluster->servers) {
        snprintf(problem, problem_bytes, "out of memory");
        return -1;
    }
    for (; cluster->count < count; cluster->count++) {
        server_t *server = &cluster->servers[cluster->count];
        if (server_start(server, &node, problem, problem_bytes) < 0) {
            cluster_stop(cluster);
            return -1;
        }
        if (plan->has_tls)
            node.certificates = cluster->servers[0].certificates;
        places[cluster->count] = (cluster_place_t){server->port, server->bus_port};
    }
    if (cluster_nodes_join(places, count, plan->primaries))
        return 0;
    snprintf(problem, problem_bytes, "%zu servers became no cluster", count);
    cluster_stop(cluster);
    return -1;
}

void cluster_stop(cluster_t *cluster)
{
    for (size_t i = cluster->count; i > 0; i--)
        server_stop(&cluster->servers[i - 1]);
    free(cluster->servers);
    *cluster = (cluster_t){0};
}
