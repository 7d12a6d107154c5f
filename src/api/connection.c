/* SPDX-License-Identifier: MIT */
#include <shoal/connection.h>

#include "base/sized.h"
#include "client/connections.h"
#include <shoal/errors.h>

int shoal_connection_get(shoal_client_t *client, uint64_t connection,
                         shoal_connection_info_t *ret_info)
{
    shoal__route_member_t member = {.info = SHOAL_CONNECTION_INFO_INIT};
    int rc;

    if (!ret_info ||
        !shoal__sized_is_set(ret_info->size, SHOAL__INFO_BYTES_MIN, sizeof *ret_info))
        return SHOAL_EINVAL;
    rc = shoal__client_check(client);
    if (rc == 0)
        rc = shoal__connections_find(client, connection, &member);
    shoal__sized_write(ret_info, &member.info, sizeof member.info);
    return rc;
}

const char *shoal_connection_state_name(shoal_connection_state_t state)
{
    static const char *const names[] = {
        [SHOAL_CONNECTION_IDLE] = "idle",
        [SHOAL_CONNECTION_DIALING] = "dialing",
        [SHOAL_CONNECTION_GREETING] = "greeting",
        [SHOAL_CONNECTION_READY] = "ready",
        [SHOAL_CONNECTION_WAITING] = "waiting",
        [SHOAL_CONNECTION_CLOSED] = "closed",
    };

    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "unknown";
}

int shoal_client_reconnect(shoal_client_t *client)
{
    int rc = shoal__client_check(client);

    return rc < 0 ? rc : shoal__connections_renew(client);
}
