/* SPDX-License-Identifier: MIT */
#include "client/driver.h"

#include "base/time_us.h"
#include "client/awake_count.h"
#include "client/client.h"

/* How long the background thread naps while nobody drives. */
#define NAP_US 100000
/* ... while it is not certain that callers will look for the replies that are due. */
#define SHORT_NAP_US 100

static shoal__route_view_t view_of(const shoal_client_t *client)
{
    shoal__route_view_t view;

    shoal__client_route(client)->ops->view(shoal__client_route(client), &view);
    return view;
}

/* Is there nothing that only the background thread can do? */
static bool is_undisturbed_locked(const shoal_client_t *client,
                                  const shoal__route_view_t *view)
{
    return !client->gate.is_close_wanted && client->gate.waiting == 0 &&
           !client->events.is_due && view->is_ready;
}

/* Is nothing queued or outstanding? */
static bool is_idle_locked(const shoal_client_t *client,
                           const shoal__route_view_t *view)
{
    return view->is_idle && shoal__mailbox_is_empty_locked(&client->mailbox);
}

/* Are plain calls the only ones that wait, so that any of their threads may drive? */
static bool is_shared_locked(const shoal_client_t *client)
{
    return shoal__company_is_plain(&client->company,
                                   shoal__ledger_owed(&client->ledger)) &&
           shoal__mailbox_is_plain_locked(&client->mailbox) &&
           shoal__client_route(client)->ops->may_share(shoal__client_route(client));
}

static bool is_quiet_locked(const shoal_client_t *client)
{
    shoal__route_view_t view = view_of(client);

    return is_undisturbed_locked(client, &view) && is_idle_locked(client, &view);
}

