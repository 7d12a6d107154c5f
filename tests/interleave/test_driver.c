/* SPDX-License-Identifier: MIT */

/* Which thread runs the loop, in every schedule: one thread at a time; and work that is
 * left is done without time having to pass.  Each call returns with its result, and
 * nothing touches the client once it is gone. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHIM_IMPLEMENTATION
#include "client/client.h"
#include "interleave/rig.h"
#include "interleave/shim.h"
#include <shoal/errors.h>
#include <shoal/result.h>

#define THREADS_MAX 3

typedef struct driver_case {
    const char *name;
    rig_options_t rig;
    unsigned callers, calls;      /* threads that block, calls of each */
    unsigned submitters, submits; /* threads that do not */
    bool waits_for_room;          /* a submission does */
    bool closes_early;            /* when a command was written, or a thread waits */
    unsigned preemptions;         /* 0: no bound */
    unsigned ticks;               /* naps that end at any moment */
} driver_case_t;

static const driver_case_t *now;
static shoal_client_t *client;
static unsigned first_thread, threads; /* of the users, without the closer */
static unsigned accepted, completed, returned;

static const char *const words[] = {"GET", "k"};

/* ---- the threads ---- */

/* Each thread of a scenario that closes early has a reference of its own.  In the others
 * the closer, who waits for them, has the only one. */
static void release(void)
{
    if (now->closes_early)
        shoal_client_release(client);
}

static bool call_once(void)
{
    shoal_result_t *result = NULL;
    int rc = shoal_client_call(client, 2, words, NULL, &result);

    if (rc < 0) {
        explore_check(now->closes_early && rc == SHOAL_ECLOSED);
        return false;
    }
    int status = shoal_result_status(result);
    explore_check(status == 0 || (now->closes_early && status == SHOAL_ESHUTDOWN) ||
                  (now->rig.fails && status == SHOAL_ECONN));
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
    const shoal_command_t command = {2, words, NULL};
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
    accepted = completed = returned = 0;
    client = rig_begin(&now->rig);
    threads = now->callers + now->submitters;
    first_thread = 1 + now->rig.answers_slowly;
    for (unsigned i = 0; i < now->callers; i++)
        explore_start(callers[i], call, NULL);
    for (unsigned i = 0; i < now->submitters; i++)
        explore_start(submitters[i], submit, NULL);
    explore_start("closer", close_client, NULL);
    for (unsigned i = 0; i < threads && now->closes_early; i++)
        shoal_client_retain(client);
}

static void end(void)
{
    if (!now->closes_early) {
        explore_check(returned == now->callers * now->calls);
        explore_check(accepted == now->submitters * now->submits);
    }
    explore_check(completed == accepted);
    rig_end();
}

static void run(const driver_case_t *c)
{
    const explore_scenario_t scenario = {.name = c->name,
                                         .begin = begin,
                                         .end = end,
                                         .data = c,
                                         .is_bounded = c->preemptions > 0,
                                         .preemptions_max = c->preemptions,
                                         .ticks = c->ticks,
                                         .tick_us = RIG_TICK_US};

    shim_expect(&scenario);
}

#define PARKED .rig.is_parked = true
#define ABOUT_TO_PARK .rig.is_about_to = true
#define STEADY .rig.is_steady = true

/* clang-format off */
static const driver_case_t plain_cases[] = {
    {.name = "one caller, the loop in the background",
     .callers = 1, .calls = 1},
    {.name = "two calls, the loop in the background",
     .callers = 1, .calls = 2, .preemptions = 2},
    {.name = "one caller, parked",
     .callers = 1, .calls = 3, PARKED},
    {.name = "one caller, about to park",
     .callers = 1, .calls = 2, ABOUT_TO_PARK},
    {.name = "one caller, parked, naps that end",
     .callers = 1, .calls = 2, PARKED, .preemptions = 2, .ticks = 1},
    {.name = "one caller, parked, a slow server",
     .callers = 1, .calls = 1, .rig = {.is_parked = true, .answers_slowly = true},
     .preemptions = 2},
    {.name = "two callers, parked",
     .callers = 2, .calls = 1, PARKED, .preemptions = 2},
    {.name = "two callers, about to park",
     .callers = 2, .calls = 1, ABOUT_TO_PARK, .preemptions = 2},
    {.name = "a caller and a submitter, parked",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 1, PARKED,
     .preemptions = 2},
    {.name = "a caller and a submitter, parked, a slow server",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 1,
     .rig = {.is_parked = true, .answers_slowly = true}, .preemptions = 1},
    {.name = "a submitter alone, parked",
     .submitters = 1, .submits = 2, PARKED, .preemptions = 3},
};

