/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/driver_token.h"

/* Every legal step of a token that was used by lone callers for long enough; the unit
 * must hold these and no other. */
/* clang-format off */
#define ROW(driver, event, is_quiet, next, verdict)                                      \
    {SHOAL__DRIVER_##driver, SHOAL__DRIVER_ON_##event, is_quiet,                         \
     SHOAL__DRIVER_##next, SHOAL__DRIVER_##verdict}

static const struct legal_step {
    shoal__driver_t driver;
    shoal__driver_event_t event;
    bool is_quiet;
    shoal__driver_t next;
    shoal__driver_verdict_t verdict;
} legal[] = {
    ROW(BACKGROUND, CALL,     true,  BACKGROUND, QUEUE),
    ROW(BACKGROUND, CALL,     false, BACKGROUND, QUEUE),
    ROW(BACKGROUND, PUSH,     true,  BACKGROUND, SIGNAL),
    ROW(BACKGROUND, PUSH,     false, BACKGROUND, SIGNAL),
    ROW(BACKGROUND, TURNED,   true,  PARKED,     PARK),
    ROW(BACKGROUND, TURNED,   false, BACKGROUND, KEEP),
    ROW(BACKGROUND, NAPPED,   true,  BACKGROUND, KEEP),
    ROW(BACKGROUND, NAPPED,   false, BACKGROUND, KEEP),
    ROW(BACKGROUND, LONE,     true,  BACKGROUND, KEEP),
    ROW(BACKGROUND, LONE,     false, BACKGROUND, KEEP),
    ROW(BACKGROUND, COMPANY,  true,  BACKGROUND, KEEP),
    ROW(BACKGROUND, COMPANY,  false, BACKGROUND, KEEP),
    ROW(PARKED,     CALL,     true,  DIRECT,     DRIVE),
    ROW(PARKED,     CALL,     false, PARKED,     QUEUE),
    ROW(PARKED,     PUSH,     true,  BACKGROUND, WAKE),
    ROW(PARKED,     PUSH,     false, BACKGROUND, WAKE),
    ROW(PARKED,     NAPPED,   true,  PARKED,     KEEP),
    ROW(PARKED,     NAPPED,   false, BACKGROUND, LOOK),
    ROW(DIRECT,     CALL,     true,  DIRECT,     QUEUE),
    ROW(DIRECT,     CALL,     false, DIRECT,     QUEUE),
    ROW(DIRECT,     PUSH,     true,  DIRECT,     SIGNAL),
    ROW(DIRECT,     PUSH,     false, DIRECT,     SIGNAL),
    ROW(DIRECT,     TURNED,   true,  DIRECT,     KEEP),
    ROW(DIRECT,     TURNED,   false, BACKGROUND, HAND_OVER),
    ROW(DIRECT,     LEFT,     true,  PARKED,     PARK),
    ROW(DIRECT,     LEFT,     false, BACKGROUND, HAND_OVER),
    ROW(DIRECT,     NAPPED,   true,  DIRECT,     KEEP),
    ROW(DIRECT,     NAPPED,   false, DIRECT,     KEEP),
};
/* clang-format on */

static const struct legal_step *find(shoal__driver_t driver,
                                     shoal__driver_event_t event, bool is_quiet)
{
    for (size_t i = 0; i < sizeof legal / sizeof *legal; i++)
        if (legal[i].driver == driver && legal[i].event == event &&
            legal[i].is_quiet == is_quiet)
            return &legal[i];
    return NULL;
}

static shoal__driver_token_t token_in(shoal__driver_t driver)
{
    return (shoal__driver_token_t){.driver = driver, .lone = SHOAL__DRIVER_LONE_CALLS};
}

static void check_pair(shoal__driver_t driver, shoal__driver_event_t event,
                       bool is_quiet)
{
    const struct legal_step *want = find(driver, event, is_quiet);
    shoal__driver_token_t token = token_in(driver);
    shoal__driver_verdict_t verdict = shoal__driver_token_step(&token, event, is_quiet);

    if (verdict != (want ? want->verdict : SHOAL__DRIVER_ILLEGAL))
        fail_msg("driver %d, event %d, quiet %d: verdict %d", (int)driver, (int)event,
                 is_quiet, (int)verdict);
    if (token.driver != (want ? want->next : driver))
        fail_msg("driver %d, event %d, quiet %d: next %d", (int)driver, (int)event,
                 is_quiet, (int)token.driver);
}

static void test_every_pair_of_driver_and_event(void **state)
{
    (void)state;
    for (int d = 0; d < SHOAL__DRIVER_COUNT; d++)
        for (int e = 0; e < SHOAL__DRIVER_EVENT_COUNT; e++) {
            check_pair((shoal__driver_t)d, (shoal__driver_event_t)e, true);
            check_pair((shoal__driver_t)d, (shoal__driver_event_t)e, false);
        }
}

/* One driver at most: no thread takes the loop from a driver, which gives it away. */
static void test_only_the_driver_ends_its_drive(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof legal / sizeof *legal; i++) {
        const struct legal_step *step = &legal[i];
        bool is_of_driver = step->event == SHOAL__DRIVER_ON_TURNED ||
                            step->event == SHOAL__DRIVER_ON_LEFT;
        shoal__driver_token_t token = token_in(step->driver);
        shoal__driver_verdict_t verdict =
            shoal__driver_token_step(&token, step->event, step->is_quiet);
        if (step->driver != SHOAL__DRIVER_PARKED && token.driver != step->driver &&
            !is_of_driver)
            fail_msg("driver %d, event %d", (int)step->driver, (int)step->event);
        if (token.driver == SHOAL__DRIVER_DIRECT &&
            step->driver != SHOAL__DRIVER_DIRECT &&
            (step->driver != SHOAL__DRIVER_PARKED || verdict != SHOAL__DRIVER_DRIVE))
            fail_msg("driver %d, event %d", (int)step->driver, (int)step->event);
    }
}

