/* SPDX-License-Identifier: MIT */
#include "client/driver.h"

#include "base/time_us.h"
#include "client/client.h"

/* How long the background thread naps while nobody drives. */
#define NAP_US 100000

static shoal__route_view_t view_of(const shoal_client_t *client)
{
    shoal__route_view_t view;

    client->route->ops->view(client->route, &view);
    return view;
}

/* Is nothing left to be done but to wait for the direct caller's own reply? */
static bool is_undisturbed_locked(const shoal_client_t *client,
                                  const shoal__route_view_t *view)
{
    return shoal__mailbox_is_empty_locked(&client->mailbox) &&
           !client->gate.is_close_wanted && client->gate.waiting == 0 &&
           !client->events.is_due && view->is_ready;
}

static bool is_quiet_locked(const shoal_client_t *client)
{
    shoal__route_view_t view = view_of(client);

    return is_undisturbed_locked(client, &view) && view.is_idle;
}

/* The account and the ledger are brought up to date. */
static void publish_locked(shoal_client_t *client)
{
    client->route->ops->publish(client->route);
    shoal__ledger_published(&client->ledger);
}

static void set_loop_thread(shoal_client_t *client, uintptr_t thread)
{
    atomic_store_explicit(&client->loop_thread, thread, memory_order_relaxed);
}

static void take_wheel_locked(shoal_client_t *client)
{
    set_loop_thread(client, (uintptr_t)pthread_self());
    shoal__driver_seat_taken_locked(&client->seat);
}

/* ---- the end of a turn ---- */

/* Did exactly one command complete since the last look: a blocking call, which was
 * alone? */
static bool was_lone(shoal_client_t *client, const shoal__route_view_t *view)
{
    uint64_t count = client->ledger.settled - client->seen_settled;

    client->seen_settled = client->ledger.settled;
    if (count == 0)
        return false;
    if (count == 1 && client->waiters.drivers_count == 1 && view->is_idle &&
        shoal__counter_get(&client->mailbox.queued_now) == 0)
        return true;
    client->had_company = true;
    return false;
}

/* Stop the loop if it can be parked now.  True: it stops. */
static bool parks_next(shoal_client_t *client)
{
    shoal__route_view_t view;
    bool may_park;

    if (client->drive != SHOAL__DRIVE_THREAD)
        return false;
    view = view_of(client);
    if (!was_lone(client, &view))
        return false;
    shoal__client_lock(client);
    shoal__driver_seat_step_locked(&client->seat, SHOAL__DRIVER_ON_LONE, true);
    may_park = shoal__driver_token_may_park(&client->seat.token) &&
               is_undisturbed_locked(client, &view);
    shoal__client_unlock(client);
    if (may_park)
        shoal__loop_stop(&client->loop);
    return may_park;
}

static void wake_answered(shoal_client_t *client)
{
    shoal__list_t callers;

    shoal__list_init(&callers);
    shoal__waiters_take(&client->waiters, &callers);
    shoal__waiters_wake(&client->waiters, &callers);
}

/* The thread that drives has its own result: no thread needs to be woken.  While events
 * are due it must not return: they are told before. */
static void delivered_directly(shoal_client_t *client)
{
    shoal__waiters_t *waiters = &client->waiters;

    if (client->events.is_due || shoal__list_is_empty(&waiters->answered))
        return;
    shoal__list_remove(waiters->answered.next);
    waiters->answered_count = waiters->drivers_count = 0;
    client->is_answered = true;
}

/* Callers that may relieve the driver shall find it asleep: shoal__relief_sleep() wakes
 * them. */
static bool wakes_later(const shoal_client_t *client)
{
    return client->drive == SHOAL__DRIVE_THREAD && !client->is_closing &&
           shoal__company_is_steady(&client->company) &&
           client->route->ops->may_relieve(client->route);
}

void shoal__driver_delivered(shoal_client_t *client)
{
    shoal__waiters_t *waiters = &client->waiters;

    shoal__company_look(&client->company, client->ledger.settled, waiters->plain_count);
    waiters->plain_count = 0;
    if (client->is_direct) {
        delivered_directly(client);
        return;
    }
    shoal__counter_add(&client->caller_wakeups,
                       waiters->answered_count + waiters->touched_count);
    if (client->is_relieved || (!parks_next(client) && !wakes_later(client)))
        wake_answered(client);
    waiters->answered_count = waiters->drivers_count = 0;
    shoal__waiters_announce(waiters);
}

/* A direct driver goes on only for its own reply. */
static bool may_sleep_directly(const shoal_client_t *client)
{
    return !client->is_answered && !client->events.is_due;
}

/* The background thread: is it time to be parked?  The loop then stops. */
static bool parks_now_locked(shoal_client_t *client)
{
    if (client->had_company)
        shoal__driver_seat_step_locked(&client->seat, SHOAL__DRIVER_ON_COMPANY, true);
    client->had_company = false;
    if (!shoal__driver_token_may_park(&client->seat.token) || !is_quiet_locked(client))
        return false;
    shoal__loop_stop(&client->loop);
    return true;
}

