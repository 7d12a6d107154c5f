/* SPDX-License-Identifier: MIT */
#include "client/awake_count.h"

#include "client/client.h"

bool shoal__awake_fits_locked(const shoal_client_t *client,
                              const shoal__waiter_t *waiter)
{
    return waiter->may_drive && waiter->is_plain &&
           (waiter->runs_sinks ||
            !atomic_load_explicit(&client->runs_sinks, memory_order_relaxed));
}

bool shoal__awake_counts_locked(const shoal_client_t *client,
                                const shoal__waiter_t *waiter)
{
    return waiter->is_awake && waiter->round == client->seat.round;
}

void shoal__awake_enter_locked(shoal_client_t *client, shoal__waiter_t *waiter)
{
    shoal__counter_add(&client->direct_calls, !waiter->is_staying);
    waiter->is_staying = true;
    if (shoal__awake_counts_locked(client, waiter))
        return;
    waiter->is_awake = true;
    waiter->round = client->seat.round;
    client->seat.awake++;
}

void shoal__awake_leave_locked(shoal_client_t *client, shoal__waiter_t *waiter)
{
    if (shoal__awake_counts_locked(client, waiter))
        client->seat.awake--;
    waiter->is_awake = false;
}

void shoal__awake_answered_locked(shoal_client_t *client, const shoal__list_t *callers)
{
    unsigned awake = client->seat.awake;
    uint64_t count = 0;

    for (shoal__list_t *node = callers->next; node != callers; node = node->next) {
        shoal__awake_leave_locked(client,
                                  SHOAL__LIST_ENTRY(node, shoal__waiter_t, node));
        count++;
    }
    awake -= client->seat.awake;
    shoal__counter_add(&client->caller_wakeups, count - awake);
}
