/* SPDX-License-Identifier: MIT */
#include "client/turn.h"

#include "base/time_us.h"
#include "client/client.h"
#include "client/driver.h"
#include "client/intake.h"
#include "client/lease_count.h"
#include "client/mode.h"
#include "client/scripts.h"

/* A loop that was not run for so long is late. */
#define LATE_US 10000

/* ---- what the route tells ---- */

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    shoal_client_t *client = owner;

    shoal__ledger_complete(&client->ledger, client, request, result);
}

/* MONITOR itself has its result. */
static void on_line(void *owner, const shoal__request_t *monitor,
                    const shoal_result_t *result)
{
    monitor->on_result(owner, result, monitor->data);
}

static bool is_ready(const shoal_client_t *client)
{
    shoal__route_view_t view;

    shoal__client_route(client)->ops->view(shoal__client_route(client), &view);
    return view.is_ready;
}

static void on_event(void *owner, const shoal_event_t *event)
{
    shoal_client_t *client = owner;

    if (client->direct)
        shoal__events_hold(&client->events, event);
    else
        shoal__events_tell(&client->events, event, is_ready(client));
}

static void on_reading(void *owner, uint64_t now_us)
{
    shoal_client_t *client = owner;

    shoal__ledger_enter_call(&client->ledger, now_us);
    client->ledger.is_reading = true;
}

static void on_delivered(void *owner)
{
    shoal_client_t *client = owner;

    if (client->ledger.is_reading) {
        client->ledger.is_reading = false;
        shoal__ledger_leave_call(&client->ledger);
    }
    shoal__driver_delivered(client);
}

const shoal__route_hooks_t shoal__turn_route_hooks = {.on_result = on_result,
                                                      .on_event = on_event,
                                                      .on_reading = on_reading,
                                                      .on_delivered = on_delivered,
                                                      .on_line = on_line};

/* ---- the turn ---- */

static void begin_close(shoal_client_t *client, uint64_t now_us)
{
    shoal__client_lock(client);
    bool is_wanted = client->gate.is_close_wanted;
    uint64_t drain_us = client->gate.drain_us;
    shoal__client_unlock(client);

    if (is_wanted && !client->is_closing) {
        client->is_closing = true;
        client->drain_until_us = shoal__time_after(now_us, drain_us);
    }
}

static void close_if_drained(shoal_client_t *client, uint64_t now_us)
{
    if (shoal__ledger_owed(&client->ledger) > 0 && now_us < client->drain_until_us)
        return;
    client->is_shut = true;
    shoal__gate_end(&client->gate);
    shoal__client_route(client)->ops->shut(shoal__client_route(client), now_us);
    shoal__lease_end_shut(client);
    shoal__driver_delivered(client);
    shoal__loop_close(&client->loop);
}

/* Has the caller's own loop stood still while replies were due?  They may have come in
 * time: look at them before the clock. */
static bool is_late(const shoal_client_t *client, uint64_t now_us)
{
    return client->drive != SHOAL__DRIVE_THREAD &&
           shoal__counter_get(&client->counts.account.inflight) > 0 &&
           shoal__time_since(client->ledger.now_us, now_us) > LATE_US;
}

/* Begin the turn; run() leaves the ledger's call that this function enters. */
static void look(shoal_client_t *client, uint64_t now_us)
{
    bool is_behind = client->was_parked || is_late(client, now_us);

    shoal__ledger_enter_call(&client->ledger, now_us);
    client->was_parked = false;
    if (!client->is_open) {
        client->is_open = true;
        shoal__client_route(client)->ops->open(shoal__client_route(client),
                                               &client->loop);
    }
    if (is_behind)
        shoal__client_route(client)->ops->read_ahead(shoal__client_route(client));
}

/* What other threads, or a direct driver, left to be done. */
static void take_over(shoal_client_t *client, uint64_t now_us)
{
    shoal__events_tell_held(&client->events, is_ready(client));
    /* In this order: commands that were accepted before the close are taken over. */
    begin_close(client, now_us);
    shoal__intake_run(client, now_us);
    shoal__mode_turn(client, now_us);
}

/* Returns when the route's next turn is due. */
static uint64_t run(shoal_client_t *client, uint64_t now_us)
{
    uint64_t wake_us;

    shoal__client_route(client)->awake = 0;
    look(client, now_us);
    if (!client->direct)
        take_over(client, now_us);
    shoal__client_take_scripts(client);
    wake_us =
        shoal__client_route(client)->ops->turn(shoal__client_route(client), now_us);
    shoal__driver_delivered(client);
    if (client->is_closing) {
        close_if_drained(client, now_us);
        wake_us = shoal__time_min(wake_us, client->drain_until_us);
    }
    shoal__ledger_leave_call(&client->ledger);
    return wake_us;
}

void shoal__turn_awake(shoal_client_t *client, bool is_still, uint64_t now_us)
{
    shoal__counter_add(&client->turns, 1);
    shoal__ledger_enter_call(&client->ledger, now_us);
    is_still |= client->was_parked;
    client->was_parked = false;
    shoal__client_route(client)->awake =
        atomic_load_explicit(&client->inside, memory_order_relaxed);
    shoal__client_route(client)->is_still = is_still;
    if (is_still || now_us >= client->look_us) {
        shoal__client_route(client)->ops->read_ahead(shoal__client_route(client));
        client->look_us = now_us + shoal__client_route(client)->awake / 4;
    }
    if (shoal__counter_get(&client->mailbox.queued_now) > 0)
        shoal__intake_run(client, now_us);
    shoal__client_take_scripts(client);
    client->wake_us =
        shoal__client_route(client)->ops->turn(shoal__client_route(client), now_us);
    shoal__driver_delivered(client);
    shoal__ledger_leave_call(&client->ledger);
}

uint64_t shoal__turn_run(void *owner, uint64_t now_us)
{
    shoal_client_t *client = owner;
    uint64_t wake_us;

    if (client->is_shut)
        return SHOAL__NEVER_US;
    shoal__counter_add(&client->turns, 1);
    if (client->drive != SHOAL__DRIVE_THREAD)
        atomic_store_explicit(&client->loop_thread, (uintptr_t)pthread_self(),
                              memory_order_relaxed);
    wake_us = run(client, now_us);
    shoal__client_route(client)->ops->publish(shoal__client_route(client));
    shoal__ledger_published(&client->ledger);
    if (client->is_shut)
        return SHOAL__NEVER_US;
    client->wake_us = wake_us;
    return shoal__driver_may_sleep(client, wake_us) ? wake_us : now_us;
}
