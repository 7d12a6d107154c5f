/* SPDX-License-Identifier: MIT */
#include <shoal/connection.h>

#include "client/connections.h"
#include <shoal/errors.h>
#include <string.h>

/* The least size of a caller's struct: the connection's number fits. */
#define INFO_BYTES_MIN                                                                 \
    (offsetof(shoal_connection_info_t, connection) + sizeof(uint64_t))

/* No version will be as large: the size was never set. */
#define INFO_BYTES_MAX 65536

int shoal_connection_get(shoal_client_t *client, uint64_t connection,
                         shoal_connection_info_t *ret_info)
{
    shoal__route_member_t member = {.info = SHOAL_CONNECTION_INFO_INIT};
    size_t bytes = ret_info ? ret_info->size : 0;
    int rc;

    if (bytes < INFO_BYTES_MIN || bytes > INFO_BYTES_MAX)
        return SHOAL_EINVAL;
    memset(ret_info, 0, bytes);
    ret_info->size = bytes;
    rc = shoal__client_check(client);
    if (rc == 0)
        rc = shoal__connections_find(client, connection, &member);
    if (rc < 0)
        return rc;
    memcpy(ret_info, &member.info,
           bytes < sizeof member.info ? bytes : sizeof member.info);
    ret_info->size = bytes;
    return 0;
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
