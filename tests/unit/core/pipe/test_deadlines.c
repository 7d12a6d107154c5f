/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/time_us.h"
#include "core/pipe/deadlines.h"

#define NEVER SHOAL__NEVER_US

static void test_nothing_is_never_due(void **state)
{
    (void)state;
    shoal__deadlines_t deadlines;

    shoal__deadlines_init(&deadlines);
    assert_false(shoal__deadlines_due(&deadlines, 0));
    assert_false(shoal__deadlines_due(&deadlines, NEVER));
    assert_true(shoal__deadlines_next_us(&deadlines) == NEVER);

    shoal__deadlines_add(&deadlines, NEVER);
    assert_false(shoal__deadlines_due(&deadlines, NEVER));
    assert_true(shoal__deadlines_next_us(&deadlines) == NEVER);
}

static void test_the_earliest_deadline_counts(void **state)
{
    (void)state;
    shoal__deadlines_t deadlines;

    shoal__deadlines_init(&deadlines);
    shoal__deadlines_add(&deadlines, 5000);
    shoal__deadlines_add(&deadlines, 3000);
    shoal__deadlines_add(&deadlines, 4000);
    assert_int_equal(shoal__deadlines_next_us(&deadlines), 3000);
    assert_false(shoal__deadlines_due(&deadlines, 2999));
    assert_true(shoal__deadlines_due(&deadlines, 3000));
}

/* clang-format off */
static const struct spacing_case {
    const char *name;
    size_t commands;
    uint64_t spacing_us;
} spacing_cases[] = {
    {"no command",                 0,   200},
    {"a short walk",             100,   200},
    {"the shortest spacing ends", 1600,  200},
    {"and grows with the walk", 16000,  2000},
    {"up to the longest",       80000, 10000},
    {"and no further",       16777216, 10000},
};
/* clang-format on */

static void test_walks_are_spaced_by_their_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spacing_cases / sizeof *spacing_cases; i++) {
        const struct spacing_case *c = &spacing_cases[i];
        shoal__deadlines_t deadlines;

        shoal__deadlines_init(&deadlines);
        shoal__deadlines_add(&deadlines, 1000);
        shoal__deadlines_walk(&deadlines, c->commands, 1000);
        assert_true(shoal__deadlines_next_us(&deadlines) == NEVER);

        shoal__deadlines_add(&deadlines, 1001);
        uint64_t next_us = shoal__deadlines_next_us(&deadlines);
        if (next_us != 1000 + c->spacing_us)
            fail_msg("%s: next walk after %d us", c->name, (int)(next_us - 1000));
        assert_false(shoal__deadlines_due(&deadlines, next_us - 1));
        assert_true(shoal__deadlines_due(&deadlines, next_us));
    }
}

#define COMMANDS 20000

/* A random load: commands come, are answered without the unit hearing of it, and are
 * expired in walks at the time that next_us() named.  (I5) */
static void test_no_command_outlives_its_deadline_by_much(void **state)
{
    (void)state;
    static uint64_t deadlines_us[COMMANDS]; /* 0: gone */
    shoal__deadlines_t deadlines;
    shoal__random_t random;
    uint64_t now_us = 1, walked = 0;
    size_t taken = 0, expired = 0;

    shoal__random_init(&random, 42);
    shoal__deadlines_init(&deadlines);
    for (;;) {
        size_t burst = (size_t)shoal__random_below(&random, 50);
        for (; taken < COMMANDS && burst > 0; burst--, taken++) {
            deadlines_us[taken] = now_us + 1 + shoal__random_below(&random, 30000);
            shoal__deadlines_add(&deadlines, deadlines_us[taken]);
        }
        if (taken > 0)
            deadlines_us[shoal__random_below(&random, taken)] = 0;

        uint64_t next_us = shoal__deadlines_next_us(&deadlines);
        if (taken == COMMANDS && next_us == NEVER)
            break;
        uint64_t step_us = 1 + shoal__random_below(&random, 300);
        now_us = shoal__time_min(next_us < now_us ? now_us : next_us, now_us + step_us);
        if (!shoal__deadlines_due(&deadlines, now_us))
            continue;

        size_t waiting = 0;
        for (size_t i = 0; i < taken; i++)
            waiting += deadlines_us[i] != 0;
        walked += waiting;
        shoal__deadlines_walk(&deadlines, waiting, now_us);
        for (size_t i = 0; i < taken; i++) {
            if (deadlines_us[i] == 0)
                continue;
            if (deadlines_us[i] > now_us) {
                shoal__deadlines_add(&deadlines, deadlines_us[i]);
                continue;
            }
            assert_true(now_us - deadlines_us[i] <= SHOAL__DEADLINES_DELAY_US_MAX);
            deadlines_us[i] = 0;
            expired++;
        }
    }
    assert_true(expired > COMMANDS / 4);
    /* At 5 ns for each command, walks took less than a tenth of the time. */
    assert_true(walked * 5 / 1000 < now_us / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_never_due),
        cmocka_unit_test(test_the_earliest_deadline_counts),
        cmocka_unit_test(test_walks_are_spaced_by_their_length),
        cmocka_unit_test(test_no_command_outlives_its_deadline_by_much),
    };
    return cmocka_run_group_tests_name("core/pipe/deadlines", tests, NULL, NULL);
}
