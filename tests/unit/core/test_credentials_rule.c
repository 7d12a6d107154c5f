/* SPDX-License-Identifier: MIT */
#include "core/credentials_rule.h"

#include "base/time_us.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S UINT64_C(1000000)
#define START (1000 * S)

/* What happens, so long after the last step; and when the provider is asked then, counted from
 * this step; NEVER: not by itself. */
typedef struct step {
    uint64_t after_us;
    enum { ASKED, GIVEN, FAILED, REFUSED } what;
    uint64_t refresh_us; /* of GIVEN */
    uint64_t ask_us;     /* ASKED: it is late then */
} step_t;

#define TIMEOUT_US (5 * S)
#define NEVER SHOAL__NEVER_US

static const struct {
    const char *name;
    step_t steps[12];
    size_t count;
} cases[] = {
    {"given for good", {{0, ASKED, 0, 5 * S}, {1, GIVEN, 0, NEVER}}, 2},
    {"to be renewed",
     {{0, ASKED, 0, 5 * S}, {1, GIVEN, 60 * S, 60 * S}, {60 * S, ASKED, 0, 5 * S}},
     3},
    {"not sooner than after 1 s", {{0, ASKED, 0, 5 * S}, {1, GIVEN, 1, S}}, 2},
    {"the end of time", {{0, ASKED, 0, 5 * S}, {1, GIVEN, NEVER, NEVER}}, 2},
    {"failures in a row",
     {{0, ASKED, 0, 5 * S},
      {1, FAILED, 0, S},
      {S, ASKED, 0, 5 * S},
      {1, FAILED, 0, 2 * S},
      {2 * S, ASKED, 0, 5 * S},
      {1, FAILED, 0, 4 * S},
      {4 * S, ASKED, 0, 5 * S},
      {1, GIVEN, 9 * S, 9 * S},
      {9 * S, ASKED, 0, 5 * S},
      {1, FAILED, 0, S}},
     10},
    {"refused at once", /* 1 s after the last question */
     {{0, ASKED, 0, 5 * S}, {1000, GIVEN, 0, NEVER}, {1000, REFUSED, 0, S - 2000}},
     3},
    {"refused later",
     {{0, ASKED, 0, 5 * S}, {1, GIVEN, 0, NEVER}, {9 * S, REFUSED, 0, 0}},
     3},
    {"refused again and again",
     {{0, ASKED, 0, 5 * S},
      {0, GIVEN, 0, NEVER},
      {0, REFUSED, 0, S},
      {S, ASKED, 0, 5 * S},
      {0, GIVEN, 0, NEVER},
      {0, REFUSED, 0, 2 * S},
      {2 * S, ASKED, 0, 5 * S},
      {0, GIVEN, 0, NEVER},
      {0, REFUSED, 0, 4 * S},
      {4 * S, ASKED, 0, 5 * S},
      {0, GIVEN, 0, NEVER},
      {120 * S, REFUSED, 0, 0}}, /* this one stands alone */
     12},
    {"refused by many connections", /* it is one refusal */
     {{0, ASKED, 0, 5 * S},
      {0, GIVEN, 0, NEVER},
      {0, REFUSED, 0, S},
      {1, REFUSED, 0, S - 1},
      {1, REFUSED, 0, S - 2},
      {S - 2, ASKED, 0, 5 * S},
      {0, GIVEN, 0, NEVER},
      {0, REFUSED, 0, 2 * S}},
     8},
    {"refused before the renewal",
     {{0, ASKED, 0, 5 * S}, {0, GIVEN, S * 3 / 2, S * 3 / 2}, {S, REFUSED, 0, 0}},
     3},
    {"the renewal is sooner",
     {{0, ASKED, 0, 5 * S},
      {0, GIVEN, 0, NEVER},
      {0, REFUSED, 0, S},
      {S, ASKED, 0, 5 * S},
      {0, GIVEN, S, S},
      {0, REFUSED, 0, S}},
     6},
    {"refused while it is asked",
     {{0, ASKED, 0, 5 * S}, {S, REFUSED, 0, 4 * S}, {0, GIVEN, 0, NEVER}},
     3},
};

static void test_when_it_is_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__credentials_rule_t rule;
        uint64_t now_us = START;

        shoal__credentials_rule_init(&rule, TIMEOUT_US);
        assert_false(rule.has_outcome);
        assert_true(shoal__credentials_rule_wake_us(&rule) <= now_us);
        for (size_t j = 0; j < cases[i].count; j++) {
            const step_t *step = &cases[i].steps[j];
            uint64_t wake_us;

            now_us += step->after_us;
            switch (step->what) {
            case ASKED:
                assert_true(shoal__credentials_rule_asks(&rule, now_us));
                break;
            case GIVEN:
                shoal__credentials_rule_given(&rule, step->refresh_us, now_us);
                assert_true(rule.has_outcome);
                break;
            case FAILED:
                shoal__credentials_rule_failed(&rule, now_us);
                assert_true(rule.has_outcome);
                break;
            case REFUSED:
                shoal__credentials_rule_refused(&rule, now_us);
                break;
            }
            wake_us = shoal__credentials_rule_wake_us(&rule);
            if (wake_us != shoal__time_after(now_us, step->ask_us))
                fail_msg("%s, step %zu: %llu us", cases[i].name, j + 1,
                         (unsigned long long)(wake_us - now_us));
            if (step->ask_us > 0)
                assert_false(shoal__credentials_rule_asks(&rule, wake_us - 1));
        }
    }
}

static void test_a_late_answer(void **state)
{
    shoal__credentials_rule_t rule;

    (void)state;
    shoal__credentials_rule_init(&rule, TIMEOUT_US);
    assert_false(shoal__credentials_rule_is_late(&rule, START));
    assert_true(shoal__credentials_rule_asks(&rule, START));
    assert_false(shoal__credentials_rule_asks(&rule, START));
    assert_false(shoal__credentials_rule_is_late(&rule, START + TIMEOUT_US - 1));
    assert_true(shoal__credentials_rule_is_late(&rule, START + TIMEOUT_US));
    shoal__credentials_rule_failed(&rule, START + TIMEOUT_US);
    assert_false(shoal__credentials_rule_is_late(&rule, START + TIMEOUT_US));
    shoal__credentials_rule_init(&rule, NEVER);
    assert_true(shoal__credentials_rule_asks(&rule, START));
    assert_false(shoal__credentials_rule_is_late(&rule, NEVER - 1));
}

static void test_pauses_have_a_bound(void **state)
{
    shoal__credentials_rule_t rule;

    (void)state;
    shoal__credentials_rule_init(&rule, TIMEOUT_US);
    for (int i = 0; i < 100; i++)
        shoal__credentials_rule_failed(&rule, START);
    assert_int_equal(rule.next_us, START + SHOAL__CREDENTIALS_PAUSE_US_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when_it_is_asked),
        cmocka_unit_test(test_a_late_answer),
        cmocka_unit_test(test_pauses_have_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
