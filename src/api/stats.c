/* SPDX-License-Identifier: MIT */
#include <shoal/stats.h>

#include "client/connections.h"
#include "client/stats.h"
#include <shoal/errors.h>
#include <string.h>

/* No version will be as large: the size was never set. */
#define STATS_BYTES_MAX 65536

static bool has_size(const shoal_stats_t *stats)
{
    return stats && stats->size > offsetof(shoal_stats_t, commands) &&
           stats->size <= STATS_BYTES_MAX;
}

/* The caller may have been compiled with another version, and know other fields. */
static void hand_over(const shoal_stats_t *stats, shoal_stats_t *ret_stats)
{
    size_t size = ret_stats->size;

    memset(ret_stats, 0, size);
    memcpy(ret_stats, stats, size < sizeof *stats ? size : sizeof *stats);
    ret_stats->size = size;
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
    hand_over(&stats, ret_stats);
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
    hand_over(&member.stats, ret_stats);
    return rc;
}
