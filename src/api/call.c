/* SPDX-License-Identifier: MIT */

/* Blocking: a thread waits for a result, or for the connection. */

#include "api/client.h"
#include "api/result.h"
#include "base/alloc.h"
#include "base/time_us.h"
#include "net/clock.h"
#include <shoal/errors.h>

/* A caller that waits; lives on its stack. */
typedef struct waiter {
    shoal__list_t node; /* in client->parked, once the result is there */
    shoal__parker_t parker;
    shoal__owned_result_t *owned;
    bool may_drive;
} waiter_t;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    waiter_t *waiter = data;

    shoal__result_keep(waiter->owned, result);
    /* Woken after the whole read is delivered, so that callers who will submit
     * together wake together. */
    shoal__list_append(&client->parked, &waiter->node);
    client->parked_count++;
    client->drivers_count += waiter->may_drive;
}

void shoal__client_wake_callers(shoal_client_t *client, shoal__list_t *callers)
{
    shoal__parking_due_t due = {0};

    while (!shoal__list_is_empty(callers)) {
        waiter_t *waiter = SHOAL__LIST_ENTRY(callers->next, waiter_t, node);
        shoal__list_remove(&waiter->node);
        shoal__parker_unpark(&waiter->parker, &due);
    }
    shoal__parking_wake(&client->inbox.parking, &due);
}

void shoal__client_delivered(shoal_client_t *client)
{
    if (client->is_direct) {
        /* Whoever waits is the thread itself.  It returns after the events that ended
         * its command were told. */
        if (client->held_count == 0 && !shoal__list_is_empty(&client->parked)) {
            shoal__list_remove(client->parked.next);
            client->parked_count = client->drivers_count = 0;
            client->is_answered = true;
        }
        return;
    }
    shoal__counter_add(&client->caller_wakeups,
                       client->parked_count + client->touched_count);
    if (!shoal__driver_parks_next(client))
        shoal__client_wake_callers(client, &client->parked);
    client->parked_count = client->drivers_count = 0;
    for (unsigned i = 0; i < client->touched_count; i++)
        shoal__completions_announce(client->touched[i]);
    client->touched_count = 0;
}

int shoal_client_call_with(shoal_client_t *client, const shoal_command_t *command,
                           const shoal_call_t *call, shoal_result_t **ret_result)
{
    waiter_t waiter;
    shoal__submission_t submission = {
        .commands = command, .count = 1, .on_result = on_result, .data = &waiter};
    bool is_driving = false;
    uint64_t ticket = 0;
    int rc;

    if (!command || !ret_result || !shoal__call_read(call, &submission.call))
        return SHOAL_EINVAL;
    if (shoal__client_is_foreign(client))
        return SHOAL_EFORK;
    if (shoal__client_is_loop_thread(client))
        return SHOAL_ELOOP;
    rc = shoal__parker_init(&waiter.parker);
    if (rc < 0)
        return rc;
    /* A sink is a callback: not for a thread that may hold locks of its own. */
    waiter.may_drive = submission.call.sink == NULL;
    submission.is_driving = waiter.may_drive ? &is_driving : NULL;
    submission.is_blocking = true;
    waiter.owned = shoal__result_new();
    rc = waiter.owned ? shoal__client_submit(client, &submission, &ticket)
                      : SHOAL_ENOMEM;
    if (!waiter.owned)
        atomic_fetch_add_explicit(&client->refused, 1, memory_order_relaxed);
    if (rc < 0 && waiter.owned) {
        shoal_result_release(&waiter.owned->result);
    } else if (rc == 0) {
        if (!is_driving || !shoal__driver_drive(client))
            shoal__parker_park(&waiter.parker, &client->inbox.parking, ticket);
        *ret_result = &waiter.owned->result;
    }
    shoal__parker_release(&waiter.parker);
    return rc;
}

int shoal_client_call(shoal_client_t *client, size_t argc, const char *const *argv,
                      const size_t *argvlen, shoal_result_t **ret_result)
{
    const shoal_command_t command = {argc, argv, argvlen};

    return shoal_client_call_with(client, &command, NULL, ret_result);
}

int shoal_client_wait_ready(shoal_client_t *client, uint64_t timeout_us)
{
    shoal__inbox_t *inbox = &client->inbox;
    uint64_t until_us;
    bool is_in_time = true;
    int rc = SHOAL_ETIMEOUT;

    if (shoal__client_is_foreign(client))
        return SHOAL_EFORK;
    if (shoal__client_is_loop_thread(client))
        return SHOAL_ELOOP;
    until_us = shoal__time_after(shoal__clock_us(), timeout_us);
    shoal__inbox_lock(inbox);
    while (rc == SHOAL_ETIMEOUT && is_in_time) {
        if (inbox->is_closed)
            rc = SHOAL_ECLOSED;
        else if (inbox->is_ready)
            rc = 0;
        else if (inbox->last_status == SHOAL_EAUTH)
            rc = SHOAL_EAUTH;
        else
            is_in_time = shoal__inbox_wait_locked(inbox, until_us);
    }
    shoal__inbox_unlock(inbox);
    return rc;
}
