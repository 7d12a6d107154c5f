/* SPDX-License-Identifier: MIT */

/* Blocking: a thread waits for a result, or for the connection. */

#include "api/client.h"
#include "api/result.h"
#include "base/alloc.h"
#include "base/time_us.h"
#include "net/clock.h"
#include <shoal/errors.h>
#include <shoal/pending.h>

/* A caller that waits: in the arena of its result. */
struct shoal_pending {
    shoal__list_t node; /* in client->parked, once the result is there */
    shoal__parker_t parker;
    shoal__owned_result_t *owned;
    shoal_client_t *client;
    uint64_t ticket;
    bool may_drive;
};

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal_pending_t *waiter = data;

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
        shoal_pending_t *waiter =
            SHOAL__LIST_ENTRY(callers->next, shoal_pending_t, node);
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

/* A caller with room for its result.  0 or an error. */
static int new_waiter(shoal_client_t *client, shoal_pending_t **ret_waiter)
{
    shoal__owned_result_t *owned = shoal__result_new();
    shoal_pending_t *waiter =
        owned ? shoal__arena_alloc(owned->arena, sizeof *waiter) : NULL;
    int rc = waiter ? shoal__parker_init(&waiter->parker) : SHOAL_ENOMEM;

    if (rc < 0) {
        if (owned)
            shoal_result_release(&owned->result);
        return rc;
    }
    waiter->owned = owned;
    waiter->client = client;
    waiter->ticket = 0;
    *ret_waiter = waiter;
    return 0;
}

static void take_result(shoal_pending_t *waiter, shoal_result_t **ret_result)
{
    shoal__parker_release(&waiter->parker);
    *ret_result = &waiter->owned->result;
}

/* Wait until until_us.  0 or SHOAL_EINTR. */
static int wait_for_result(shoal_pending_t *waiter, uint64_t until_us,
                           shoal_result_t **ret_result)
{
    if (!shoal__parker_park(&waiter->parker, &waiter->client->inbox.parking,
                            waiter->ticket, until_us))
        return SHOAL_EINTR;
    take_result(waiter, ret_result);
    return 0;
}

int shoal_client_call_begin(shoal_client_t *client, const shoal_command_t *command,
                            const shoal_call_t *call, uint64_t wait_us,
                            shoal_pending_t **ret_pending, shoal_result_t **ret_result)
{
    shoal__submission_t submission = {
        .commands = command, .count = 1, .on_result = on_result, .is_blocking = true};
    shoal_pending_t *waiter = NULL;
    bool is_driving = false;
    uint64_t until_us = wait_us;
    int rc;

    if (!command || !ret_pending || !ret_result ||
        !shoal__call_read(call, &submission.call))
        return SHOAL_EINVAL;
    if (shoal__client_is_foreign(client))
        return SHOAL_EFORK;
    if (shoal__client_is_loop_thread(client))
        return SHOAL_ELOOP;
    rc = new_waiter(client, &waiter);
    if (rc < 0) {
        atomic_fetch_add_explicit(&client->refused, 1, memory_order_relaxed);
        return rc;
    }
    /* A sink is a callback: not for a thread that may hold locks of its own. */
    waiter->may_drive =
        !submission.call.sink || submission.call.flags & SHOAL_CALL_SINK_HERE;
    submission.is_driving = waiter->may_drive ? &is_driving : NULL;
    submission.data = waiter;
    if (wait_us != SHOAL_TIMEOUT_NEVER)
        until_us = shoal__time_after(shoal__clock_us(), wait_us);
    rc = shoal__client_submit(client, &submission, &waiter->ticket);
    if (rc < 0) {
        shoal__parker_release(&waiter->parker);
        shoal_result_release(&waiter->owned->result);
        return rc;
    }
    if (is_driving && shoal__driver_drive(client, until_us))
        take_result(waiter, ret_result);
    else
        rc = wait_for_result(waiter, until_us, ret_result);
    if (rc < 0)
        *ret_pending = waiter;
    return rc;
}

int shoal_pending_wait(shoal_pending_t *pending, uint64_t wait_us,
                       shoal_result_t **ret_result)
{
    uint64_t until_us = wait_us;

    if (!pending || !ret_result)
        return SHOAL_EINVAL;
    if (shoal__client_is_foreign(pending->client))
        return SHOAL_EFORK;
    if (wait_us != SHOAL_TIMEOUT_NEVER)
        until_us = shoal__time_after(shoal__clock_us(), wait_us);
    return wait_for_result(pending, until_us, ret_result);
}

int shoal_pending_give_up(shoal_pending_t *pending, shoal_result_t **ret_result)
{
    int rc;

    if (!pending || !ret_result)
        return SHOAL_EINVAL;
    if (shoal__client_is_foreign(pending->client))
        return SHOAL_EFORK;
    /* Where it cannot be cancelled, its result is on its way. */
    rc = shoal_client_cancel(pending->client, pending->ticket);
    (void)rc;
    return wait_for_result(pending, SHOAL_TIMEOUT_NEVER, ret_result);
}

int shoal_client_call_with(shoal_client_t *client, const shoal_command_t *command,
                           const shoal_call_t *call, shoal_result_t **ret_result)
{
    shoal_pending_t *pending;

    return shoal_client_call_begin(client, command, call, SHOAL_TIMEOUT_NEVER, &pending,
                                   ret_result);
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
