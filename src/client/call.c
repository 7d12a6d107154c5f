/* SPDX-License-Identifier: MIT */
#include "client/call.h"

#include "base/error.h"
#include "base/time_us.h"
#include "client/awake.h"
#include "client/client.h"
#include "client/life.h"
#include "client/owned_result.h"
#include "client/submit.h"
#include "resp/encoder.h"
#include <shoal/errors.h>

/* If the loop does not answer by the deadline, the thread naps so often: a loop that is
 * only late, on a busy machine, can then still say what became of the command. */
#define NAPS_MAX 10
#define NAP_US 10000

/* A caller that waits: in the arena of its result.  Once its thread has come back without
 * the result, it holds a reference to the client. */
struct shoal_pending {
    shoal__waiter_t waiter;
    shoal_client_t *client;
    uint64_t ticket;
    uint64_t number;      /* where the thread parks */
    uint64_t patience_us; /* from then on the thread goes on without the loop; NEVER: it
                             waits for the loop */
    unsigned naps;        /* after the deadline */
    bool has_sink;
};

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal_pending_t *pending = data;

    shoal__result_keep(pending->waiter.owned, result);
    shoal__waiters_answer(&client->waiters, &pending->waiter);
}

/* A caller with room for its result.  0 or an error. */
static int new_pending(shoal_client_t *client, shoal_pending_t **ret_pending)
{
    shoal__owned_result_t *owned = shoal__result_new();
    shoal_pending_t *pending =
        owned ? shoal__arena_alloc(owned->arena, sizeof *pending) : NULL;
    int rc;

    if (!pending) {
        shoal__result_release(owned);
        return SHOAL_ENOMEM;
    }
    *pending = (shoal_pending_t){
        .waiter.owned = owned, .client = client, .patience_us = SHOAL__NEVER_US};
    rc = shoal__parker_init(&pending->waiter.parker);
    if (rc < 0) {
        shoal__result_release(owned);
        return shoal__error_system(NULL, rc, "");
    }
    *ret_pending = pending;
    return 0;
}

static void take_result(shoal_pending_t *pending, shoal_result_t **ret_result)
{
    shoal__parker_release(&pending->waiter.parker);
    *ret_result = &pending->waiter.owned->result;
}

shoal_client_t *shoal__call_client(const shoal_pending_t *pending)
{
    return pending->client;
}

/* ---- without the loop ---- */

/* Make the result on the waiting thread. */
static void make_result(shoal__owned_result_t *owned, int status, shoal_fate_t fate,
                        uint64_t ticket, const char *detail)
{
    const shoal_result_t result = {
        .status = status, .fate = fate, .detail = detail, .ticket = ticket};

    shoal__result_keep(owned, &result);
}

/* If the command still lies in the mailbox, take it back: it will not be sent.  False:
 * the loop has taken it over. */
static bool take_back(shoal_pending_t *pending, int status, const char *detail,
                      shoal_result_t **ret_result)
{
    shoal_client_t *client = pending->client;
    shoal__extra_t *extra;
    bool is_back;

    shoal__client_lock(client);
    is_back = shoal__mailbox_take_back_locked(&client->mailbox, pending->ticket,
                                              status == SHOAL_ETIMEOUT, &extra);
    if (is_back && pending->waiter.is_plain)
        client->mailbox.side.plain--;
    shoal__client_unlock(client);
    if (!is_back)
        return false;
    shoal__extra_drop(extra);
    make_result(pending->waiter.owned, status, SHOAL_FATE_NOT_EXECUTED, pending->ticket,
                detail);
    take_result(pending, ret_result);
    return true;
}

/* The loop has the command, and may be working on it: leave the record to the loop.
 * False: the result is there, or there is no memory for another one. */
static bool leave(shoal_pending_t *pending, shoal_result_t **ret_result)
{
    shoal__owned_result_t *owned = shoal__result_new();
    uint64_t ticket = pending->ticket;

    if (!owned)
        return false;
    if (!shoal__parker_leave(&pending->waiter.parker)) {
        shoal__result_release(owned);
        return false;
    }
    make_result(
        owned, SHOAL_ETIMEOUT, SHOAL_FATE_UNKNOWN, ticket,
        "the deadline passed; the loop thread was busy, and the command may have "
        "been sent");
    *ret_result = &owned->result;
    return true;
}

/* The deadline passed and the loop did not say so.  True: the thread has a result. */
static bool come_back(shoal_pending_t *pending, shoal_result_t **ret_result)
{
    if (take_back(pending, SHOAL_ETIMEOUT,
                  "the deadline passed; the loop thread was busy, and the command was "
                  "never sent",
                  ret_result))
        return true;
    if (pending->has_sink) { /* the loop may be using the sink now */
        pending->patience_us = SHOAL__NEVER_US;
        return false;
    }
    pending->patience_us = shoal__clock_us() + NAP_US;
    return ++pending->naps > NAPS_MAX && leave(pending, ret_result);
}

