/* SPDX-License-Identifier: MIT */
#include "net/inbox.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/clock.h"
#include <sched.h>
#include <shoal/errors.h>
#include <string.h>

#define WAIT_US_MAX UINT64_C(3600000000)

int shoal__inbox_init(shoal__inbox_t *inbox, const shoal__notifier_t *notifier)
{
    *inbox = (shoal__inbox_t){.notifier = notifier};
    shoal__buffer_init(&inbox->side.bytes);
    if (uv_mutex_init(&inbox->lock) < 0)
        return SHOAL_ESYSTEM;
    if (uv_cond_init(&inbox->changed) < 0) {
        uv_mutex_destroy(&inbox->lock);
        return SHOAL_ESYSTEM;
    }
    return 0;
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
        is_quiet = inbox->waiting == 0;
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
    if (inbox->is_asleep) {
        inbox->is_asleep = false;
        inbox->is_signal_due = true;
    }
}

void shoal__inbox_push_locked(shoal__inbox_t *inbox, const shoal__request_t *request)
{
    shoal__inbox_side_t *side = &inbox->side;

    side->requests[side->count++] = *request;
    shoal__buffer_commit(&side->bytes, request->bytes);
    shoal__counter_set(&inbox->queued_now, side->count);
    shoal__counter_set(&inbox->bytes_now, shoal__buffer_bytes(&side->bytes));
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

void shoal__inbox_swap_locked(shoal__inbox_t *inbox, shoal__inbox_side_t *taken)
{
    shoal__inbox_side_t filled = inbox->side;

    inbox->side = *taken;
    *taken = filled;
    shoal__counter_set(&inbox->queued_now, 0);
    shoal__counter_set(&inbox->bytes_now, 0);
}
