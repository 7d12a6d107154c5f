/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "noise.h"

#include <math.h>

/* clang-format off */
static const struct noise_case {
    const char *name;
    noise_rounds_t before, after; /* median, lowest, highest, count */
    bool more_is_better;
    noise_verdict_t verdict;
} cases[] = {
    {"the same",             {100,  99, 101, 3}, {100,  99, 101, 3}, true,  NOISE_SAME},
    {"more, beyond",         {100,  99, 101, 3}, {110, 109, 111, 3}, true,  NOISE_BETTER},
    {"less, beyond",         {100,  99, 101, 3}, { 90,  89,  91, 3}, true,  NOISE_WORSE},
    {"less latency",         {100,  99, 101, 3}, { 90,  89,  91, 3}, false, NOISE_BETTER},
    {"more latency",         {100,  99, 101, 3}, {110, 109, 111, 3}, false, NOISE_WORSE},
    {"as much as the rounds",{100,  98, 102, 3}, {110, 107, 113, 3}, true,  NOISE_SAME},
    {"rounds all over",      {100,  50, 150, 3}, {140, 130, 150, 3}, true,  NOISE_SAME},
    {"steady, but only 2 %", {100, 100, 100, 3}, {102, 102, 102, 3}, true,  NOISE_SAME},
    {"steady and 3 %",       {100, 100, 100, 3}, {103, 103, 103, 3}, true,  NOISE_BETTER},
    {"one round before",     {100, 100, 100, 1}, {200, 199, 201, 3}, true,  NOISE_UNKNOWN},
    {"one round after",      {100,  99, 101, 3}, {200, 200, 200, 1}, true,  NOISE_UNKNOWN},
    {"not measured",         {NAN,  99, 101, 3}, {200, 199, 201, 3}, true,  NOISE_UNKNOWN},
};
/* clang-format on */

static void test_verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        noise_verdict_t verdict =
            noise_judge(&cases[i].before, &cases[i].after, cases[i].more_is_better);
        if (verdict != cases[i].verdict)
            fail_msg("%s: %d, want %d", cases[i].name, (int)verdict,
                     (int)cases[i].verdict);
    }
}

static void test_rounds_leave_out_what_was_not_measured(void **state)
{
    (void)state;
    const double values[] = {3, (double)NAN, 1, 2};
    noise_rounds_t rounds = noise_rounds_of(2, values, 4);

    assert_int_equal(rounds.count, 3);
    assert_true(rounds.lowest < 1.01 && rounds.highest > 2.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_rounds_leave_out_what_was_not_measured),
    };
    return cmocka_run_group_tests_name("bench/noise", tests, NULL, NULL);
}