/* If the loop may sleep, threads that submit wake it from now on. */
bool shoal__driver_may_sleep(shoal_client_t *client, uint64_t wake_us)
{
    shoal__route_view_t view = view_of(client);
    bool may_sleep;

    shoal__client_lock(client);
    may_sleep = shoal__mailbox_is_empty_locked(&client->mailbox) &&
                (client->is_closing || !client->gate.is_close_wanted);
    if (client->is_direct)
        may_sleep = may_sleep && may_sleep_directly(client);
    else if (client->drive == SHOAL__DRIVE_THREAD)
        may_sleep = !parks_now_locked(client) && may_sleep;
    /* A command whose deadline is less than one round trip behind the planned wake-up
     * wakes the loop at once. */
    if (may_sleep)
        shoal__mailbox_sleep_locked(
            &client->mailbox, shoal__time_after(wake_us, view.rtt_us), view.wake_after);
    else
        client->seat.is_asleep = false;
    /* The figures are fresh now: threads that wait for room look again. */
    shoal__gate_tell_locked(&client->gate);
    shoal__client_unlock(client);
    return may_sleep;
}

/* ---- the background thread ---- */

static void nap_locked(shoal_client_t *client)
{
    shoal__driver_seat_t *seat = &client->seat;
    uint64_t until_us = shoal__clock_us() + NAP_US, turns;
    bool is_quiet;

    if (seat->token.driver == SHOAL__DRIVER_PARKED)
        until_us = shoal__time_min(until_us, client->wake_us);
    shoal__driver_seat_nap_locked(seat, until_us);
    if (seat->token.driver != SHOAL__DRIVER_PARKED)
        return;
    turns = shoal__counter_get(&client->turns);
    is_quiet = turns != client->seen_turns && shoal__clock_us() < client->wake_us;
    client->seen_turns = turns;
    shoal__driver_seat_step_locked(seat, SHOAL__DRIVER_ON_NAPPED, is_quiet);
}

/* No thread drives: the background thread's nap ends when the route is due. */
static void park_locked(shoal_client_t *client)
{
    client->was_parked = true;
    client->wake_us = client->route->ops->next_wake_us(client->route);
    if (client->wake_us < client->seat.nap_until_us)
        shoal__driver_seat_call_locked(&client->seat);
}

/* The driver ran one iteration, or has its result: what now? */
static shoal__driver_verdict_t step_locked(shoal_client_t *client,
                                           shoal__driver_event_t event, bool is_quiet)
{
    shoal__driver_verdict_t verdict =
        shoal__driver_seat_step_locked(&client->seat, event, is_quiet);

    if (verdict == SHOAL__DRIVER_PARK)
        park_locked(client);
    if (verdict != SHOAL__DRIVER_KEEP)
        set_loop_thread(client, 0);
    return verdict;
}

static void stop_running(shoal_client_t *client)
{
    shoal__list_t callers;

    shoal__list_init(&callers);
    shoal__client_lock(client);
    shoal__waiters_take(&client->waiters, &callers);
    publish_locked(client); /* no turn may follow for a while */
    step_locked(client, SHOAL__DRIVER_ON_TURNED, is_quiet_locked(client));
    client->seen_turns = shoal__counter_get(&client->turns); /* its own do not count */
    shoal__client_unlock(client);
    shoal__waiters_wake(&client->waiters, &callers);
}

void shoal__driver_run(shoal_client_t *client)
{
    while (!client->is_gone) {
        shoal__client_lock(client);
        while (client->seat.token.driver != SHOAL__DRIVER_BACKGROUND)
            nap_locked(client);
        take_wheel_locked(client);
        shoal__client_unlock(client);

        shoal__loop_run(&client->loop);
        if (client->is_gone)
            return;

        stop_running(client);
    }
}

/* ---- a thread in a blocking call ---- */

bool shoal__driver_take(shoal_client_t *client)
{
    shoal__driver_seat_t *seat = &client->seat;
    bool is_taken;

    /* If the thread does not see that the loop is parked, it sees that next time. */
    if (!atomic_load_explicit(&seat->is_parked, memory_order_relaxed))
        return false;
    shoal__client_lock(client);
    is_taken =
        seat->token.driver == SHOAL__DRIVER_PARKED &&
        shoal__driver_seat_step_locked(seat, SHOAL__DRIVER_ON_CALL,
                                       is_quiet_locked(client)) == SHOAL__DRIVER_DRIVE;
    if (is_taken) {
        take_wheel_locked(client);
        client->is_direct = true;
    }
    shoal__client_unlock(client);
    return is_taken;
}

/* True: the drive is over, because the result is there, or the loop has other work. */
static bool has_left(shoal_client_t *client, bool is_answered, bool is_in_time)
{
    shoal__route_view_t view = view_of(client);
    shoal__driver_verdict_t verdict;

    shoal__client_lock(client);
    if (is_answered)
        verdict = step_locked(client, SHOAL__DRIVER_ON_ANSWERED,
                              is_undisturbed_locked(client, &view) && view.is_idle);
    else
        verdict = step_locked(client, SHOAL__DRIVER_ON_TURNED,
                              is_in_time && is_undisturbed_locked(client, &view));
    if (verdict != SHOAL__DRIVER_KEEP) {
        client->is_direct = client->is_answered = false;
        client->seen_settled = client->ledger.settled;
        publish_locked(client);
    }
    shoal__client_unlock(client);
    return verdict != SHOAL__DRIVER_KEEP;
}

void shoal__driver_release(shoal_client_t *client)
{
    has_left(client, true, true);
}

bool shoal__driver_drive(shoal_client_t *client, uint64_t until_us)
{
    bool is_answered, is_in_time;
    int cancel_state;

    /* A thread that is cancelled in the poll would take the loop with it. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    shoal__counter_add(&client->direct_calls, 1);
    do {
        shoal__loop_iterate(&client->loop, until_us);
        is_answered = client->is_answered;
        is_in_time = until_us == SHOAL__NEVER_US || shoal__clock_us() < until_us;
    } while (!has_left(client, is_answered, is_in_time));
    pthread_setcancelstate(cancel_state, NULL);
    return is_answered;
}