/* If no thread drives after a push, the background thread was called. */
static void test_a_push_is_never_left_alone(void **state)
{
    (void)state;
    for (int d = 0; d < SHOAL__DRIVER_COUNT; d++) {
        shoal__driver_token_t token = token_in((shoal__driver_t)d);
        shoal__driver_verdict_t verdict =
            shoal__driver_token_step(&token, SHOAL__DRIVER_ON_PUSH, false);
        assert_int_not_equal(token.driver, SHOAL__DRIVER_PARKED);
        assert_int_equal(verdict, d == SHOAL__DRIVER_PARKED ? SHOAL__DRIVER_WAKE
                                                            : SHOAL__DRIVER_SIGNAL);
    }
}

static void lone_calls(shoal__driver_token_t *token, unsigned calls)
{
    for (unsigned i = 0; i < calls; i++)
        assert_int_equal(shoal__driver_token_step(token, SHOAL__DRIVER_ON_LONE, true),
                         SHOAL__DRIVER_KEEP);
}

static void test_parked_after_enough_lone_calls(void **state)
{
    (void)state;
    shoal__driver_token_t token;

    shoal__driver_token_init(&token);
    assert_int_equal(shoal__driver_token_step(&token, SHOAL__DRIVER_ON_TURNED, true),
                     SHOAL__DRIVER_KEEP);
    lone_calls(&token, SHOAL__DRIVER_LONE_CALLS - 1);
    assert_false(shoal__driver_token_may_park(&token));
    assert_int_equal(shoal__driver_token_step(&token, SHOAL__DRIVER_ON_TURNED, true),
                     SHOAL__DRIVER_KEEP);
    lone_calls(&token, 1);
    assert_true(shoal__driver_token_may_park(&token));
    assert_int_equal(shoal__driver_token_step(&token, SHOAL__DRIVER_ON_TURNED, false),
                     SHOAL__DRIVER_KEEP);
    assert_int_equal(shoal__driver_token_step(&token, SHOAL__DRIVER_ON_TURNED, true),
                     SHOAL__DRIVER_PARK);
    assert_false(shoal__driver_token_may_park(&token));
}

