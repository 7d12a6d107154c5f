/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/time_us.h"
#include "core/due_times.h"
#include <shoal/errors.h>

#define NEVER SHOAL__NEVER_US
#define OWNERS 50
#define STEPS 200000

static void test_nobody_is_due_at_first(void **state)
{
    shoal__due_times_t times;

    (void)state;
    shoal__due_times_init(&times);
    assert_int_equal(shoal__due_times_next_us(&times), NEVER);
    assert_null(shoal__due_times_take(&times, NEVER));
    shoal__due_times_release(&times);
}

static void test_a_time_is_set_moved_and_dropped(void **state)
{
    shoal__due_times_t times;
    shoal__due_t early = {0}, late = {0};

    (void)state;
    shoal__due_times_init(&times);
    assert_int_equal(shoal__due_times_join(&times), 0);
    assert_int_equal(shoal__due_times_join(&times), 0);
    shoal__due_times_set(&times, &late, 20);
    shoal__due_times_set(&times, &early, 10);
    assert_int_equal(shoal__due_times_next_us(&times), 10);
    assert_null(shoal__due_times_take(&times, 9));
    shoal__due_times_set(&times, &early, 30);
    assert_int_equal(shoal__due_times_next_us(&times), 20);
    shoal__due_times_set(&times, &late, NEVER);
    shoal__due_times_set(&times, &late, NEVER);
    assert_int_equal(shoal__due_times_next_us(&times), 30);
    assert_ptr_equal(shoal__due_times_take(&times, 30), &early);
    assert_int_equal(shoal__due_times_next_us(&times), NEVER);
    shoal__due_times_leave(&times);
    shoal__due_times_leave(&times);
    shoal__due_times_release(&times);
}

/* Against a plain array. */
static void test_it_agrees_with_a_search(void **state)
{
    static shoal__due_t dues[OWNERS];
    static uint64_t at_us[OWNERS];
    shoal__due_times_t times;
    shoal__random_t random;

    (void)state;
    shoal__random_init(&random, 1);
    shoal__due_times_init(&times);
    for (unsigned i = 0; i < OWNERS; i++) {
        assert_int_equal(shoal__due_times_join(&times), 0);
        at_us[i] = NEVER;
    }
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned who = (unsigned)shoal__random_below(&random, OWNERS);
        uint64_t earliest_us = NEVER;
        if (shoal__random_below(&random, 4)) {
            at_us[who] = shoal__random_below(&random, 8)
                             ? shoal__random_below(&random, 1000)
                             : NEVER;
            shoal__due_times_set(&times, &dues[who], at_us[who]);
        } else {
            uint64_t now_us = shoal__random_below(&random, 1000);
            shoal__due_t *due = shoal__due_times_take(&times, now_us);
            if (due) {
                assert_int_equal(due->at_us, at_us[due - dues]);
                assert_true(due->at_us <= now_us && due->place == 0);
                at_us[due - dues] = NEVER;
            } else {
                assert_true(shoal__due_times_next_us(&times) > now_us);
            }
        }
        for (unsigned i = 0; i < OWNERS; i++)
            earliest_us = shoal__time_min(earliest_us, at_us[i]);
        assert_int_equal(shoal__due_times_next_us(&times), earliest_us);
    }
    shoal__due_times_release(&times);
}

static void test_joining_survives_every_failed_allocation(void **state)
{
    shoal__due_times_t times;
    shoal__due_t due = {0};

    (void)state;
    shoal__due_times_init(&times);
    assert_int_equal(shoal__due_times_join(&times), 0);
    shoal__due_times_set(&times, &due, 5);
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__due_times_join(&times), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_int_equal(times.room, 1);
    assert_int_equal(shoal__due_times_next_us(&times), 5);
    shoal__due_times_release(&times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_due_at_first),
        cmocka_unit_test(test_a_time_is_set_moved_and_dropped),
        cmocka_unit_test(test_it_agrees_with_a_search),
        cmocka_unit_test(test_joining_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("core/due_times", tests, NULL, NULL);
}
