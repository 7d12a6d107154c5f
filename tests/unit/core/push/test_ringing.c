/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/push/ringing.h"

#define HELD SHOAL__RINGING_HELD_US

static void test_it_is_rung_when_nothing_more_comes(void **state)
{
    shoal__ringing_t ringing = {0};

    (void)state;
    assert_true(shoal__ringing_is_due(&ringing, false, 0));
    shoal__ringing_done(&ringing);
    assert_false(shoal__ringing_is_due(&ringing, true, 1000));
    assert_true(shoal__ringing_is_due(&ringing, false, 1001));
}

static void test_it_is_rung_after_a_while_in_any_case(void **state)
{
    shoal__ringing_t ringing = {0};

    (void)state;
    for (uint64_t begin_us = 1000; begin_us < 1002; begin_us++) {
        assert_false(shoal__ringing_is_due(&ringing, true, begin_us));
        assert_false(shoal__ringing_is_due(&ringing, true, begin_us + HELD - 1));
        assert_true(shoal__ringing_is_due(&ringing, true, begin_us + HELD));
        shoal__ringing_done(&ringing);
    }
    /* A clock that stands, or goes back, is early. */
    assert_false(shoal__ringing_is_due(&ringing, true, 1000));
    assert_false(shoal__ringing_is_due(&ringing, true, 999));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_rung_when_nothing_more_comes),
        cmocka_unit_test(test_it_is_rung_after_a_while_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