static void test_company_starts_the_count_again(void **state)
{
    (void)state;
    shoal__driver_token_t token;

    shoal__driver_token_init(&token);
    lone_calls(&token, SHOAL__DRIVER_LONE_CALLS - 1);
    shoal__driver_token_step(&token, SHOAL__DRIVER_ON_COMPANY, true);
    lone_calls(&token, SHOAL__DRIVER_LONE_CALLS - 1);
    assert_false(shoal__driver_token_may_park(&token));
}

/* A thread that called the background thread had company. */
static void test_company_of_a_driver_starts_the_count_again(void **state)
{
    (void)state;
    shoal__driver_token_t woken = token_in(SHOAL__DRIVER_PARKED);
    shoal__driver_token_t handed = token_in(SHOAL__DRIVER_DIRECT);

    shoal__driver_token_step(&woken, SHOAL__DRIVER_ON_PUSH, true);
    assert_false(shoal__driver_token_may_park(&woken));
    shoal__driver_token_step(&handed, SHOAL__DRIVER_ON_TURNED, false);
    assert_false(shoal__driver_token_may_park(&handed));
}

static void look(shoal__driver_token_t *token)
{
    assert_int_equal(shoal__driver_token_step(token, SHOAL__DRIVER_ON_NAPPED, false),
                     SHOAL__DRIVER_LOOK);
}

static void test_a_look_goes_back_to_the_parking_place(void **state)
{
    (void)state;
    shoal__driver_token_t token = token_in(SHOAL__DRIVER_PARKED);

    look(&token);
    assert_int_equal(shoal__driver_token_step(&token, SHOAL__DRIVER_ON_TURNED, true),
                     SHOAL__DRIVER_PARK);
}

static void test_looks_in_vain_end_the_parking(void **state)
{
    (void)state;
    shoal__driver_token_t token = token_in(SHOAL__DRIVER_PARKED);

    for (int i = 0; i < SHOAL__DRIVER_LOOKS_MAX - 1; i++) {
        look(&token);
        shoal__driver_token_step(&token, SHOAL__DRIVER_ON_TURNED, true);
    }
    assert_int_equal(token.driver, SHOAL__DRIVER_PARKED);
    look(&token);
    assert_int_equal(shoal__driver_token_step(&token, SHOAL__DRIVER_ON_TURNED, true),
                     SHOAL__DRIVER_KEEP);
    assert_int_equal(token.driver, SHOAL__DRIVER_BACKGROUND);
}

static void test_a_call_makes_looks_count_again(void **state)
{
    (void)state;
    shoal__driver_token_t token = token_in(SHOAL__DRIVER_PARKED);

    for (int i = 0; i < 3 * SHOAL__DRIVER_LOOKS_MAX; i++) {
        look(&token);
        shoal__driver_token_step(&token, SHOAL__DRIVER_ON_TURNED, true);
        shoal__driver_token_step(&token, SHOAL__DRIVER_ON_CALL, true);
        shoal__driver_token_step(&token, SHOAL__DRIVER_ON_LEFT, true);
        assert_int_equal(token.driver, SHOAL__DRIVER_PARKED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_of_driver_and_event),
        cmocka_unit_test(test_only_the_driver_ends_its_drive),
        cmocka_unit_test(test_a_push_is_never_left_alone),
        cmocka_unit_test(test_parked_after_enough_lone_calls),
        cmocka_unit_test(test_company_starts_the_count_again),
        cmocka_unit_test(test_company_of_a_driver_starts_the_count_again),
        cmocka_unit_test(test_a_look_goes_back_to_the_parking_place),
        cmocka_unit_test(test_looks_in_vain_end_the_parking),
        cmocka_unit_test(test_a_call_makes_looks_count_again),
    };
    return cmocka_run_group_tests_name("core/driver_token", tests, NULL, NULL);
}
