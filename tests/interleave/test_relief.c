/* SPDX-License-Identifier: MIT */

/* Callers relieve a driver that sleeps openly, in every schedule. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interleave/driver_case.h"

#define STEADY .rig.is_steady = true

/* clang-format off */
static const driver_case_t relief_cases[] = {
    {.name = "a caller relieves the driver",
     .callers = 1, .calls = 2, STEADY, .preemptions = 2},
    {.name = "commands come as long as a thread relieves the driver",
     .callers = 3, .calls = 1,
     .rig = {.is_steady = true, .is_silent = true, .lasts = 3},
     .closes_early = true, .writes = 3, .preemptions = 1},
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

static const driver_case_t unrelieved_cases[] = {
    {.name = "a submitter's command waits in the mailbox when a caller comes",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 1,
     .rig = {.is_steady = true, .holds = true}, .callers_come_last = true,
     .preemptions = 3},
};
/* clang-format on */

static void test_callers_relieve_the_driver(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof relief_cases / sizeof *relief_cases; i++) {
        unsigned before = rig_reliefs();
        driver_case_run(&relief_cases[i]);
        assert_true(rig_reliefs() > before);
    }
}

/* A thread that cannot take the mailbox over wakes the driver, without a turn. */
static void test_callers_leave_others_to_the_driver(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof unrelieved_cases / sizeof *unrelieved_cases; i++) {
        unsigned before = rig_reliefs();
        driver_case_run(&unrelieved_cases[i]);
        assert_int_equal(rig_reliefs(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callers_leave_others_to_the_driver),
        cmocka_unit_test(test_callers_relieve_the_driver),
    };
    return cmocka_run_group_tests_name("interleave/relief", tests, NULL, NULL);
}
