/* SPDX-License-Identifier: MIT */
#include "client/lease.h"

#include "base/alloc.h"
#include "client/client.h"
#include "client/lease_count.h"
#include "client/life.h"
#include "core/lease.h"
#include "resp/command_slot.h"
#include <shoal/errors.h>

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
    shoal__request_list_init(&lease->queue);
    shoal__client_retain(client);
    lease->slot = SHOAL__SLOT_NONE;
    lease->client = client;
    *ret_lease = lease;
    return 0;
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
    shoal__free(lease);
    shoal__client_release(client);
}
