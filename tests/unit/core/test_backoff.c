/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/backoff.h"

/* clang-format off */
static const struct backoff_case {
    const char *name;
    uint64_t base_us, delay_us_max, delay_us_min;
    unsigned failures; /* before the one in question */
    uint64_t least_us, most_us;
} cases[] = {
    /*                              base      max       min fail  least     most */
    {"the first failure",          50000, 10000000,       0,  0,      0,    50000},
    {"the second one doubles",     50000, 10000000,       0,  1,      0,   100000},
    {"below the maximum",          50000, 10000000,       0,  7,      0,  6400000},
    {"capped",                     50000, 10000000,       0,  8,      0, 10000000},
    {"capped for good",            50000, 10000000,       0, 99,      0, 10000000},
    {"base and maximum are equal",  1000,     1000,       0,  0,      0,     1000},
    {"one microsecond is 0 or 1",      1,        1,       0,  0,      0,        1},
    {"a least delay is added",     50000, 10000000, 1000000,  0, 1000000, 1050000},
    {"but not beyond the maximum", 50000, 10000000, 9990000, 20, 9990000, 10000000},
    {"unless it is above it",      50000,  1000000, 3000000,  3, 3000000, 3000000},
    {"a huge base does not wrap", UINT64_C(1) << 62, UINT64_MAX - 1, 0, 5, 0,
                                                             UINT64_MAX - 1},
};
/* clang-format on */

/* Every delay is within its bounds, and they are nearly reached: jitter is full. */
static void check(const struct backoff_case *c)
{
    shoal__random_t random;
    uint64_t lowest_us = UINT64_MAX, highest_us = 0;

    shoal__random_init(&random, 7);
    for (int round = 0; round < 2000; round++) {
        shoal__backoff_t backoff;
        uint64_t delay_us = 0;

        shoal__backoff_init(&backoff, c->base_us, c->delay_us_max);
        for (unsigned i = 0; i <= c->failures; i++)
            delay_us = shoal__backoff_next(&backoff, &random, c->delay_us_min);
        if (delay_us < c->least_us || delay_us > c->most_us)
            fail_msg("%s: %llu us", c->name, (unsigned long long)delay_us);
        if (delay_us < lowest_us)
            lowest_us = delay_us;
        if (delay_us > highest_us)
            highest_us = delay_us;
    }
    uint64_t slack_us = (c->most_us - c->least_us) / 20;
    if (lowest_us > c->least_us + slack_us || highest_us < c->most_us - slack_us)
        fail_msg("%s: only %llu .. %llu us", c->name, (unsigned long long)lowest_us,
                 (unsigned long long)highest_us);
}

static void test_delays_fill_their_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

static void test_success_starts_over(void **state)
{
    (void)state;
    shoal__random_t random;
    shoal__backoff_t backoff;

    shoal__random_init(&random, 1);
    shoal__backoff_init(&backoff, 1000, 1000000);
    for (int round = 0; round < 200; round++) {
        assert_in_range(shoal__backoff_next(&backoff, &random, 0), 0, 1000);
        for (int i = 0; i < 5; i++)
            shoal__backoff_next(&backoff, &random, 0);
        shoal__backoff_succeeded(&backoff);
    }
}

static void test_failures_never_overflow(void **state)
{
    (void)state;
    shoal__random_t random;
    shoal__backoff_t backoff;

    shoal__random_init(&random, 3);
    shoal__backoff_init(&backoff, 1, 5000);
    for (int i = 0; i < 100000; i++)
        assert_in_range(shoal__backoff_next(&backoff, &random, 0), 0, 5000);
    assert_in_range(backoff.failures, 1, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delays_fill_their_bounds),
        cmocka_unit_test(test_success_starts_over),
        cmocka_unit_test(test_failures_never_overflow),
    };
    return cmocka_run_group_tests_name("core/backoff", tests, NULL, NULL);
}