/* ---- waiting ---- */

static int wait_for_result(shoal_pending_t *pending, uint64_t until_us,
                           shoal_result_t **ret_result)
{
    while (!shoal__parker_park(&pending->waiter.parker,
                               &pending->client->waiters.parking, pending->number,
                               shoal__time_min(until_us, pending->patience_us))) {
        uint64_t now_us = shoal__clock_us();
        if (now_us >= pending->patience_us) {
            if (come_back(pending, ret_result))
                return 0;
        } else if (until_us != SHOAL__NEVER_US) {
            return SHOAL_EAGAIN; /* the time is over, or a signal came */
        }
    }
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

/* A loop of the user's may be busy with other things: its callers come back without it. */
static void begin_patience(shoal_pending_t *pending, const shoal_command_t *command,
                           const shoal_call_t *call)
{
    const shoal_client_t *client = pending->client;

    if (client->drive != SHOAL__DRIVE_THREAD && shoal__encoder_bytes(command) > 0)
        pending->patience_us = shoal__time_after(
            shoal__clock_us(), shoal__plan_timeout_us(command, call, client->options));
}

/* May threads in other plain calls deliver the result?  The first call with a sink that may
 * run there (SHOAL_CALL_SINK_HERE) is not plain, so it ends the round of callers that are
 * awake; from then on only threads with that flag stay awake.  (The others may hold locks
 * that a sink takes.) */
static bool is_plain(shoal_client_t *client, const shoal_pending_t *pending,
                     const shoal_call_t *call)
{
    bool runs_sinks = atomic_load_explicit(&client->runs_sinks, memory_order_relaxed);

    if (call->on_release || !pending->waiter.may_drive)
        return false;
    if (runs_sinks)
        return pending->waiter.runs_sinks;
    if (pending->has_sink)
        atomic_store_explicit(&client->runs_sinks, true, memory_order_relaxed);
    return !pending->has_sink;
}

int shoal__call_begin(shoal_client_t *client, const shoal_command_t *command,
                      const shoal_call_t *call, uint64_t until_us,
                      shoal_pending_t **ret_pending, shoal_result_t **ret_result)
{
    shoal__submission_t submission = {
        .commands = command, .count = 1, .call = *call, .on_result = on_result};
    shoal_pending_t *pending = NULL;
    bool is_leased = false;
    int rc = new_pending(client, &pending);

    if (!pending) {
        atomic_fetch_add_explicit(&client->ledger.refused, 1, memory_order_relaxed);
        return shoal__error_plain(call->error, rc);
    }
    /* A sink is a callback: not for a thread that may hold locks of its own. */
    pending->has_sink = call->sink || call->chunks;
    begin_patience(pending, command, call);
    /* The thread stays until the loop has answered it. */
    submission.is_lent =
        client->drive == SHOAL__DRIVE_THREAD && until_us == SHOAL__NEVER_US;
    pending->waiter.may_drive =
        !pending->has_sink || call->flags & SHOAL_CALL_SINK_HERE;
    pending->waiter.runs_sinks = (call->flags & SHOAL_CALL_SINK_HERE) != 0;
    pending->waiter.is_plain = is_plain(client, pending, call);
    submission.waiter = &pending->waiter;
    submission.is_leased = &is_leased;
    submission.data = pending;
    rc = shoal__client_submit(client, &submission, &pending->ticket);
    if (rc < 0) {
        shoal__parker_release(&pending->waiter.parker);
        shoal__result_release(pending->waiter.owned);
        return rc;
    }
    /* Calls on leases are not answered together: each thread has a spot of its own. */
    pending->number = pending->ticket * (is_leased ? SHOAL__PARKING_NEIGHBOURS : 1);
    if (shoal__awake_drive(client, &pending->waiter, until_us))
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
    shoal_client_t *client = pending->client;
    int rc;

    if (take_back(pending, SHOAL_ECANCELLED, "cancelled", ret_result)) {
        shoal__client_release(client);
        return 0;
    }
    /* If the command cannot be cancelled, its result is on its way. */
    rc = shoal__client_cancel(client, pending->ticket);
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
        else if (gate->last_status == SHOAL_EAUTH || gate->last_status == SHOAL_ETLS)
            rc = gate->last_status;
        else
            is_in_time = shoal__gate_wait_locked(&client->gate, until_us);
    }
    shoal__client_unlock(client);
    return rc;
}
