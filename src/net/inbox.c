/* SPDX-License-Identifier: MIT */
#include "net/inbox.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/settle_rule.h"
#include "net/clock.h"
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <shoal/errors.h>
#include <string.h>

#define WAIT_US_MAX UINT64_C(3600000000)

int shoal__inbox_init(shoal__inbox_t *inbox, const shoal__notifier_t *notifier)
{
    *inbox = (shoal__inbox_t){.notifier = notifier};
    shoal__buffer_init(&inbox->side.bytes);
    shoal__driver_token_init(&inbox->token);
    if (uv_mutex_init(&inbox->lock) < 0)
        return SHOAL_ESYSTEM;
    if (uv_cond_init(&inbox->changed) < 0)
        goto fail_changed;
    if (uv_cond_init(&inbox->called) < 0)
        goto fail_called;
    return 0;

fail_called:
    uv_cond_destroy(&inbox->changed);
fail_changed:
    uv_mutex_destroy(&inbox->lock);
    return SHOAL_ESYSTEM;
}

void shoal__inbox_side_release(shoal__inbox_side_t *side)
{
    shoal__free(side->requests);
    shoal__free(side->cancels);
    shoal__buffer_release(&side->bytes);
    *side = (shoal__inbox_side_t){0};
}

void shoal__inbox_release(shoal__inbox_t *inbox)
{
    shoal__inbox_side_release(&inbox->side);
    uv_cond_destroy(&inbox->called);
    uv_cond_destroy(&inbox->changed);
    uv_mutex_destroy(&inbox->lock);
}

void shoal__inbox_lock(shoal__inbox_t *inbox)
{
    uv_mutex_lock(&inbox->lock);
}

void shoal__inbox_unlock(shoal__inbox_t *inbox)
{
    bool is_signal_due = inbox->is_signal_due;

    inbox->is_signal_due = false;
    if (is_signal_due) {
        shoal__counter_add(&inbox->wakeups, 1);
        atomic_fetch_add_explicit(&inbox->signalling, 1, memory_order_relaxed);
    }
    uv_mutex_unlock(&inbox->lock);
    if (is_signal_due) {
        shoal__notifier_signal(inbox->notifier);
        /* The last look at the inbox: it may be gone after this. */
        atomic_fetch_sub_explicit(&inbox->signalling, 1, memory_order_release);
    }
}

void shoal__inbox_quiesce(shoal__inbox_t *inbox)
{
    bool is_quiet = false;

    while (!is_quiet) {
        uv_mutex_lock(&inbox->lock);
        is_quiet = inbox->waiting == 0 && shoal__parking_is_empty(&inbox->parking);
        uv_cond_broadcast(&inbox->changed);
        uv_mutex_unlock(&inbox->lock);
        is_quiet = is_quiet &&
                   atomic_load_explicit(&inbox->signalling, memory_order_acquire) == 0;
        if (!is_quiet)
            sched_yield();
    }
}

/* Make room for `count` more items; false: no memory. */
static bool grow(void **items, size_t *capacity, size_t count, size_t item_bytes)
{
    size_t grown = *capacity ? *capacity : 64;
    void *memory;

    if (count <= *capacity)
        return true;
    while (grown < count)
        grown *= 2;
    memory = shoal__realloc(*items, grown * item_bytes);
    if (!memory)
        return false;
    *items = memory;
    *capacity = grown;
    return true;
}

char *shoal__inbox_reserve_locked(shoal__inbox_t *inbox, size_t bytes, size_t count)
{
    shoal__inbox_side_t *side = &inbox->side;
    void *requests = side->requests;

    if (!grow(&requests, &side->capacity, side->count + count, sizeof *side->requests))
        return NULL;
    side->requests = requests;
    return shoal__buffer_reserve(&side->bytes, bytes);
}

void shoal__inbox_poke_locked(shoal__inbox_t *inbox)
{
    if (inbox->token.driver == SHOAL__DRIVER_PARKED) {
        shoal__inbox_drive_locked(inbox, SHOAL__DRIVER_ON_PUSH, false);
        shoal__counter_add(&inbox->wakeups, 1);
    } else if (inbox->is_asleep) {
        inbox->is_asleep = false;
        inbox->is_signal_due = true;
    }
}

