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
} waiter_t;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    waiter_t *waiter = data;

    shoal__result_keep(waiter->owned, result);
    /* Woken after the whole read is delivered, so that callers who will submit
     * together wake together. */
    shoal__list_append(&client->parked, &waiter->node);
}

void shoal__client_delivered(shoal_client_t *client)
{
    while (!shoal__list_is_empty(&client->parked)) {
        waiter_t *waiter = SHOAL__LIST_ENTRY(client->parked.next, waiter_t, node);
        shoal__list_remove(&waiter->node);
        shoal__parker_unpark(&waiter->parker);
    }
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
    waiter.owned = shoal__calloc(1, sizeof *waiter.owned);
    rc = waiter.owned ? shoal__client_submit(client, &submission, NULL) : SHOAL_ENOMEM;
    if (rc < 0) {
        shoal__free(waiter.owned);
    } else {
        shoal__parker_park(&waiter.parker);
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
