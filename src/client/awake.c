/* SPDX-License-Identifier: MIT */
#include "client/awake.h"

#include "base/time_us.h"
#include "client/client.h"
#include "client/driver.h"
#include "client/turn.h"
#include <sched.h>

bool shoal__awake_counts_locked(const shoal_client_t *client,
                                const shoal__waiter_t *waiter)
{
    return waiter->is_awake && waiter->round == client->seat.round;
}

void shoal__awake_enter_locked(shoal_client_t *client, shoal__waiter_t *waiter)
{
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
    for (shoal__list_t *node = callers->next; node != callers; node = node->next)
        shoal__awake_leave_locked(client,
                                  SHOAL__LIST_ENTRY(node, shoal__waiter_t, node));
}

/* What callers did until now: results that they got, and commands. */
static uint64_t progress_of(const shoal_client_t *client)
{
    return shoal__counter_get(&client->answered) +
           shoal__counter_get(&client->ledger.commands_here) +
           shoal__counter_get(&client->ledger.commands_there);
}

bool shoal__awake_joins_locked(shoal_client_t *client, shoal__waiter_t *waiter)
{
    const shoal__driver_seat_t *seat = &client->seat;

    if (!waiter->may_drive || !waiter->is_plain)
        return false;
    if (shoal__driver_take_locked(client, waiter, false))
        return true;
    if (seat->awake == 0)
        return false;
    shoal__awake_enter_locked(client, waiter);
    return true;
}

/* The thread was idle for too long, or its time is over. */
static shoal__awake_end_t sleep_now(shoal_client_t *client, shoal__waiter_t *waiter,
                                    bool is_in_time, uint64_t now_us)
{
    shoal__driver_seat_t *seat = &client->seat;
    shoal__awake_end_t end = SHOAL__AWAKE_SLEEP;

    shoal__client_lock(client);
    if (shoal__awake_counts_locked(client, waiter)) {
        shoal__awake_leave_locked(client, waiter);
        if (is_in_time && seat->awake == 0)
            shoal__awake_rule_failed(&client->awake_rule,
                                     shoal__ledger_owed(&client->ledger),
                                     shoal__counter_get(&client->answered), now_us);
        if (seat->awake == 0 && seat->token.driver == SHOAL__DRIVER_PARKED) {
            if (shoal__driver_take_alone_locked(client, waiter))
                end = SHOAL__AWAKE_ALONE;
            else
                shoal__driver_seat_look_locked(seat);
        }
    }
    shoal__client_unlock(client);
    return end;
}

void shoal__awake_quit(shoal_client_t *client, shoal__waiter_t *waiter)
{
    if (waiter->has_loop) {
        shoal__driver_release(client, waiter);
        return;
    }
    if (sleep_now(client, waiter, false, 0) == SHOAL__AWAKE_ALONE)
        shoal__driver_release(client, waiter);
}

shoal__awake_end_t shoal__awake_stay(shoal_client_t *client, shoal__waiter_t *waiter,
                                     uint64_t until_us)
{
    uint64_t now_us = shoal__clock_us();
    shoal__awake_call_t call = shoal__awake_call(0, now_us);

    for (;;) {
        if (waiter->has_loop) {
            shoal__turn_awake(client, progress_of(client) == call.seen, now_us);
            shoal__driver_left_t left = shoal__driver_leave(client, waiter);
            if (left != SHOAL__DRIVER_LEFT_FREE)
                return left == SHOAL__DRIVER_LEFT_ANSWERED ? SHOAL__AWAKE_ANSWERED
                                                           : SHOAL__AWAKE_SLEEP;
        }
        now_us = shoal__clock_us();
        if (now_us >= until_us ||
            !shoal__awake_call_may_stay(&call, progress_of(client), now_us))
            return sleep_now(client, waiter, now_us < until_us, now_us);
        sched_yield();
        if (shoal__parker_is_unparked(&waiter->parker))
            return SHOAL__AWAKE_ANSWERED;
        if (atomic_load_explicit(&client->seat.driver, memory_order_relaxed) ==
            SHOAL__DRIVER_BACKGROUND)
            return SHOAL__AWAKE_SLEEP;
        shoal__driver_take(client, waiter); /* false: another one has the loop */
        now_us = shoal__clock_us();
    }
}