/* May this command wait until the loop wakes by itself? */
static bool may_wait_locked(shoal__inbox_t *inbox, const shoal__request_t *request)
{
    if (!inbox->is_asleep || inbox->wake_after <= 1 ||
        (request->flags & SHOAL__REQUEST_URGENT) ||
        request->command_class == SHOAL__CLASS_BLOCK ||
        request->deadline_us < inbox->wake_us)
        return false;
    inbox->wake_after--;
    return true;
}

void shoal__inbox_push_locked(shoal__inbox_t *inbox, const shoal__request_t *request)
{
    shoal__inbox_side_t *side = &inbox->side;

    side->requests[side->count++] = *request;
    shoal__buffer_commit(&side->bytes, request->bytes);
    shoal__counter_set(&inbox->queued_now, side->count);
    shoal__counter_set(&inbox->bytes_now, shoal__buffer_bytes(&side->bytes));
    if (!may_wait_locked(inbox, request))
        shoal__inbox_poke_locked(inbox);
}

int shoal__inbox_cancel_locked(shoal__inbox_t *inbox, uint64_t ticket)
{
    shoal__inbox_side_t *side = &inbox->side;
    void *cancels = side->cancels;

    if (!grow(&cancels, &side->cancels_capacity, side->cancels_count + 1,
              sizeof *side->cancels))
        return SHOAL_ENOMEM;
    side->cancels = cancels;
    side->cancels[side->cancels_count++] = ticket;
    shoal__inbox_poke_locked(inbox);
    return 0;
}

bool shoal__inbox_wait_locked(shoal__inbox_t *inbox, uint64_t until_us)
{
    uint64_t left_us = shoal__time_since(shoal__clock_us(), until_us);

    if (left_us == 0)
        return false;
    inbox->waiting++;
    if (until_us == SHOAL__NEVER_US)
        uv_cond_wait(&inbox->changed, &inbox->lock);
    else /* in pieces: nanoseconds must not overflow */
        uv_cond_timedwait(&inbox->changed, &inbox->lock,
                          shoal__time_min(left_us, WAIT_US_MAX) * 1000);
    inbox->waiting--;
    return true;
}

/* ---- who runs the loop ---- */

void shoal__inbox_sleep_locked(shoal__inbox_t *inbox, uint64_t wake_us,
                               uint64_t wake_after)
{
    inbox->is_asleep = true;
    inbox->wake_us = wake_us;
    /* Who never wakes by itself has nothing to hold back. */
    inbox->wake_after = wake_us == SHOAL__NEVER_US ? 1 : wake_after;
}

void shoal__inbox_call_locked(shoal__inbox_t *inbox)
{
    uv_cond_signal(&inbox->called);
}

shoal__driver_verdict_t shoal__inbox_drive_locked(shoal__inbox_t *inbox,
                                                  shoal__driver_event_t event,
                                                  bool is_quiet)
{
    shoal__driver_verdict_t verdict =
        shoal__driver_token_step(&inbox->token, event, is_quiet);
    bool is_parked = inbox->token.driver == SHOAL__DRIVER_PARKED;

    assert(verdict != SHOAL__DRIVER_ILLEGAL);
    if (verdict == SHOAL__DRIVER_WAKE || verdict == SHOAL__DRIVER_HAND_OVER)
        shoal__inbox_call_locked(inbox);
    if (verdict == SHOAL__DRIVER_PARK)
        inbox->is_asleep = false; /* nobody polls the notifier */
    atomic_store_explicit(&inbox->is_parked, is_parked, memory_order_relaxed);
    return verdict;
}

void shoal__inbox_driven_locked(shoal__inbox_t *inbox)
{
    uintptr_t thread = (uintptr_t)pthread_self();

    inbox->is_asleep = false;
    if (inbox->last_thread && inbox->last_thread != thread)
        shoal__counter_add(&inbox->handovers, 1);
    inbox->last_thread = thread;
}

void shoal__inbox_nap_locked(shoal__inbox_t *inbox, uint64_t until_us)
{
    uint64_t left_us = shoal__time_since(shoal__clock_us(), until_us);

    inbox->nap_until_us = until_us;
    if (left_us > 0)
        uv_cond_timedwait(&inbox->called, &inbox->lock,
                          shoal__time_min(left_us, WAIT_US_MAX) * 1000);
}

void shoal__inbox_swap_locked(shoal__inbox_t *inbox, shoal__inbox_side_t *taken)
{
    shoal__inbox_side_t filled = inbox->side;

    inbox->side = *taken;
    *taken = filled;
    shoal__counter_set(&inbox->queued_now, 0);
    shoal__counter_set(&inbox->bytes_now, 0);
}