static const driver_case_t relief_cases[] = {
    {.name = "a caller relieves the driver",
     .callers = 1, .calls = 2, STEADY, .preemptions = 2},
    {.name = "two callers do",
     .callers = 2, .calls = 1, STEADY, .preemptions = 2},
    {.name = "two callers do, again and again",
     .callers = 2, .calls = 2, STEADY, .preemptions = 1},
    {.name = "two callers do, with a slow server",
     .callers = 2, .calls = 1, .rig = {.is_steady = true, .answers_slowly = true},
     .preemptions = 1},
    {.name = "three callers do",
     .callers = 3, .calls = 1, STEADY, .preemptions = 1},
    {.name = "a caller and a submitter, the driver sleeps openly",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 1, STEADY,
     .preemptions = 2},
    {.name = "two callers and a submitter, the driver sleeps openly",
     .callers = 2, .calls = 1, .submitters = 1, .submits = 1, STEADY,
     .preemptions = 1},
    {.name = "a relieving thread's send fails",
     .callers = 2, .calls = 1, .rig = {.is_steady = true, .breaks = true},
     .preemptions = 1},
    {.name = "it fails, and other callers' commands with it",
     .callers = 2, .calls = 1, .rig = {.is_steady = true, .fails = true},
     .preemptions = 1},
    {.name = "it fails while a submitter's command is under way",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 1,
     .rig = {.is_steady = true, .fails = true}, .preemptions = 2},
    {.name = "something has arrived unasked when a thread would relieve the driver",
     .callers = 1, .calls = 2, .rig = {.is_steady = true, .is_astray = true},
     .preemptions = 2, .ticks = 1},
    {.name = "the server hangs up while a thread relieves the driver",
     .callers = 2, .calls = 1, .rig = {.is_steady = true, .hangs_up = true},
     .preemptions = 1},
    {.name = "a close while a thread relieves the driver",
     .callers = 2, .calls = 1, .rig = {.is_steady = true, .is_silent = true},
     .closes_early = true, .preemptions = 1},
};

static const driver_case_t ending_cases[] = {
    {.name = "the server hangs up on a direct driver",
     .callers = 1, .calls = 1, .rig = {.is_parked = true, .hangs_up = true},
     .preemptions = 3},
    {.name = "it does so, and another thread submits",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 1,
     .rig = {.is_parked = true, .hangs_up = true}, .preemptions = 2},
    {.name = "a direct driver's send fails",
     .callers = 1, .calls = 2, .rig = {.is_parked = true, .breaks = true},
     .preemptions = 2},
    {.name = "a close while a caller drives",
     .callers = 1, .calls = 1, .rig = {.is_parked = true, .is_silent = true},
     .closes_early = true, .preemptions = 3},
    {.name = "a close while a caller waits",
     .callers = 1, .calls = 1, .rig = {.is_silent = true},
     .closes_early = true, .preemptions = 3},
    {.name = "a close just before the answer",
     .callers = 1, .calls = 1, .rig = {.is_parked = true, .answers_slowly = true},
     .closes_early = true, .preemptions = 2},
    {.name = "a call that may come too late",
     .callers = 2, .calls = 2, .rig = {.is_silent = true},
     .closes_early = true, .preemptions = 1},
    {.name = "a submission that may come too late",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 2,
     .rig = {.is_parked = true, .is_silent = true},
     .closes_early = true, .preemptions = 1},
};

static const driver_case_t room_cases[] = {
    {.name = "two wait for room",
     .submitters = 2, .submits = 1, .rig = {.queued_max = 1},
     .waits_for_room = true, .preemptions = 2},
    {.name = "two wait for room, parked",
     .submitters = 2, .submits = 1, .rig = {.queued_max = 1, .is_parked = true},
     .waits_for_room = true, .preemptions = 2},
    {.name = "one waits for room again and again",
     .submitters = 1, .submits = 3, .rig = {.queued_max = 1},
     .waits_for_room = true, .preemptions = 2},
    {.name = "a close while a thread waits for room",
     .submitters = 2, .submits = 1, .rig = {.queued_max = 1, .is_stalled = true},
     .waits_for_room = true, .closes_early = true, .preemptions = 2},
};
/* clang-format on */

static void test_one_drives_and_nobody_is_left_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof plain_cases / sizeof *plain_cases; i++)
        run(&plain_cases[i]);
}

static void test_callers_relieve_the_driver(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof relief_cases / sizeof *relief_cases; i++) {
        unsigned before = rig_reliefs();
        run(&relief_cases[i]);
        assert_true(rig_reliefs() > before);
    }
}

static void test_losses_and_closes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ending_cases / sizeof *ending_cases; i++)
        run(&ending_cases[i]);
}

static void test_who_waits_for_room_is_woken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof room_cases / sizeof *room_cases; i++)
        run(&room_cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_drives_and_nobody_is_left_behind),
        cmocka_unit_test(test_callers_relieve_the_driver),
        cmocka_unit_test(test_losses_and_closes),
        cmocka_unit_test(test_who_waits_for_room_is_woken),
    };
    return cmocka_run_group_tests_name("interleave/driver", tests, NULL, NULL);
}
