/* SPDX-License-Identifier: MIT */
#include "client/waiters.h"

#include "client/completion_queue.h"

void shoal__waiters_init(shoal__waiters_t *waiters)
{
    *waiters = (shoal__waiters_t){0};
    shoal__list_init(&waiters->answered);
}

void shoal__waiters_answer(shoal__waiters_t *waiters, shoal__waiter_t *waiter)
{
    waiter->is_answered = true;
    shoal__list_append(&waiters->answered, &waiter->node);
    waiters->answered_count++;
    waiters->drivers_count += waiter->may_drive;
    waiters->plain_count += waiter->is_plain;
}

void shoal__waiters_touch(shoal__waiters_t *waiters, shoal_completions_t *completions)
{
    for (unsigned i = 0; i < waiters->touched_count; i++) {
        if (waiters->touched[i] == completions)
            return;
    }
    shoal__completions_retain(completions);
    if (waiters->touched_count == SHOAL__WAITERS_TOUCHED_MAX)
        shoal__completions_announce(waiters->touched[--waiters->touched_count]);
    waiters->touched[waiters->touched_count++] = completions;
}

void shoal__waiters_take(shoal__waiters_t *waiters, shoal__list_t *callers)
{
    while (!shoal__list_is_empty(&waiters->answered)) {
        shoal__list_t *node = waiters->answered.next;
        shoal__list_remove(node);
        shoal__list_append(callers, node);
    }
    waiters->answered_count = waiters->drivers_count = 0;
}

/* The thread of this waiter has left: free the record. */
static void drop(shoal__waiter_t *waiter)
{
    shoal__parker_release(&waiter->parker);
    shoal__result_release(waiter->owned);
}

void shoal__waiters_wake(shoal__waiters_t *waiters, shoal__list_t *callers)
{
    shoal__parking_due_t due = {0};

    while (!shoal__list_is_empty(callers)) {
        shoal__waiter_t *waiter =
            SHOAL__LIST_ENTRY(callers->next, shoal__waiter_t, node);
        shoal__list_remove(&waiter->node);
        if (!shoal__parker_unpark(&waiter->parker, &due))
            drop(waiter);
    }
    shoal__parking_wake(&waiters->parking, &due);
}

void shoal__waiters_announce(shoal__waiters_t *waiters)
{
    for (unsigned i = 0; i < waiters->touched_count; i++)
        shoal__completions_announce(waiters->touched[i]);
    waiters->touched_count = 0;
}
