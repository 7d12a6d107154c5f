/* SPDX-License-Identifier: MIT */
#include "client/awake.h"

#include "base/time_us.h"
#include "client/awake_count.h"
#include "client/client.h"
#include "client/driver.h"
#include "client/turn.h"
#include <sched.h>

typedef enum end {
    ANSWERED, /* the result is there */
    SLEEP,    /* another thread will deliver the result */
    ALONE     /* nobody else waits: the thread has the loop, and may poll */
} end_t;

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

    if (!shoal__awake_fits_locked(client, waiter))
        return false;
    if (shoal__driver_take_locked(client, waiter, false))
        return true;
    if (seat->awake == 0)
        return false;
    shoal__awake_enter_locked(client, waiter);
    return true;
}

/* The last caller that was awake, for idle_us in vain, goes to sleep. */
static void note_failure_locked(shoal_client_t *client, uint64_t idle_us,
                                uint64_t now_us)
{
    const shoal__awake_failure_t failure = {
        .callers = shoal__ledger_owed(&client->ledger),
        .answered = shoal__counter_get(&client->answered),
        .idle_us = idle_us};

    shoal__awake_rule_failed(&client->awake_rule, &failure, now_us);
}

/* The thread was idle for too long, or its time is over. */
static end_t sleep_now(shoal_client_t *client, shoal__waiter_t *waiter,
                       uint64_t idle_us, uint64_t now_us)
{
    shoal__driver_seat_t *seat = &client->seat;
    end_t end = SLEEP;

    shoal__client_lock(client);
    if (shoal__awake_counts_locked(client, waiter)) {
        shoal__awake_leave_locked(client, waiter);
        /* A thread that has the loop sees to it that somebody looks after it. */
        if (seat->awake == 0 && seat->token.driver == SHOAL__DRIVER_PARKED) {
            if (idle_us >= SHOAL__AWAKE_IDLE_US_MAX)
                note_failure_locked(client, idle_us, now_us);
            if (shoal__driver_take_alone_locked(client, waiter))
                end = ALONE;
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
    if (sleep_now(client, waiter, 0, 0) == ALONE)
        shoal__driver_release(client, waiter);
}

static end_t stay(shoal_client_t *client, shoal__waiter_t *waiter, uint64_t until_us)
{
    uint64_t now_us = shoal__clock_us();
    shoal__awake_call_t call = shoal__awake_call(0, now_us);

    for (;;) {
        if (waiter->has_loop) {
            shoal__turn_awake(client, progress_of(client) == call.seen, now_us);
            shoal__driver_left_t left = shoal__driver_leave(client, waiter);
            if (left != SHOAL__DRIVER_LEFT_FREE)
                return left == SHOAL__DRIVER_LEFT_ANSWERED ? ANSWERED : SLEEP;
        }
        now_us = shoal__clock_us();
        if (now_us >= until_us ||
            !shoal__awake_call_may_stay(&call, progress_of(client), now_us))
            return sleep_now(client, waiter, call.idle_us, now_us);
        sched_yield();
        if (shoal__parker_is_unparked(&waiter->parker))
            return ANSWERED;
        if (atomic_load_explicit(&client->seat.driver, memory_order_relaxed) ==
            SHOAL__DRIVER_BACKGROUND)
            return SLEEP;
        shoal__driver_take(client, waiter); /* false: another one has the loop */
        now_us = shoal__clock_us();
    }
}

bool shoal__awake_drive(shoal_client_t *client, shoal__waiter_t *waiter,
                        uint64_t until_us)
{
    end_t end = ALONE;
    bool is_answered;
    int cancel_state;

    if (!waiter->has_loop && !waiter->is_staying)
        return false;
    /* A thread that is cancelled in the poll would take the loop with it. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    if (waiter->is_staying) {
        atomic_fetch_add_explicit(&client->inside, 1, memory_order_relaxed);
        end = stay(client, waiter, until_us);
        atomic_fetch_sub_explicit(&client->inside, 1, memory_order_relaxed);
    }
    is_answered = end == ALONE ? shoal__driver_poll_alone(client, waiter, until_us)
                               : end == ANSWERED;
    pthread_setcancelstate(cancel_state, NULL);
    return is_answered;
}
