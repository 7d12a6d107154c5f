/* SPDX-License-Identifier: MIT */

/* Which thread runs the loop of a client that was opened with a thread of its own:
 * core/driver_token.c decides, the inbox's lock guards it. */

#include "api/client.h"
#include "base/time_us.h"
#include "net/clock.h"

/* How long the background thread naps while nobody drives. */
#define NAP_US 100000

static shoal__pipe_t *pipe_of(shoal_client_t *client)
{
    return shoal__standalone_pick(&client->route);
}

/* Is nothing left to be done but to wait for the direct caller's own reply? */
static bool is_undisturbed_locked(const shoal_client_t *client)
{
    const shoal__inbox_t *inbox = &client->inbox;

    return shoal__inbox_is_empty_locked(inbox) && !inbox->is_close_wanted &&
           inbox->waiting == 0 && client->held_count == 0 &&
           client->route.conn.state == SHOAL__CONN_READY;
}

static bool is_idle(shoal_client_t *client)
{
    const shoal__pipe_t *pipe = pipe_of(client);

    return pipe->ring.head == pipe->ring.tail && pipe->retries.count == 0 &&
           pipe->retire_us == SHOAL__NEVER_US;
}

static bool is_quiet_locked(shoal_client_t *client)
{
    return is_undisturbed_locked(client) && is_idle(client);
}

static void set_loop_thread(shoal_client_t *client, uintptr_t thread)
{
    atomic_store_explicit(&client->loop_thread, thread, memory_order_relaxed);
}

static void take_wheel_locked(shoal_client_t *client)
{
    set_loop_thread(client, (uintptr_t)pthread_self());
    shoal__inbox_driven_locked(&client->inbox);
}

/* ---- the end of a turn ---- */

/* Was all that completed since the last time one blocking call, that was alone? */
static bool was_lone(shoal_client_t *client)
{
    uint64_t completed = shoal__counter_get(&pipe_of(client)->stats.completed);
    uint64_t count = completed - client->seen;

    client->seen = completed;
    if (count == 0)
        return false;
    if (count == 1 && client->drivers_count == 1 && is_idle(client) &&
        shoal__counter_get(&client->inbox.queued_now) == 0)
        return true;
    client->had_company = true;
    return false;
}

bool shoal__driver_parks_next(shoal_client_t *client)
{
    shoal__inbox_t *inbox = &client->inbox;
    bool may_park;

    if (client->drive != SHOAL__DRIVE_THREAD || !was_lone(client))
        return false;
    shoal__inbox_lock(inbox);
    shoal__inbox_drive_locked(inbox, SHOAL__DRIVER_ON_LONE, true);
    may_park =
        shoal__driver_token_may_park(&inbox->token) && is_undisturbed_locked(client);
    shoal__inbox_unlock(inbox);
    if (may_park)
        shoal__loop_stop(&client->loop);
    return may_park;
}

/* Threads signal from now on. */
bool shoal__driver_may_sleep(shoal_client_t *client, uint64_t wake_us)
{
    shoal__inbox_t *inbox = &client->inbox;
    uint64_t wake_after = client->route.conn.state == SHOAL__CONN_READY
                              ? shoal__pipe_wake_after(pipe_of(client))
                              : 1;
    /* Who must leave before the wake-up to be answered in time wakes the loop. */
    uint64_t rtt_us = pipe_of(client)->flush.learned.tempo.rtt_us;

    shoal__inbox_lock(inbox);
    bool may_sleep = shoal__inbox_is_empty_locked(inbox) &&
                     (client->is_closing || !inbox->is_close_wanted);
    if (client->is_direct) {
        may_sleep = may_sleep && !client->is_answered && client->held_count == 0;
    } else if (client->drive == SHOAL__DRIVE_THREAD) {
        if (client->had_company)
            shoal__inbox_drive_locked(inbox, SHOAL__DRIVER_ON_COMPANY, true);
        client->had_company = false;
        if (shoal__driver_token_may_park(&inbox->token) && is_quiet_locked(client)) {
            shoal__loop_stop(&client->loop);
            may_sleep = false;
        }
    }
    if (may_sleep)
        shoal__inbox_sleep_locked(inbox, shoal__time_after(wake_us, rtt_us),
                                  wake_after);
    else
        inbox->is_asleep = false;
    /* The figures are fresh now: those who wait for room look again. */
    if (inbox->waiting)
        uv_cond_broadcast(&inbox->changed);
    shoal__inbox_unlock(inbox);
    return may_sleep;
}

/* ---- the background thread ---- */

