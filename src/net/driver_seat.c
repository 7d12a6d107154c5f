/* SPDX-License-Identifier: MIT */
#include "net/driver_seat.h"

#include "base/time_us.h"
#include "net/clock.h"
#include <assert.h>
#include <pthread.h>

/* libuv counts in nanoseconds: longer waits are cut. */
#define WAIT_US_MAX UINT64_C(3600000000)

int shoal__driver_seat_init(shoal__driver_seat_t *seat,
                            const shoal__notifier_t *notifier)
{
    *seat = (shoal__driver_seat_t){.notifier = notifier};
    shoal__driver_token_init(&seat->token);
    int rc = uv_mutex_init(&seat->lock);
    if (rc < 0)
        return rc;
    rc = uv_cond_init(&seat->called);
    if (rc < 0)
        uv_mutex_destroy(&seat->lock);
    return rc;
}

void shoal__driver_seat_release(shoal__driver_seat_t *seat)
{
    uv_cond_destroy(&seat->called);
    uv_mutex_destroy(&seat->lock);
}

void shoal__driver_seat_lock(shoal__driver_seat_t *seat)
{
    uv_mutex_lock(&seat->lock);
}

void shoal__driver_seat_unlock(shoal__driver_seat_t *seat)
{
    bool is_signal_due = seat->is_signal_due;

    seat->is_signal_due = false;
    if (is_signal_due)
        shoal__counter_add(&seat->wakeups, 1);
    uv_mutex_unlock(&seat->lock);
    if (is_signal_due)
        shoal__notifier_signal(seat->notifier);
}

void shoal__driver_seat_signal_locked(shoal__driver_seat_t *seat)
{
    if (!seat->is_signal_due)
        return;
    seat->is_signal_due = false;
    shoal__counter_add(&seat->wakeups, 1);
    shoal__notifier_signal(seat->notifier);
}

void shoal__driver_seat_poke_locked(shoal__driver_seat_t *seat)
{
    if (seat->token.driver == SHOAL__DRIVER_PARKED) {
        shoal__driver_seat_step_locked(seat, SHOAL__DRIVER_ON_PUSH, false);
        shoal__counter_add(&seat->wakeups, 1);
    } else if (seat->is_asleep) {
        seat->is_asleep = false;
        seat->is_signal_due = true;
    }
}

shoal__driver_verdict_t shoal__driver_seat_step_locked(shoal__driver_seat_t *seat,
                                                       shoal__driver_event_t event,
                                                       bool is_quiet)
{
    shoal__driver_verdict_t verdict =
        shoal__driver_token_step(&seat->token, event, is_quiet);

    assert(verdict != SHOAL__DRIVER_ILLEGAL);
    if (verdict == SHOAL__DRIVER_WAKE || verdict == SHOAL__DRIVER_HAND_OVER)
        shoal__driver_seat_call_locked(seat);
    if (verdict == SHOAL__DRIVER_PARK)
        seat->is_asleep = false; /* no thread polls the notifier */
    if (seat->token.driver == SHOAL__DRIVER_BACKGROUND && seat->awake > 0) {
        seat->awake = 0; /* they see it, and go to sleep */
        seat->round++;
    }
    atomic_store_explicit(&seat->driver, seat->token.driver, memory_order_relaxed);
    return verdict;
}

void shoal__driver_seat_taken_locked(shoal__driver_seat_t *seat)
{
    uintptr_t thread = (uintptr_t)pthread_self();

    seat->is_asleep = false;
    if (seat->last_thread && seat->last_thread != thread)
        shoal__counter_add(&seat->handovers, 1);
    seat->last_thread = thread;
}

void shoal__driver_seat_call_locked(shoal__driver_seat_t *seat)
{
    uv_cond_signal(&seat->called);
}

void shoal__driver_seat_look_locked(shoal__driver_seat_t *seat)
{
    shoal__driver_seat_step_locked(seat, SHOAL__DRIVER_ON_NAPPED, false);
    shoal__counter_add(&seat->wakeups, 1);
    shoal__driver_seat_call_locked(seat);
}

void shoal__driver_seat_wait_locked(shoal__driver_seat_t *seat, uv_cond_t *condition,
                                    uint64_t left_us)
{
    uv_cond_timedwait(condition, &seat->lock,
                      shoal__time_min(left_us, WAIT_US_MAX) * 1000);
}

void shoal__driver_seat_nap_locked(shoal__driver_seat_t *seat, uint64_t until_us)
{
    uint64_t left_us = shoal__time_since(shoal__clock_us(), until_us);

    seat->nap_until_us = until_us;
    if (left_us > 0)
        shoal__driver_seat_wait_locked(seat, &seat->called, left_us);
}