/* The account and the ledger are brought up to date. */
static void publish_locked(shoal_client_t *client)
{
    shoal__client_route(client)->ops->publish(shoal__client_route(client));
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

/* Did results come since the last look, and nothing but those of one blocking call, which
 * was alone, or of calls whose threads may drive together? */
static bool was_of_callers(shoal_client_t *client, const shoal__route_view_t *view)
{
    const shoal__waiters_t *waiters = &client->waiters;
    uint64_t count = client->ledger.settled - client->seen_settled;

    client->seen_settled = client->ledger.settled;
    if (count == 0)
        return false;
    if (count == waiters->drivers_count &&
        ((count == 1 && view->is_idle &&
          shoal__counter_get(&client->mailbox.queued_now) == 0) ||
         (count == waiters->plain_count &&
          shoal__awake_rule_allows(&client->awake_rule, view->rtt_us,
                                   shoal__client_now_us(client)))))
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
    if (!was_of_callers(client, &view))
        return false;
    shoal__client_lock(client);
    shoal__driver_seat_step_locked(&client->seat, SHOAL__DRIVER_ON_LONE, true);
    may_park = shoal__driver_token_may_park(&client->seat.token) &&
               is_undisturbed_locked(client, &view) &&
               (is_idle_locked(client, &view) || is_shared_locked(client));
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

void shoal__driver_delivered(shoal_client_t *client)
{
    shoal__waiters_t *waiters = &client->waiters;

    shoal__counter_add(&client->answered, waiters->answered_count);
    shoal__company_settle(&client->company, waiters->plain_count);
    if (!client->direct) { /* a direct driver wakes threads when it leaves the loop */
        shoal__counter_add(&client->caller_wakeups,
                           waiters->answered_count + waiters->touched_count);
        if (!parks_next(client))
            wake_answered(client);
        shoal__waiters_announce(waiters);
    }
    waiters->answered_count = waiters->drivers_count = waiters->plain_count = 0;
}

/* A direct driver goes on only for its own reply. */
static bool may_sleep_directly(const shoal_client_t *client)
{
    return !client->direct->is_answered && !client->events.is_due;
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
    if (client->direct)
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

/* Does a caller sleep whose reply nobody looks for? */
static bool is_left_alone_locked(const shoal_client_t *client)
{
    const shoal__driver_seat_t *seat = &client->seat;

    return seat->token.driver == SHOAL__DRIVER_PARKED && seat->awake == 0 &&
           (shoal__ledger_owed(&client->ledger) > 0 ||
            !shoal__mailbox_is_empty_locked(&client->mailbox));
}

static void nap_locked(shoal_client_t *client)
{
    shoal__driver_seat_t *seat = &client->seat;
    uint64_t until_us = shoal__clock_us() + NAP_US, turns;
    bool is_quiet;

    if (is_left_alone_locked(client))
        until_us -= NAP_US - SHORT_NAP_US;
    if (seat->token.driver == SHOAL__DRIVER_PARKED && seat->awake == 0)
        until_us = shoal__time_min(until_us, client->wake_us);
    shoal__driver_seat_nap_locked(seat, until_us);
    if (seat->token.driver != SHOAL__DRIVER_PARKED)
        return;
    turns = shoal__counter_get(&client->turns);
    is_quiet = turns != client->seen_turns && !is_left_alone_locked(client) &&
               (seat->awake > 0 || shoal__clock_us() < client->wake_us);
    client->seen_turns = turns;
    shoal__driver_seat_step_locked(seat, SHOAL__DRIVER_ON_NAPPED, is_quiet);
}

/* No thread drives: the background thread's nap ends when the route is due. */
static void park_locked(shoal_client_t *client)
{
    if (client->seat.awake > 0)
        return; /* they look all the time */
    client->was_parked = true;
    client->wake_us =
        shoal__client_route(client)->ops->next_wake_us(shoal__client_route(client));
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
    shoal__route_view_t view = view_of(client);
    shoal__list_t callers;

    shoal__list_init(&callers);
    shoal__client_lock(client);
    shoal__waiters_take(&client->waiters, &callers);
    publish_locked(client); /* no turn may follow for a while */
    step_locked(client, SHOAL__DRIVER_ON_TURNED,
                is_undisturbed_locked(client, &view) &&
                    (is_idle_locked(client, &view) || is_shared_locked(client)));
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

/* May it stay awake until its result is there? */
static bool may_stay_locked(const shoal_client_t *client, const shoal__waiter_t *waiter,
                            const shoal__route_view_t *view)
{
    return shoal__awake_fits_locked(client, waiter) && is_shared_locked(client) &&
           (shoal__awake_counts_locked(client, waiter) ||
            shoal__awake_rule_allows(&client->awake_rule, view->rtt_us,
                                     shoal__clock_us()));
}

static bool take_locked(shoal_client_t *client, shoal__waiter_t *waiter, bool may_drive)
{
    if (shoal__driver_seat_step_locked(&client->seat, SHOAL__DRIVER_ON_CALL,
                                       may_drive) != SHOAL__DRIVER_DRIVE)
        return false;
    take_wheel_locked(client);
    client->direct = waiter;
    waiter->has_loop = true;
    return true;
}

bool shoal__driver_take_locked(shoal_client_t *client, shoal__waiter_t *waiter,
                               bool may_poll)
{
    shoal__route_view_t view;
    bool may_stay, is_taken;

    /* An answered caller is on the list of the thread that answered, which wakes it. */
    if (client->seat.token.driver != SHOAL__DRIVER_PARKED || !waiter->may_drive ||
        waiter->is_answered)
        return false;
    view = view_of(client);
    may_stay = may_stay_locked(client, waiter, &view);
    is_taken =
        take_locked(client, waiter,
                    is_undisturbed_locked(client, &view) &&
                        (may_stay || (may_poll && is_idle_locked(client, &view))));
    if (is_taken && may_stay)
        shoal__awake_enter_locked(client, waiter);
    else if (is_taken)
        shoal__counter_add(&client->direct_calls, 1);
    return is_taken;
}

bool shoal__driver_take(shoal_client_t *client, shoal__waiter_t *waiter)
{
    bool is_taken;

    /* If the thread does not see that the loop is parked, it sees that next time. */
    if (atomic_load_explicit(&client->seat.driver, memory_order_relaxed) !=
        SHOAL__DRIVER_PARKED)
        return false;
    shoal__client_lock(client);
    is_taken = shoal__driver_take_locked(client, waiter, true);
    shoal__client_unlock(client);
    return is_taken;
}

bool shoal__driver_take_alone_locked(shoal_client_t *client, shoal__waiter_t *waiter)
{
    shoal__route_view_t view = view_of(client);

    return take_locked(client, waiter,
                       is_undisturbed_locked(client, &view) &&
                           shoal__ledger_owed(&client->ledger) == 1 &&
                           shoal__mailbox_is_empty_locked(&client->mailbox));
}

/* The thread drives no more.  The callers that have their results are to be woken. */
static void left_locked(shoal_client_t *client, shoal__waiter_t *waiter,
                        shoal__list_t *callers)
{
    client->direct = NULL;
    waiter->has_loop = false;
    client->seen_settled = client->ledger.settled;
    publish_locked(client);
    if (client->events.is_due) /* they are told before any of these results */
        return;
    shoal__waiters_take(&client->waiters, callers);
    if (waiter->is_answered) {
        shoal__list_remove(&waiter->node);
        shoal__awake_leave_locked(client, waiter);
    }
    shoal__awake_answered_locked(client, callers);
}

/* Has the thread that drives its result, and may it go?  Events are told before. */
static bool may_go(const shoal_client_t *client, const shoal__waiter_t *waiter)
{
    return waiter->is_answered && !client->events.is_due;
}

shoal__driver_left_t shoal__driver_leave(shoal_client_t *client,
                                         shoal__waiter_t *waiter)
{
    shoal__route_view_t view = view_of(client);
    shoal__list_t callers;
    bool may_park, is_answered;

    shoal__list_init(&callers);
    shoal__client_lock(client);
    is_answered = may_go(client, waiter);
    left_locked(client, waiter, &callers);
    may_park = is_undisturbed_locked(client, &view) &&
               (is_idle_locked(client, &view) ||
                (client->seat.awake > 0 && is_shared_locked(client)));
    may_park =
        step_locked(client, SHOAL__DRIVER_ON_LEFT, may_park) == SHOAL__DRIVER_PARK;
    shoal__client_unlock(client);
    shoal__waiters_wake(&client->waiters, &callers);
    if (is_answered)
        return SHOAL__DRIVER_LEFT_ANSWERED;
    return may_park ? SHOAL__DRIVER_LEFT_FREE : SHOAL__DRIVER_LEFT_TO_BACKGROUND;
}

void shoal__driver_release(shoal_client_t *client, shoal__waiter_t *waiter)
{
    shoal__client_lock(client);
    shoal__awake_leave_locked(client, waiter);
    shoal__client_unlock(client);
    waiter->is_staying = false;
    shoal__driver_leave(client, waiter);
}

bool shoal__driver_poll_alone(shoal_client_t *client, shoal__waiter_t *waiter,
                              uint64_t until_us)
{
    bool is_answered, is_in_time, is_undisturbed;
    shoal__driver_verdict_t verdict;
    shoal__route_view_t view;
    shoal__list_t callers;

    shoal__list_init(&callers);
    do {
        shoal__loop_iterate(&client->loop, until_us);
        is_in_time = until_us == SHOAL__NEVER_US || shoal__clock_us() < until_us;
        view = view_of(client);
        shoal__client_lock(client);
        is_answered = may_go(client, waiter);
        is_undisturbed = is_undisturbed_locked(client, &view) &&
                         shoal__mailbox_is_empty_locked(&client->mailbox);
        if (is_answered)
            verdict = step_locked(client, SHOAL__DRIVER_ON_LEFT,
                                  is_undisturbed && view.is_idle);
        else
            verdict = step_locked(client, SHOAL__DRIVER_ON_TURNED,
                                  is_in_time && is_undisturbed);
        if (verdict != SHOAL__DRIVER_KEEP)
            left_locked(client, waiter, &callers);
        shoal__client_unlock(client);
    } while (verdict == SHOAL__DRIVER_KEEP);
    shoal__waiters_wake(&client->waiters, &callers);
    return is_answered;
}