static void nap_locked(shoal_client_t *client)
{
    shoal__inbox_t *inbox = &client->inbox;
    uint64_t until_us = shoal__clock_us() + NAP_US, turns;
    bool is_quiet;

    if (inbox->token.driver == SHOAL__DRIVER_PARKED)
        until_us = shoal__time_min(until_us, client->wake_us);
    shoal__inbox_nap_locked(inbox, until_us);
    if (inbox->token.driver != SHOAL__DRIVER_PARKED)
        return;
    turns = shoal__counter_get(&client->turns);
    is_quiet = turns != client->seen_turns && shoal__clock_us() < client->wake_us;
    client->seen_turns = turns;
    shoal__inbox_drive_locked(inbox, SHOAL__DRIVER_ON_NAPPED, is_quiet);
}

/* Nobody drives: until when? */
static void park_locked(shoal_client_t *client)
{
    shoal__pipe_t *pipe = pipe_of(client);

    client->was_parked = true;
    /* No command is left, and no deadline either. */
    shoal__deadlines_walk(&pipe->deadlines, 0, pipe->now_us);
    client->wake_us = shoal__pipe_next_wake_us(pipe);
    if (client->wake_us < client->inbox.nap_until_us)
        shoal__inbox_call_locked(&client->inbox);
}

/* The driver ran one iteration: what now? */
static shoal__driver_verdict_t step_locked(shoal_client_t *client,
                                           shoal__driver_event_t event, bool is_quiet)
{
    shoal__driver_verdict_t verdict =
        shoal__inbox_drive_locked(&client->inbox, event, is_quiet);

    if (verdict == SHOAL__DRIVER_PARK)
        park_locked(client);
    if (verdict != SHOAL__DRIVER_KEEP)
        set_loop_thread(client, 0);
    return verdict;
}

static void stop_running(shoal_client_t *client)
{
    shoal__inbox_t *inbox = &client->inbox;
    shoal__list_t callers;

    shoal__list_init(&callers);
    shoal__inbox_lock(inbox);
    while (!shoal__list_is_empty(&client->parked)) {
        shoal__list_t *node = client->parked.next;
        shoal__list_remove(node);
        shoal__list_append(&callers, node);
    }
    step_locked(client, SHOAL__DRIVER_ON_TURNED, is_quiet_locked(client));
    client->seen_turns = shoal__counter_get(&client->turns); /* its own do not count */
    shoal__inbox_unlock(inbox);
    shoal__client_wake_callers(client, &callers);
}

void shoal__driver_run(shoal_client_t *client)
{
    shoal__inbox_t *inbox = &client->inbox;

    while (!client->is_gone) {
        shoal__inbox_lock(inbox);
        while (inbox->token.driver != SHOAL__DRIVER_BACKGROUND)
            nap_locked(client);
        take_wheel_locked(client);
        shoal__inbox_unlock(inbox);

        shoal__loop_run(&client->loop);
        if (client->is_gone)
            return;

        stop_running(client);
    }
}

/* ---- a thread in a blocking call ---- */

bool shoal__driver_take(shoal_client_t *client)
{
    shoal__inbox_t *inbox = &client->inbox;
    bool is_taken;

    /* What is not seen here is seen next time. */
    if (!atomic_load_explicit(&inbox->is_parked, memory_order_relaxed))
        return false;
    shoal__inbox_lock(inbox);
    is_taken =
        inbox->token.driver == SHOAL__DRIVER_PARKED &&
        shoal__inbox_drive_locked(inbox, SHOAL__DRIVER_ON_CALL,
                                  is_quiet_locked(client)) == SHOAL__DRIVER_DRIVE;
    if (is_taken) {
        take_wheel_locked(client);
        client->is_direct = true;
    }
    shoal__inbox_unlock(inbox);
    return is_taken;
}

/* The drive goes on, or is over: the result is there, or something else is to be done. */
static bool has_left(shoal_client_t *client, bool is_answered, bool is_in_time)
{
    shoal__inbox_t *inbox = &client->inbox;
    shoal__driver_verdict_t verdict;

    shoal__inbox_lock(inbox);
    if (is_answered)
        verdict =
            step_locked(client, SHOAL__DRIVER_ON_ANSWERED, is_quiet_locked(client));
    else
        verdict = step_locked(client, SHOAL__DRIVER_ON_TURNED,
                              is_in_time && is_undisturbed_locked(client));
    if (verdict == SHOAL__DRIVER_HAND_OVER && !is_answered)
        inbox->parking.entered++; /* the caller becomes one of those who wait */
    if (verdict != SHOAL__DRIVER_KEEP) {
        client->is_direct = client->is_answered = false;
        client->seen = shoal__counter_get(&pipe_of(client)->stats.completed);
        shoal__pipe_publish(pipe_of(client));
    }
    shoal__inbox_unlock(inbox);
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
