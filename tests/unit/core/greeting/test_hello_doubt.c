/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/greeting/hello_doubt.h"
#include <shoal/errors.h>

#define TRUSTED SHOAL__HELLO_TRUSTED
#define FULL SHOAL__GREETING_FULL
#define BARE SHOAL__GREETING_BARE
#define TEST SHOAL__GREETING_TEST

/* clang-format off */
static const struct course {
    const char *name;
    const char *outcomes; /* so far: a answered, h hung up, o otherwise */
    shoal__greeting_style_t style; /* how the next connection greets */
    bool is_trusted;
} courses[] = {
    {"the first connection",                        "",      FULL, true},
    {"a good one",                                  "a",     FULL, true},
    {"good, then lost",                             "ao",    FULL, true},
    {"refused, timed out, garbage",                 "ooo",   FULL, true},
    {"hung up once",                                "h",     TEST, false},
    {"nobody there",                                "hh",    FULL, true},
    {"nobody there, for long",                      "hhhh",  FULL, true},
    {"hung up, answered bare",                      "ha",    FULL, false},
    {"it had only just died",                       "haa",   FULL, true},
    {"it really hangs up on HELLO",                 "hah",   BARE, false},
    {"and is served bare",                          "haha",  BARE, false},
    {"that connection is lost: ask again",          "hahao", FULL, false},
    {"it still hangs up",                           "hahaoh", BARE, false},
    {"it was replaced by a newer one",              "hahaoa", FULL, true},
    {"it does not even answer bare any more",       "hahh",  FULL, true},
    {"lost in the test",                            "ho",    FULL, true},
    {"lost in the second test",                     "hao",   FULL, true},
};
/* clang-format on */

static void test_the_next_greeting_follows_from_the_earlier_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof courses / sizeof *courses; i++) {
        const struct course *c = &courses[i];
        shoal__hello_doubt_t doubt = TRUSTED;

        for (const char *at = c->outcomes; *at; at++)
            doubt = shoal__hello_next(doubt, *at == 'a'   ? SHOAL__HELLO_ANSWERED
                                             : *at == 'h' ? SHOAL__HELLO_HUNG_UP
                                                          : SHOAL__HELLO_OTHERWISE);
        if (shoal__hello_style(doubt) != c->style)
            fail_msg("%s: style %d", c->name, (int)shoal__hello_style(doubt));
        if ((doubt == TRUSTED) != c->is_trusted)
            fail_msg("%s: doubt %d", c->name, (int)doubt);
    }
}

static void test_what_a_failure_says(void **state)
{
    static const struct {
        bool has_greeting, is_test_passed, heard_anything;
        int status;
        shoal__hello_outcome_t outcome;
    } cases[] = {
        {false, false, false, SHOAL_ECONN, SHOAL__HELLO_OTHERWISE},
        {true, false, false, SHOAL_ECONN, SHOAL__HELLO_HUNG_UP},
        {true, false, true, SHOAL_ECONN, SHOAL__HELLO_OTHERWISE},
        {true, false, false, SHOAL_ETIMEOUT, SHOAL__HELLO_OTHERWISE},
        {true, true, true, SHOAL_ECONN, SHOAL__HELLO_ANSWERED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__greeting_t greeting = {.is_test_passed = cases[i].is_test_passed,
                                      .heard_anything = cases[i].heard_anything};
        if (shoal__hello_failed(cases[i].has_greeting ? &greeting : NULL,
                                cases[i].status) != cases[i].outcome)
            fail_msg("case %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_greeting_follows_from_the_earlier_ones),
        cmocka_unit_test(test_what_a_failure_says),
    };
    return cmocka_run_group_tests_name("core/greeting/hello_doubt", tests, NULL, NULL);
}
