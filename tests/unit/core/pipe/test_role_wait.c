/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "core/pipe/role_wait.h"

static shoal__random_t chance;

static int set_up(void **state)
{
    (void)state;
    shoal__random_init(&chance, 1);
    return 0;
}

/* The pauses of one switch: the second half of each is random. */
static void test_pauses_double(void **state)
{
    static const uint64_t most_us[] = {8000,   16000,  32000,  64000,
                                       128000, 256000, 256000, 256000};
    (void)state;

    for (int run = 0; run < 1000; run++) {
        shoal__role_wait_t wait = {0};
        uint64_t now_us = 5000000;

        for (size_t i = 0; i < sizeof most_us / sizeof *most_us; i++) {
            uint64_t due_us = shoal__role_wait_next_us(&wait, now_us, &chance);
            assert_in_range(due_us - now_us, most_us[i] / 2, most_us[i]);
            now_us = due_us;
        }
    }
}

/* Those that are turned away before it are all sent in the same round. */
static void test_all_share_a_round(void **state)
{
    shoal__role_wait_t wait = {0};
    uint64_t due_us = shoal__role_wait_next_us(&wait, 5000000, &chance);
    (void)state;

    for (uint64_t now_us = 5000001; now_us < due_us; now_us += 100)
        assert_int_equal(shoal__role_wait_next_us(&wait, now_us, &chance), due_us);
    assert_true(shoal__role_wait_next_us(&wait, due_us, &chance) > due_us);
}

static void test_another_switch_begins_anew(void **state)
{
    shoal__role_wait_t wait = {0};
    uint64_t now_us = 5000000;
    (void)state;

    for (int i = 0; i < 10; i++)
        now_us = shoal__role_wait_next_us(&wait, now_us, &chance);
    now_us += 999999; /* the round itself took so long: still the same switch */
    uint64_t due_us = shoal__role_wait_next_us(&wait, now_us, &chance);
    assert_true(due_us - now_us >= 128000);
    now_us = due_us + 1000000;
    due_us = shoal__role_wait_next_us(&wait, now_us, &chance);
    assert_true(due_us - now_us <= 8000);
}

static void test_the_end(void **state)
{
    (void)state;
    assert_int_equal(shoal__role_wait_end_us(1000, 5001000), 5001000);
    assert_int_equal(shoal__role_wait_end_us(1000, 60001000), 30001000);
    assert_int_equal(shoal__role_wait_end_us(1000, SHOAL__NEVER_US), 30001000);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pauses_double),
        TEST(test_all_share_a_round),
        TEST(test_another_switch_begins_anew),
        TEST(test_the_end),
    };
    return cmocka_run_group_tests_name("core/pipe/role_wait", tests, NULL, NULL);
}
