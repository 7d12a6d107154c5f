/* SPDX-License-Identifier: MIT */
#include "client/stats.h"

#include "client/client.h"
#include "client/stats_sum.h"
#include <shoal/errors.h>

static void add(void *data, const shoal__route_member_t *member)
{
    shoal__stats_sum_add(data, &member->stats);
}

static void add_route(const shoal__route_t *route, shoal_stats_t *stats)
{
    route->ops->shared_figures(route, stats);
    route->ops->each(route, add, stats);
}

void shoal__stats_read(const shoal_client_t *client, shoal_stats_t *ret_stats)
{
    const shoal__ledger_t *ledger = &client->ledger;
    shoal_stats_t stats = {0};
    uint64_t unplaced = shoal__counter_get(&ledger->unplaced);

    /* What the present route has together takes the place of that of an earlier one. */
    add_route(client->routes[0], &stats);
    if (shoal__client_route(client) != client->routes[0])
        add_route(shoal__client_route(client), &stats);
    stats.completed += unplaced;
    stats.failures += unplaced;
    stats.commands = shoal__counter_get(&ledger->commands_here) +
                     shoal__counter_get(&ledger->commands_there);
    stats.refused = shoal__counter_get(&ledger->refused) +
                    shoal__counter_get(&ledger->refused_here) +
                    shoal__counter_get(&ledger->refused_there);
    stats.bytes_referred = shoal__counter_get(&ledger->large_here.bytes_referred) +
                           shoal__counter_get(&ledger->large_there.bytes_referred);
    stats.bytes_copied += shoal__counter_get(&ledger->large_here.bytes_copied) +
                          shoal__counter_get(&ledger->large_there.bytes_copied);
    stats.turns = shoal__counter_get(&client->turns);
    stats.wakeups = shoal__counter_get(&client->seat.wakeups);
    stats.caller_wakeups = shoal__counter_get(&client->caller_wakeups);
    stats.direct_calls = shoal__counter_get(&client->direct_calls);
    stats.handovers = shoal__counter_get(&client->seat.handovers);
    *ret_stats = stats;
}
