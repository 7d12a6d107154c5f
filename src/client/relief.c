/* SPDX-License-Identifier: MIT */
#include "client/relief.h"

#include "base/time_us.h"
#include "client/client.h"
#include "client/turn.h"

/* So many turns in a row at most, for commands that came during the last one: the thread
 * has a result of its own to wait for. */
#define TURNS_MAX 2

/* A loop that did nothing for so long paused. */
#define PAUSE_US 1000

/* ---- the background thread ---- */

static bool route_may(const shoal_client_t *client)
{
    return client->route->ops->may_relieve(client->route);
}

/* May other threads run the next turn, as far as the client goes? */
static bool client_may_locked(const shoal_client_t *client)
{
    return shoal__company_is_plain(&client->company,
                                   shoal__ledger_owed(&client->ledger)) &&
           !client->events.is_due && !client->gate.is_close_wanted;
}

static bool opens(shoal_client_t *client)
{
    bool is_open;

    if (!shoal__company_is_steady(&client->company) ||
        !shoal__loop_may_sleep(&client->loop) || !route_may(client))
        return false;
    shoal__client_lock(client);
    is_open =
        client_may_locked(client) && shoal__driver_seat_open_locked(&client->seat);
    shoal__client_unlock(client);
    return is_open;
}

void shoal__relief_sleep(void *owner)
{
    shoal_client_t *client = owner;
    shoal__list_t callers;
    bool is_open;

    if (client->is_direct || client->loop.is_stopped)
        return;
    shoal__list_init(&callers);
    shoal__waiters_take(&client->waiters, &callers);
    is_open = opens(client);
    shoal__waiters_wake(&client->waiters, &callers);
    if (!is_open)
        return;
    shoal__loop_sleep(&client->loop);
    shoal__client_lock(client);
    shoal__driver_seat_come_back_locked(&client->seat);
    shoal__client_unlock(client);
}

/* ---- callers ---- */

bool shoal__relief_begins_locked(shoal_client_t *client)
{
    return shoal__mailbox_is_plain_locked(&client->mailbox) &&
           shoal__driver_seat_relieve_locked(&client->seat);
}

/* The turn is over, and the next one must come by wake_us.  False: the thread has the loop
 * for another turn. */
static bool gives_back(shoal_client_t *client, uint64_t wake_us, bool may_go_on)
{
    shoal__mailbox_t *mailbox = &client->mailbox;
    shoal__route_view_t view;
    bool is_plain, goes_on;

    client->route->ops->view(client->route, &view);
    is_plain = route_may(client);
    shoal__client_lock(client);
    is_plain = is_plain && client_may_locked(client) &&
               shoal__mailbox_is_plain_locked(mailbox);
    goes_on =
        is_plain && mailbox->side.count > 0 && may_go_on && !client->seat.is_awaited;
    if (is_plain && mailbox->side.count == 0)
        shoal__mailbox_sleep_locked(mailbox, shoal__time_after(wake_us, view.rtt_us),
                                    view.wake_after);
    if (!goes_on)
        shoal__driver_seat_give_back_locked(&client->seat);
    shoal__gate_tell_locked(&client->gate);
    shoal__client_unlock(client);
    return !goes_on;
}

static void run_turns(shoal_client_t *client, uint64_t now_us)
{
    unsigned turns = 0;
    uint64_t wake_us;

    do {
        if (turns > 0)
            now_us = shoal__clock_us();
        wake_us = shoal__turn_relieve(client, now_us);
        shoal__loop_wake_by(&client->loop, wake_us, now_us);
    } while (!gives_back(client, wake_us, ++turns < TURNS_MAX));
}

/* Has something arrived during a pause, when nothing was due?  It must not meet the next
 * command: the background thread, which is about to wake, reads it first.  (I4, I8) */
static bool has_arrived_unasked(const shoal_client_t *client, uint64_t now_us)
{
    return shoal__ledger_owed(&client->ledger) == 0 &&
           shoal__time_since(client->ledger.now_us, now_us) >= PAUSE_US &&
           shoal__loop_has_events(&client->loop);
}

void shoal__relief_run(shoal_client_t *client)
{
    uint64_t now_us = shoal__clock_us();
    int cancel_state;

    /* A thread that is cancelled in the turn would take the loop with it. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    if (has_arrived_unasked(client, now_us))
        gives_back(client, SHOAL__NEVER_US, false);
    else
        run_turns(client, now_us);
    pthread_setcancelstate(cancel_state, NULL);
}
