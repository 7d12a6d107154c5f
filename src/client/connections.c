/* SPDX-License-Identifier: MIT */
#include "client/connections.h"

#include <shoal/errors.h>

typedef struct search {
    uint64_t connection;
    shoal__route_member_t *ret_member;
    int rc;
} search_t;

static void compare(void *data, const shoal__route_member_t *member)
{
    search_t *search = data;

    if (member->info.connection != search->connection)
        return;
    *search->ret_member = *member;
    search->rc = 0;
}

int shoal__connections_find(const shoal_client_t *client, uint64_t connection,
                            shoal__route_member_t *ret_member)
{
    search_t search = {connection, ret_member, SHOAL_ENOENT};

    shoal__client_route(client)->ops->each(shoal__client_route(client), compare,
                                           &search);
    return search.rc;
}

int shoal__connections_renew(shoal_client_t *client)
{
    int rc = SHOAL_ECLOSED;

    shoal__client_lock(client);
    if (!client->gate.is_closed) {
        shoal__mailbox_wish_locked(&client->mailbox, SHOAL__WISH_RECONNECT);
        rc = 0;
    }
    shoal__client_unlock(client);
    return rc;
}

int shoal__connections_authenticate(shoal_client_t *client, shoal__secret_t **secret)
{
    int rc = SHOAL_ECLOSED;

    shoal__client_lock(client);
    if (!client->gate.is_closed) {
        client->gate.last_status = 0; /* it was about the former ones */
        *secret = shoal__mailbox_authenticate_locked(&client->mailbox, *secret);
        rc = 0;
    }
    shoal__client_unlock(client);
    return rc;
}
