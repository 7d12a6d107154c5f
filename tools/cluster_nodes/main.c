/* SPDX-License-Identifier: MIT */

/* What makes servers a cluster, for scripts:
 *
 *     shoal-cluster-nodes options BUS            what a server is started with, a word each line
 *     shoal-cluster-nodes join PRIMARIES PORT:BUS ...
 */

#include "cluster_nodes/cluster_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 256

static int print_options(const char *bus)
{
    const char *options[CLUSTER_NODE_OPTIONS];

    cluster_node_options(options, bus);
    for (size_t i = 0; options[i]; i++)
        puts(options[i]);
    return 0;
}

static int join(size_t primaries, char **nodes, size_t count)
{
    cluster_place_t places[NODES_MAX];

    if (primaries < 1 || primaries > count || count > NODES_MAX)
        return 2;
    for (size_t i = 0; i < count; i++) {
        char *end;
        places[i].port = (int)strtol(nodes[i], &end, 10);
        places[i].bus = *end == ':' ? (int)strtol(end + 1, &end, 10) : 0;
        if (*end != '\0' || places[i].port < 1 || places[i].bus < 1)
            return 2;
    }
    if (cluster_nodes_join(places, count, primaries))
        return 0;
    fprintf(stderr, "shoal-cluster-nodes: %zu servers became no cluster\n", count);
    return 1;
}

int main(int argc, char **argv)
{
    int rc = 2;

    if (argc == 3 && strcmp(argv[1], "options") == 0)
        rc = print_options(argv[2]);
    else if (argc > 3 && strcmp(argv[1], "join") == 0)
        rc = join(strtoul(argv[2], NULL, 10), argv + 3, (size_t)argc - 3);
    if (rc == 2)
        fprintf(stderr, "usage: shoal-cluster-nodes options BUS\n"
                        "       shoal-cluster-nodes join PRIMARIES PORT:BUS ...\n");
    return rc;
}
