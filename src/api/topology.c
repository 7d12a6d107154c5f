/* SPDX-License-Identifier: MIT */
#include <shoal/topology.h>

#include "client/client.h"
#include "core/snapshot.h"
#include <shoal/errors.h>

static int take(const shoal_client_t *client, shoal_topology_snapshot_t *snapshot)
{
    const shoal__route_t *route = shoal__client_route(client);
    int rc = route->ops->describe(route, snapshot);

    if (shoal__options_topology(client->options) == SHOAL_TOPOLOGY_AUTO)
        shoal__snapshot_set_kind(snapshot, SHOAL_TOPOLOGY_AUTO);
    return rc < 0 ? rc : shoal__snapshot_seal(snapshot);
}

int shoal_topology_get(shoal_client_t *client, shoal_topology_snapshot_t **ret_topology)
{
    shoal_topology_snapshot_t *snapshot;
    int rc;

    if (!ret_topology)
        return SHOAL_EINVAL;
    *ret_topology = NULL;
    rc = shoal__client_check(client);
    if (rc < 0)
        return rc;
    if (shoal__gate_is_over(&client->gate))
        return SHOAL_ECLOSED;
    snapshot = shoal__snapshot_new();
    if (!snapshot)
        return SHOAL_ENOMEM;
    rc = take(client, snapshot);
    if (rc < 0) {
        shoal__snapshot_free(snapshot);
        return rc;
    }
    *ret_topology = snapshot;
    return 0;
}

void shoal_topology_release(shoal_topology_snapshot_t *topology)
{
    shoal__snapshot_free(topology);
}

shoal_topology_t shoal_topology_kind(const shoal_topology_snapshot_t *topology)
{
    return topology ? shoal__snapshot_kind(topology) : SHOAL_TOPOLOGY_STANDALONE;
}

size_t shoal_topology_nodes_count(const shoal_topology_snapshot_t *topology)
{
    return topology ? shoal__snapshot_count(topology) : 0;
}

const shoal_node_info_t *shoal_topology_node(const shoal_topology_snapshot_t *topology,
                                             size_t index)
{
    return topology ? shoal__snapshot_node(topology, index) : NULL;
}

const shoal_node_info_t *shoal_topology_owner(const shoal_topology_snapshot_t *topology,
                                              unsigned slot)
{
    return topology ? shoal__snapshot_owner(topology, slot) : NULL;
}
