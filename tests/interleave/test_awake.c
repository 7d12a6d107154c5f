/* SPDX-License-Identifier: MIT */

/* Callers that stay awake until their results come, and run the loop in turns, in every
 * schedule. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interleave/driver_case.h"

#define PARKED .rig.is_parked = true
#define CALM .preemptions = DRIVER_CASE_CALM

/* clang-format off */
static const driver_case_t company_cases[] = {
    {.name = "one caller is awake, and alone",
     .callers = 1, .calls = 2, PARKED, .preemptions = 3},
    {.name = "two callers are awake",
     .callers = 2, .calls = 1, PARKED, .preemptions = 2},
    {.name = "two callers are awake, again and again",
     .callers = 2, .calls = 2, PARKED, .preemptions = 1},
    {.name = "three callers are awake",
     .callers = 3, .calls = 1, PARKED, CALM},
    {.name = "two callers are awake, with a slow server",
     .callers = 2, .calls = 1, .rig = {.is_parked = true, .answers_slowly = true},
     CALM, .naps = true},
    {.name = "callers begin to stay awake",
     .callers = 2, .calls = 2, .rig.is_about_to = true, .preemptions = 1,
     .naps = true},
};

static const driver_case_t sleep_cases[] = {
    {.name = "a caller is idle for too long, and polls",
     .callers = 1, .calls = 1,
     .rig = {.is_parked = true, .answers_slowly = true, .late_us = 400},
     .preemptions = 2, .is_idle = true},
    {.name = "one after the other is idle for too long",
     .callers = 2, .calls = 1,
     .rig = {.is_parked = true, .answers_slowly = true, .late_us = 400},
     .preemptions = 1, .is_idle = true, .naps = true},
    {.name = "one after the other is, and the server answers so, too",
     .callers = 2, .calls = 1,
     .rig = {.is_parked = true, .answers_slowly = true, .answers_singly = true,
             .late_us = 400},
     CALM, .is_idle = true, .naps = true},
    {.name = "some are, with a slow server",
     .callers = 2, .calls = 1, .rig = {.is_parked = true, .answers_slowly = true},
     .preemptions = 1, .is_idle = true, .naps = true},
    {.name = "three are, one after the other",
     .callers = 3, .calls = 1,
     .rig = {.is_parked = true, .answers_slowly = true, .late_us = 400},
     CALM, .is_idle = true, .naps = true},
    {.name = "the loop is parked while callers sleep",
     .callers = 2, .calls = 1,
     .rig = {.is_about_to = true, .answers_slowly = true},
     .preemptions = 1, .is_idle = true, .naps = true},
    {.name = "naps that end while callers are awake",
     .callers = 2, .calls = 1, PARKED, .preemptions = 1, .ticks = 1, .naps = true},
    {.name = "callers go on at their deadline",
     .callers = 2, .calls = 1,
     .rig = {.is_parked = true, .answers_slowly = true, .late_us = 400},
     .wait_us = 10, .preemptions = 1, .naps = true},
    {.name = "callers give up at their deadline",
     .callers = 2, .calls = 1,
     .rig = {.is_parked = true, .answers_slowly = true, .late_us = 400},
     .wait_us = 10, .gives_up = true, .preemptions = 1, .naps = true},
};

static const driver_case_t other_cases[] = {
    {.name = "a callback's command comes while a caller is awake",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 1, PARKED,
     .preemptions = 2, .naps = true},
    {.name = "a callback's command comes while callers are awake",
     .callers = 2, .calls = 1, .submitters = 1, .submits = 1, PARKED,
     .preemptions = 1, .naps = true},
    {.name = "a cancel comes while callers are awake",
     .callers = 2, .calls = 1, .rig = {.is_parked = true, .answers_slowly = true},
     .wait_us = 10, .gives_up = true, CALM, .naps = true},
    {.name = "a reconnect comes while callers are awake",
     .callers = 2, .calls = 1, PARKED, .reconnects = true, .preemptions = 1,
     .naps = true},
    {.name = "a close comes while a caller is awake",
     .callers = 1, .calls = 1, .rig = {.is_parked = true, .is_silent = true},
     .closes_early = true, .preemptions = 2, .naps = true},
    {.name = "a close comes while callers are awake",
     .callers = 2, .calls = 1, .rig = {.is_parked = true, .is_silent = true},
     .closes_early = true, CALM, .naps = true},
    {.name = "threads wait for room while callers are awake",
     .callers = 2, .calls = 1, .submitters = 1, .submits = 1,
     .rig = {.is_parked = true, .queued_max = 1},
     .waits_for_room = true, .preemptions = 1, .naps = true},
    {.name = "there is no memory for a caller's command",
     .callers = 2, .calls = 2, .rig = {.is_parked = true, .lacks_memory = true},
     .preemptions = 1, .naps = true},
};

static const driver_case_t loss_cases[] = {
    {.name = "a caller's send fails",
     .callers = 2, .calls = 1, .rig = {.is_parked = true, .breaks = true},
     .preemptions = 1, .naps = true},
    {.name = "it fails, and other callers' commands with it",
     .callers = 2, .calls = 1, .rig = {.is_parked = true, .fails = true},
     .preemptions = 1, .naps = true},
    {.name = "it fails while a submitter's command is under way",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 1,
     .rig = {.is_parked = true, .fails = true}, .preemptions = 2, .naps = true},
    {.name = "the server hangs up on callers that are awake",
     .callers = 2, .calls = 1, .rig = {.is_parked = true, .hangs_up = true},
     .preemptions = 1, .naps = true},
    {.name = "something arrives unasked while callers are awake",
     .callers = 2, .calls = 1, .rig = {.is_parked = true, .strays = true},
     .preemptions = 1, .ticks = 1, .naps = true},
    {.name = "something arrives unasked between two calls",
     .callers = 1, .calls = 2, .rig = {.is_parked = true, .strays = true},
     .preemptions = 2, .ticks = 1, .naps = true},
};
/* clang-format on */

static void run(const driver_case_t *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rig_seen_t before = rig_seen();
        driver_case_run(&cases[i]);
        assert_true(rig_seen().awake_turns > before.awake_turns);
    }
}
#define RUN(cases) run(cases, sizeof(cases) / sizeof *(cases))

static void test_callers_run_the_loop_in_turns(void **state)
{
    (void)state;
    RUN(company_cases);
}

static void test_callers_go_to_sleep(void **state)
{
    rig_seen_t before = rig_seen();

    (void)state;
    RUN(sleep_cases);
    assert_true(rig_seen().polls > before.polls);
    assert_true(rig_seen().left_alone > before.left_alone);
}

static void test_what_callers_cannot_do_is_left_to_the_background_thread(void **state)
{
    rig_seen_t before = rig_seen();

    (void)state;
    RUN(other_cases);
    assert_true(rig_seen().failures > before.failures);
}

static void test_losses(void **state)
{
    (void)state;
    RUN(loss_cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callers_run_the_loop_in_turns),
        cmocka_unit_test(test_callers_go_to_sleep),
        cmocka_unit_test(test_what_callers_cannot_do_is_left_to_the_background_thread),
        cmocka_unit_test(test_losses),
    };
    return cmocka_run_group_tests_name("interleave/awake", tests, NULL, NULL);
}
