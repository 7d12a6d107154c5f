/* SPDX-License-Identifier: MIT */

/* Which thread runs the loop, in every schedule. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interleave/driver_case.h"

#define PARKED .rig.is_parked = true
#define ABOUT_TO_PARK .rig.is_about_to = true

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
     .callers = 1, .calls = 2, PARKED, .preemptions = 2, .ticks = 1, .naps = true},
    {.name = "one caller, parked, a slow server",
     .callers = 1, .calls = 1, .rig = {.is_parked = true, .answers_slowly = true},
     .preemptions = 2},
    {.name = "two callers, parked",
     .callers = 2, .calls = 1, PARKED, .preemptions = 2},
    {.name = "two callers, about to park",
     .callers = 2, .calls = 1, ABOUT_TO_PARK, .preemptions = 2, .naps = true},
    {.name = "a caller and a submitter, parked",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 1, PARKED,
     .preemptions = 2},
    {.name = "a caller and a submitter, parked, a slow server",
     .callers = 1, .calls = 1, .submitters = 1, .submits = 1,
     .rig = {.is_parked = true, .answers_slowly = true}, .preemptions = 1},
    {.name = "a submitter alone, parked",
     .submitters = 1, .submits = 2, PARKED, .preemptions = 3},
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
        driver_case_run(&plain_cases[i]);
}

static void test_losses_and_closes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ending_cases / sizeof *ending_cases; i++)
        driver_case_run(&ending_cases[i]);
}

static void test_who_waits_for_room_is_woken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof room_cases / sizeof *room_cases; i++)
        driver_case_run(&room_cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_drives_and_nobody_is_left_behind),
        cmocka_unit_test(test_losses_and_closes),
        cmocka_unit_test(test_who_waits_for_room_is_woken),
    };
    return cmocka_run_group_tests_name("interleave/driver", tests, NULL, NULL);
}
