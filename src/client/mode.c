/* SPDX-License-Identifier: MIT */
#include "client/mode.h"

static void settle(shoal_client_t *client, shoal_topology_t topology)
{
    atomic_store_explicit(&client->options->topology, topology, memory_order_relaxed);
}

/* False: no memory; the next turn tries again. */
static bool change_route(shoal_client_t *client, uint64_t now_us)
{
    shoal__route_t *route = client->routes[0], *heir = client->routes[1];

    if (!route->ops->bequeath(route, heir, now_us))
        return false;
    atomic_store_explicit(&client->route, heir, memory_order_relaxed);
    heir->ops->open(heir, &client->loop);
    route->ops->shut(route, now_us);
    /* In this order: what was handed over is counted twice rather than not at all. */
    heir->ops->publish(heir);
    route->ops->publish(route);
    return true;
}

void shoal__mode_turn(shoal_client_t *client, uint64_t now_us)
{
    if (shoal__options_topology(client->options) != SHOAL_TOPOLOGY_AUTO)
        return;
    switch (client->routes[0]->found) {
    case SHOAL__FOUND_NOTHING:
        break;
    case SHOAL__FOUND_CLUSTER:
        settle(client, SHOAL_TOPOLOGY_CLUSTER);
        break;
    case SHOAL__FOUND_ONE_SERVER:
        if (change_route(client, now_us)) /* before commands are planned for it */
            settle(client, SHOAL_TOPOLOGY_STANDALONE);
        break;
    }
}
