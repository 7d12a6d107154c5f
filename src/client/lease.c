/* SPDX-License-Identifier: MIT */
#include "client/lease.h"

#include "base/alloc.h"
#include "client/client.h"
#include "client/life.h"
#include "core/lease.h"
#include "core/lease_pool.h"
#include <shoal/errors.h>

#define LEASES_MAX (SHOAL__LEASE_CONNECTIONS_MAX + SHOAL__LEASE_WAITING_MAX)

bool shoal__lease_claim(shoal_client_t *client, size_t count)
{
    _Atomic uint32_t *leases = &client->route->leases;
    uint32_t before = atomic_load(leases);

    do {
        if (count > LEASES_MAX || before > LEASES_MAX - count)
            return false;
    } while (!atomic_compare_exchange_weak(leases, &before, before + (uint32_t)count));
    return true;
}

void shoal__lease_unclaim(shoal_client_t *client, size_t count)
{
    atomic_fetch_sub(&client->route->leases, (uint32_t)count);
}

int shoal__lease_open(shoal_client_t *client, shoal_lease_t **ret_lease)
{
    shoal_lease_t *lease;

    if (shoal__gate_is_closed(&client->gate))
        return SHOAL_ECLOSED;
    if (!shoal__lease_claim(client, 1))
        return SHOAL_EFULL;
    lease = shoal__calloc(1, sizeof *lease);
    if (!lease) {
        shoal__lease_unclaim(client, 1);
        return SHOAL_ENOMEM;
    }
    shoal__list_init(&lease->node);
    shoal__retries_init(&lease->queue);
    shoal__client_retain(client);
    lease->client = client;
    *ret_lease = lease;
    return 0;
}

void shoal__lease_free(shoal_client_t *client, shoal_lease_t *lease)
{
    shoal__free(lease);
    shoal__client_release(client);
}

void shoal__lease_close(shoal_lease_t *lease)
{
    shoal_client_t *client = lease->client;
    bool is_known = atomic_load_explicit(&lease->was_used, memory_order_relaxed);

    if (is_known) {
        shoal__client_lock(client);
        is_known = !client->are_leases_over;
        if (is_known)
            shoal__mailbox_close_lease_locked(&client->mailbox, lease);
        shoal__client_unlock(client);
    }
    if (is_known)
        return;
    shoal__lease_unclaim(client, 1);
    shoal__lease_free(client, lease);
}

void shoal__lease_end_all(shoal_client_t *client, shoal_lease_t *closed)
{
    while (closed) {
        shoal_lease_t *lease = closed;
        closed = lease->next;
        client->route->ops->end_lease(client->route, lease);
    }
}

void shoal__lease_end_shut(shoal_client_t *client)
{
    shoal_lease_t *closed;

    shoal__client_lock(client);
    client->are_leases_over = true;
    closed = client->mailbox.side.closed;
    client->mailbox.side.closed = NULL;
    shoal__client_unlock(client);
    while (closed) {
        shoal_lease_t *lease = closed;
        closed = lease->next;
        shoal__lease_unclaim(client, 1);
        shoal__lease_free(client, lease);
    }
}
