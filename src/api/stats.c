/* SPDX-License-Identifier: MIT */
#include <shoal/stats.h>

#include "base/sized.h"
#include "client/connections.h"
#include "client/stats.h"
#include <shoal/errors.h>

static bool has_size(const shoal_stats_t *stats)
{
    return stats &&
           shoal__sized_is_set(stats->size, SHOAL__STATS_BYTES_MIN, sizeof *stats);
}

static int may_read(const shoal_client_t *client)
{
    int rc = shoal__client_check(client);

    if (rc < 0)
        return rc;
    return shoal__gate_is_over(&client->gate) ? SHOAL_ECLOSED : 0;
}

int shoal_stats_get(shoal_client_t *client, shoal_stats_t *ret_stats)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;
    int rc;

    if (!has_size(ret_stats))
        return SHOAL_EINVAL;
    rc = may_read(client);
    if (rc == 0)
        shoal__stats_read(client, &stats);
    shoal__sized_write(ret_stats, &stats, sizeof stats);
    return rc;
}

int shoal_stats_get_connection(shoal_client_t *client, uint64_t connection,
                               shoal_stats_t *ret_stats)
{
    shoal__route_member_t member = {.stats = SHOAL_STATS_INIT};
    int rc;

    if (!has_size(ret_stats))
        return SHOAL_EINVAL;
    rc = may_read(client);
    if (rc == 0)
        rc = shoal__connections_find(client, connection, &member);
    shoal__sized_write(ret_stats, &member.stats, sizeof member.stats);
    return rc;
}
