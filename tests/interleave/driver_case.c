/* SPDX-License-Identifier: MIT */

/* Threads that use a client, and the client's own. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHIM_IMPLEMENTATION
#include "client/client.h"
#include "interleave/driver_case.h"
#include "interleave/shim.h"
#include <shoal/connection.h>
#include <shoal/errors.h>
#include <shoal/pending.h>
#include <shoal/result.h>

static const driver_case_t *now;
static shoal_client_t *client;
static unsigned first_thread, threads; /* of the users, without the closer */
static unsigned accepted, completed, returned, refused;

static const char *const words[] = {"GET", "k"};

/* ---- the threads ---- */

/* Each thread of a scenario that closes early has a reference of its own.  In the others
 * the closer, who waits for them, has the only one. */
static void release(void)
{
    if (now->closes_early)
        shoal_client_release(client);
}

static const shoal_command_t command = {2, words, NULL};

/* A call that the thread does not stay in. */
static int call_and_come_back(shoal_result_t **ret_result)
{
    shoal_pending_t *pending;
    int rc = shoal_client_call_begin(client, &command, NULL, now->wait_us, &pending,
                                     ret_result);

    if (rc != SHOAL_EAGAIN)
        return rc;
    if (now->gives_up)
        return shoal_pending_give_up(pending, ret_result);
    return shoal_pending_wait(pending, SHOAL_TIMEOUT_NEVER, ret_result);
}

static bool call_once(void)
{
    const shoal_call_t room = {.size = sizeof room, .flags = SHOAL_CALL_WAIT_FOR_ROOM};
    shoal_result_t *result = NULL;
    int rc = now->wait_us
                 ? call_and_come_back(&result)
                 : shoal_client_call_with(client, &command,
                                          now->waits_for_room ? &room : NULL, &result);

    if (rc == SHOAL_ENOMEM && now->rig.lacks_memory && refused++ == 0)
        return true;
    if (rc < 0) {
        explore_check(now->closes_early && rc == SHOAL_ECLOSED);
        return false;
    }
    int status = shoal_result_status(result);
    explore_check(status == 0 || (now->closes_early && status == SHOAL_ESHUTDOWN) ||
                  (now->rig.fails && status == SHOAL_ECONN) ||
                  (now->gives_up && status == SHOAL_ECANCELLED));
    explore_check(status != SHOAL_ECONN || rig_is_loss_told());
    shoal_result_release(result);
    returned++;
    return true;
}

static void call(void *data)
{
    (void)data;
    for (unsigned i = 0; i < now->calls && call_once(); i++)
        continue;
    release();
}

static void on_result(shoal_client_t *whose, const shoal_result_t *result, void *data)
{
    (void)data;
    explore_check(whose == client);
    explore_check(explore_self() == RIG_BACKGROUND);
    explore_check(shoal_result_status(result) == 0 || now->closes_early ||
                  now->rig.fails);
    completed++;
}

static void submit(void *data)
{
    const shoal_call_t room = {.size = sizeof room, .flags = SHOAL_CALL_WAIT_FOR_ROOM};

    (void)data;
    for (unsigned i = 0; i < now->submits; i++) {
        int rc = shoal_client_submit_many(client, &command, 1,
                                          now->waits_for_room ? &room : NULL, on_result,
                                          NULL, NULL);
        explore_check(rc == 0 || (now->closes_early && rc == SHOAL_ECLOSED));
        accepted += rc == 0;
    }
    release();
}

static void reconnect(void *data)
{
    (void)data;
    int rc = shoal_client_reconnect(client);
    explore_check(rc == 0 || (now->closes_early && rc == SHOAL_ECLOSED));
    release();
}

static unsigned ways_when_waiting(const explore_step_t *step)
{
    return *(const unsigned *)step->data > 0 ? 1U << EXPLORE_DONE : 0;
}

static void wait_for_the_others(void)
{
    if (!now->closes_early) {
        for (unsigned i = 0; i < threads; i++)
            shim_join((pthread_t)first_thread + i + 1, NULL);
    } else if (now->waits_for_room) {
        explore_point(&(explore_step_t){.what = "wait for one that waits",
                                        .objects = {&client->seat.lock},
                                        .ways = ways_when_waiting,
                                        .data = &client->gate.waiting});
    } else {
        rig_wait_written(1);
    }
}

static void close_client(void *data)
{
    (void)data;
    wait_for_the_others();
    explore_check(shoal_client_close_and_wait(
                      client, now->closes_early ? 0 : SHOAL_TIMEOUT_NEVER) == 0);
    shoal_client_release(client);
}

/* ---- the scenario ---- */

static void begin(const void *data)
{
    static const char *const callers[] = {"caller 1", "caller 2", "caller 3"};
    static const char *const submitters[] = {"submitter 1", "submitter 2"};

    now = data;
    accepted = completed = returned = refused = 0;
    client = rig_begin(&now->rig);
    threads = now->callers + now->submitters + now->reconnects;
    first_thread = 1 + now->rig.answers_slowly;
    for (unsigned i = 0; i < now->callers; i++)
        explore_start(callers[i], call, NULL);
    for (unsigned i = 0; i < now->submitters; i++)
        explore_start(submitters[i], submit, NULL);
    if (now->reconnects)
        explore_start("reconnecter", reconnect, NULL);
    explore_start("closer", close_client, NULL);
    for (unsigned i = 0; i < threads && now->closes_early; i++)
        shoal_client_retain(client);
}

static void end(void)
{
    if (!now->closes_early) {
        explore_check(returned + refused == now->callers * now->calls);
        explore_check(accepted == now->submitters * now->submits);
    }
    explore_check(completed == accepted);
    rig_end();
}

void driver_case_run(const driver_case_t *c)
{
    const explore_scenario_t scenario = {
        .name = c->name,
        .begin = begin,
        .end = end,
        .data = c,
        .is_bounded = c->preemptions > 0,
        .preemptions_max = c->preemptions == DRIVER_CASE_CALM ? 0 : c->preemptions,
        .ticks = c->ticks,
        .tick_us = RIG_TICK_US,
        .yield_us = c->is_idle ? 50 : 20,
        .may_rest = c->naps || c->rig.late_us > 0,
        .rest_us_max = 1000};

    shim_expect(&scenario);
}
