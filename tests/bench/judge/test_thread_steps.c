/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judge/thread_steps.h"

#include <math.h>

#define SLICES 12u

static const struct reached_case {
    const char *name;
    uint32_t slices[SLICES];
    double reached_ms; /* 0: never */
} cases[] = {
    {"at once", {100, 99, 101, 100, 98, 100, 100, 100, 100, 100, 100, 100}, 5},
    {"more than asked",
     {300, 290, 280, 200, 150, 100, 100, 100, 100, 100, 100, 100},
     5},
    {"exactly the share", {90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90}, 5},
    {"just below it", {89, 89, 89, 89, 89, 89, 89, 89, 89, 89, 89, 89}, 0},
    {"after three slices",
     {10, 20, 50, 95, 100, 100, 100, 100, 100, 100, 100, 100},
     20},
    {"one lucky slice", {10, 120, 10, 10, 10, 95, 100, 100, 100, 100, 100, 100}, 30},
    {"two stalls on the way",
     {95, 0, 0, 100, 100, 100, 100, 100, 100, 100, 100, 100},
     5},
    {"three are too many", {95, 0, 0, 0, 100, 100, 100, 100, 100, 100, 100, 100}, 25},
    {"too late to be seen", {1, 1, 1, 1, 1, 1, 1, 1, 100, 100, 100, 100}, 0},
    {"in the last window", {1, 1, 1, 1, 1, 1, 1, 100, 100, 100, 100, 100}, 40},
};

static void test_the_first_slice_that_stays_ends_the_search(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double ms = thread_step_reached_ms(cases[i].slices, SLICES, 100);
        double wanted = cases[i].reached_ms > 0 ? cases[i].reached_ms : INFINITY;
        if (isinf(wanted) ? !isinf(ms) : fabs(ms - wanted) > 0.001)
            fail_msg("%s: %g ms", cases[i].name, ms);
    }
    assert_true(isinf(thread_step_reached_ms(cases[0].slices, 4, 100)));
    assert_true(isnan(thread_step_reached_ms(cases[0].slices, SLICES, (double)NAN)));
}

static void test_the_second_half_is_what_it_stays_at(void **state)
{
    (void)state;
    const uint32_t slices[] = {9, 9, 9, 9, 4, 100, 3, 5};

    assert_true(fabs(thread_step_steady(slices, 8) - 4.5) < 0.001);
    assert_true(fabs(thread_step_steady(slices, 7) - 6.5) < 0.001);
    assert_true(fabs(thread_step_steady(slices, 1) - 9) < 0.001);
    assert_true(isnan(thread_step_steady(slices, 0)));
}

static void test_stages_that_stay_low_do_not_lower_the_reference(void **state)
{
    (void)state;
    double half[] = {50, 100, 51, 101, 49, 99, 52, 102};
    double all[] = {101, 99, 100, 500};
    double one[] = {7};

    assert_true(fabs(thread_step_reference(half, 8) - 100) < 0.001);
    /* One lucky stage does not raise it, either. */
    assert_true(fabs(thread_step_reference(all, 4) - 101) < 0.001);
    assert_true(fabs(thread_step_reference(one, 1) - 7) < 0.001);
    assert_true(isnan(thread_step_reference(one, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_slice_that_stays_ends_the_search),
        cmocka_unit_test(test_the_second_half_is_what_it_stays_at),
        cmocka_unit_test(test_stages_that_stay_low_do_not_lower_the_reference),
    };
    return cmocka_run_group_tests_name("bench/thread_steps", tests, NULL, NULL);
}
