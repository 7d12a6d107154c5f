/* SPDX-License-Identifier: MIT */
#include "client/call.h"

#include "base/error.h"
#include "base/time_us.h"
#include "client/client.h"
#include "client/driver.h"
#include "client/life.h"
#include "client/owned_result.h"
#include "client/submit.h"
#include <shoal/errors.h>

/* A caller that waits: in the arena of its result.  Once its thread has come back without
 * the result, it holds a reference to the client. */
struct shoal_pending {
    shoal__waiter_t waiter;
    shoal__owned_result_t *owned;
    shoal_client_t *client;
    uint64_t ticket;
};

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal_pending_t *pending = data;

    shoal__result_keep(pending->owned, result);
    shoal__waiters_answer(&client->waiters, &pending->waiter);
}

/* A caller with room for its result.  0 or an error. */
static int new_pending(shoal_client_t *client, shoal_pending_t **ret_pending)
{
    shoal__owned_result_t *owned = shoal__result_new();
    shoal_pending_t *pending =
        owned ? shoal__arena_alloc(owned->arena, sizeof *pending) : NULL;
    int rc = pending ? shoal__parker_init(&pending->waiter.parker) : SHOAL_ENOMEM;

    if (rc < 0) {
        shoal__result_release(owned);
        return shoal__error_system(NULL, rc, "");
    }
    pending->owned = owned;
    pending->client = client;
    pending->ticket = 0;
    *ret_pending = pending;
    return 0;
}

static void take_result(shoal_pending_t *pending, shoal_result_t **ret_result)
{
    shoal__parker_release(&pending->waiter.parker);
    *ret_result = &pending->owned->result;
}

shoal_client_t *shoal__call_client(const shoal_pending_t *pending)
{
    return pending->client;
}

static int wait_for_result(shoal_pending_t *pending, uint64_t until_us,
                           shoal_result_t **ret_result)
{
    if (!shoal__parker_park(&pending->waiter.parker, &pending->client->waiters.parking,
                            pending->ticket, until_us))
        return SHOAL_EAGAIN;
    take_result(pending, ret_result);
    return 0;
}

int shoal__call_wait(shoal_pending_t *pending, uint64_t until_us,
                     shoal_result_t **ret_result)
{
    shoal_client_t *client = pending->client;
    int rc = wait_for_result(pending, until_us, ret_result);

    if (rc == 0)
        shoal__client_release(client);
    return rc;
}

int shoal__call_begin(shoal_client_t *client, const shoal_command_t *command,
                      const shoal_call_t *call, uint64_t until_us,
                      shoal_pending_t **ret_pending, shoal_result_t **ret_result)
{
    shoal__submission_t submission = {
        .commands = command, .count = 1, .call = *call, .on_result = on_result};
    shoal_pending_t *pending = NULL;
    bool is_driving = false;
    int rc = new_pending(client, &pending);

    if (rc < 0) {
        atomic_fetch_add_explicit(&client->ledger.refused, 1, memory_order_relaxed);
        return rc;
    }
    /* A sink is a callback: not for a thread that may hold locks of its own. */
    pending->waiter.may_drive = !call->sink || call->flags & SHOAL_CALL_SINK_HERE;
    submission.is_driving = pending->waiter.may_drive ? &is_driving : NULL;
    submission.data = pending;
    rc = shoal__client_submit(client, &submission, &pending->ticket);
    if (rc < 0) {
        shoal__parker_release(&pending->waiter.parker);
        shoal__result_release(pending->owned);
        return rc;
    }
    if (is_driving && shoal__driver_drive(client, until_us))
        take_result(pending, ret_result);
    else
        rc = wait_for_result(pending, until_us, ret_result);
    if (rc == 0)
        return 0;
    shoal__client_retain(client);
    *ret_pending = pending;
    return rc;
}

int shoal__call_give_up(shoal_pending_t *pending, shoal_result_t **ret_result)
{
    /* Where it cannot be cancelled, its result is on its way. */
    int rc = shoal__client_cancel(pending->client, pending->ticket);

    (void)rc;
    return shoal__call_wait(pending, SHOAL__NEVER_US, ret_result);
}

int shoal__call_wait_ready(shoal_client_t *client, uint64_t until_us)
{
    const shoal__gate_t *gate = &client->gate;
    bool is_in_time = true;
    int rc = SHOAL_ETIMEOUT;

    shoal__client_lock(client);
    while (rc == SHOAL_ETIMEOUT && is_in_time) {
        if (gate->is_closed)
            rc = SHOAL_ECLOSED;
        else if (gate->is_ready)
            rc = 0;
        else if (gate->last_status == SHOAL_EAUTH)
            rc = SHOAL_EAUTH;
        else
            is_in_time = shoal__gate_wait_locked(&client->gate, until_us);
    }
    shoal__client_unlock(client);
    return rc;
}
