/* SPDX-License-Identifier: MIT */
#include <shoal/stats.h>

#include "client/connections.h"
#include "client/stats.h"
#include <shoal/errors.h>
#include <string.h>

/* The caller may have been compiled with another version, and know other fields. */
static void hand_over(const shoal_stats_t *stats, shoal_stats_t *ret_stats,
                      size_t stats_bytes)
{
    memset(ret_stats, 0, stats_bytes);
    memcpy(ret_stats, stats, stats_bytes < sizeof *stats ? stats_bytes : sizeof *stats);
}

int shoal_stats_get(shoal_client_t *client, shoal_stats_t *ret_stats,
                    size_t stats_bytes)
{
    shoal_stats_t stats;

    if (!ret_stats)
        return SHOAL_EINVAL;
    if (shoal__client_is_foreign(client))
        return SHOAL_EFORK;
    if (shoal__gate_is_over(&client->gate))
        return SHOAL_ECLOSED;
    shoal__stats_read(client, &stats);
    hand_over(&stats, ret_stats, stats_bytes);
    return 0;
}

int shoal_stats_get_connection(shoal_client_t *client, uint64_t connection,
                               shoal_stats_t *ret_stats, size_t stats_bytes)
{
    shoal__route_member_t member;
    int rc;

    if (!ret_stats)
        return SHOAL_EINVAL;
    if (shoal__client_is_foreign(client))
        return SHOAL_EFORK;
    if (shoal__gate_is_over(&client->gate))
        return SHOAL_ECLOSED;
    rc = shoal__connections_find(client, connection, &member);
    if (rc == 0)
        hand_over(&member.stats, ret_stats, stats_bytes);
    return rc;
}
