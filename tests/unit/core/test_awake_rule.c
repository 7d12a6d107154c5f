/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/awake_rule.h"

#define MS 1000

static bool allows(const shoal__awake_rule_t *rule, uint64_t now_us)
{
    return shoal__awake_rule_allows(rule, 30, now_us);
}

static void test_long_round_trips_are_slept_through(void **state)
{
    (void)state;
    const shoal__awake_rule_t rule = {0};

    assert_true(shoal__awake_rule_allows(&rule, 0, 1)); /* not known */
    assert_true(shoal__awake_rule_allows(&rule, SHOAL__AWAKE_RTT_US_MAX, 1));
    assert_false(shoal__awake_rule_allows(&rule, SHOAL__AWAKE_RTT_US_MAX + 1, 1));
}

/* ---- failures ---- */

static void fail_once(shoal__awake_rule_t *rule, uint64_t results, uint64_t idle_us,
                      uint64_t now_us)
{
    const shoal__awake_failure_t failure = {
        .callers = 4, .idle_us = idle_us, .answered = rule->answered + results};

    shoal__awake_rule_failed(rule, &failure, now_us);
}

/* Fails `times` times, with `results` for each of 4 callers before each. */
static void fail_times(shoal__awake_rule_t *rule, unsigned times, uint64_t results,
                       uint64_t now_us)
{
    while (times-- > 0)
        fail_once(rule, 4 * results, SHOAL__AWAKE_IDLE_US_MAX, now_us);
}

static void test_failures_now_and_then_do_not_matter(void **state)
{
    (void)state;
    shoal__awake_rule_t rule = {0};

    fail_times(&rule, 1000, 16, 5 * MS);
    assert_true(allows(&rule, 5 * MS));
    fail_times(&rule, 2, 15, 5 * MS);
    assert_true(allows(&rule, 5 * MS));
    fail_times(&rule, 1, 16, 5 * MS); /* the count begins anew */
    fail_times(&rule, 2, 15, 5 * MS);
    assert_true(allows(&rule, 5 * MS));
    fail_times(&rule, 1, 15, 5 * MS);
    assert_false(allows(&rule, 5 * MS));
}

/* A stranger had the CPU for milliseconds: that must happen much less often. */
static void test_long_failures_weigh_more(void **state)
{
    (void)state;
    shoal__awake_rule_t rule = {0};

    for (int i = 0; i < 3; i++)
        fail_once(&rule, 4 * 16 * 60, 60 * SHOAL__AWAKE_IDLE_US_MAX, 5 * MS);
    assert_true(allows(&rule, 5 * MS));
    for (int i = 0; i < 3; i++)
        fail_once(&rule, 4 * 16 * 60 - 1, 60 * SHOAL__AWAKE_IDLE_US_MAX, 5 * MS);
    assert_false(allows(&rule, 5 * MS));
}

/* When a pause is over callers try again, and as often as before: the first ones may find
 * a machine that is about to wake. */
static void test_pauses_become_longer(void **state)
{
    (void)state;
    shoal__awake_rule_t rule = {0};
    uint64_t now_us = 7 * MS, pause_us = 20 * MS;

    for (int i = 0; i < 8; i++) {
        fail_times(&rule, 2, 0, now_us);
        assert_true(allows(&rule, now_us));
        fail_times(&rule, 1, 0, now_us);
        assert_false(allows(&rule, now_us + pause_us - 1));
        now_us += pause_us;
        assert_true(allows(&rule, now_us));
        pause_us = pause_us < 640 * MS ? 2 * pause_us : pause_us;
    }
    fail_times(&rule, 1, 16, now_us); /* it was worth while in between */
    fail_times(&rule, 3, 0, now_us);
    assert_false(allows(&rule, now_us + 20 * MS - 1));
    assert_true(allows(&rule, now_us + 20 * MS));
}

/* ---- one caller ---- */

static void test_idle_time_is_bounded(void **state)
{
    (void)state;
    shoal__awake_call_t call = shoal__awake_call(10, 1000);

    assert_true(shoal__awake_call_may_stay(&call, 10, 1000));
    assert_true(shoal__awake_call_may_stay(&call, 10, 1049));
    assert_false(shoal__awake_call_may_stay(&call, 10, 1050));
}

static void test_time_in_which_others_get_results_is_not_idle(void **state)
{
    (void)state;
    shoal__awake_call_t call = shoal__awake_call(10, 1000);

    assert_true(shoal__awake_call_may_stay(&call, 10, 1040));
    for (uint64_t i = 1; i < 100; i++)
        assert_true(shoal__awake_call_may_stay(&call, 10 + i, 1040 + 500 * i));
    assert_true(shoal__awake_call_may_stay(&call, 109, 50540 + 9));
    assert_false(shoal__awake_call_may_stay(&call, 109, 50540 + 10));
}

/* The clock that callers pass is that of the turn now and then, which is earlier. */
static void test_time_does_not_run_backwards(void **state)
{
    (void)state;
    shoal__awake_call_t call = shoal__awake_call(10, 1000);

    assert_true(shoal__awake_call_may_stay(&call, 10, 900));
    assert_true(shoal__awake_call_may_stay(&call, 10, 949));
    assert_false(shoal__awake_call_may_stay(&call, 10, 950));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_round_trips_are_slept_through),
        cmocka_unit_test(test_failures_now_and_then_do_not_matter),
        cmocka_unit_test(test_long_failures_weigh_more),
        cmocka_unit_test(test_pauses_become_longer),
        cmocka_unit_test(test_idle_time_is_bounded),
        cmocka_unit_test(test_time_in_which_others_get_results_is_not_idle),
        cmocka_unit_test(test_time_does_not_run_backwards),
    };
    return cmocka_run_group_tests_name("core/awake_rule", tests, NULL, NULL);
}
