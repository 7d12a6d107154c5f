/* SPDX-License-Identifier: MIT */
#include "client/lease_count.h"

#include "client/client.h"
#include "core/lease.h"
#include "core/lease_pool.h"

#define LEASES_MAX (SHOAL__LEASE_CONNECTIONS_MAX + SHOAL__LEASE_WAITING_MAX)

bool shoal__lease_claim(shoal_client_t *client, size_t count)
{
    _Atomic uint32_t *leases = &client->counts.leases;
    uint32_t before = atomic_load(leases);

    do {
        if (count > LEASES_MAX || before > LEASES_MAX - count)
            return false;
    } while (!atomic_compare_exchange_weak(leases, &before, before + (uint32_t)count));
    return true;
}

void shoal__lease_unclaim(shoal_client_t *client, size_t count)
{
    atomic_fetch_sub(&client->counts.leases, (uint32_t)count);
}

void shoal__lease_end_all(shoal_client_t *client, shoal_lease_t *closed)
{
    while (closed) {
        shoal_lease_t *lease = closed;
        closed = lease->next;
        shoal__client_route(client)->ops->end_lease(shoal__client_route(client), lease);
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
    shoal__lease_end_all(client, closed);
}
