/* SPDX-License-Identifier: MIT */
#include "client/intake.h"

#include "client/client.h"
#include "client/lease_count.h"
#include "core/lease.h"
#include <shoal/errors.h>

static void fail_taken(shoal_client_t *client)
{
    for (size_t i = 0; i < client->taken.count; i++) {
        const shoal__request_t *request = &client->taken.requests[i];
        shoal_lease_t *lease = SHOAL__REQUEST_LEASE(request);
        if (request->flags & SHOAL__REQUEST_LEASED && !lease)
            shoal__lease_unclaim(client, 1);
        if (lease && request->flags & SHOAL__REQUEST_STATE && !lease->end)
            lease->end = SHOAL__LEASE_GAP;
        shoal__ledger_fail_unplaced(&client->ledger, client, request, SHOAL_ENOMEM,
                                    "no memory to queue the command");
    }
}

static void place_taken(shoal_client_t *client, uint64_t now_us)
{
    shoal__mailbox_side_t *taken = &client->taken;
    bool is_placed = shoal__client_route(client)->ops->place(
        shoal__client_route(client), taken, now_us);

    if (!is_placed)
        fail_taken(client);
    shoal__mailbox_side_clear(taken);
}

void shoal__intake_run(shoal_client_t *client, uint64_t now_us)
{
    shoal__mailbox_side_t *taken = &client->taken;

    shoal__client_lock(client);
    if (client->direct && !shoal__mailbox_is_plain_locked(&client->mailbox)) {
        shoal__client_unlock(client);
        return;
    }
    shoal__mailbox_swap_locked(&client->mailbox, taken);
    shoal__ledger_enter_locked(&client->ledger, taken->count,
                               shoal__mailbox_side_bytes(taken));
    shoal__company_enter(&client->company, taken->plain);
    shoal__client_unlock(client);

    if (taken->count)
        place_taken(client, now_us);
    /* Behind the commands: a cancel may be for one of them. */
    for (size_t i = 0; i < taken->cancels_count; i++)
        shoal__client_route(client)->ops->cancel(shoal__client_route(client),
                                                 taken->cancels[i], now_us);
    taken->cancels_count = 0;
    shoal__lease_end_all(client, taken->closed);
    taken->closed = NULL;
    if (taken->secret)
        shoal__client_route(client)->ops->authenticate(shoal__client_route(client),
                                                       taken->secret, now_us);
    shoal__secret_free(taken->secret);
    taken->secret = NULL;
    if (taken->wishes & SHOAL__WISH_RECONNECT)
        shoal__client_route(client)->ops->reconnect(shoal__client_route(client),
                                                    now_us);
    taken->wishes = 0;
}
