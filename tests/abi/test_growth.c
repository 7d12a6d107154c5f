/* SPDX-License-Identifier: MIT */

/* A version to come, and programs compiled for today's: each public structure that grows
 * has a last field `later` here, which those programs do not know. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/sized.h"
#include "client/plan.h"
#include <shoal/connection.h>
#include <shoal/stats.h>

#define LATER UINT64_C(0x5a5a5a5a5a5a5a5a) /* behind the program's structure */

static void test_a_call_of_today_is_read(void **state)
{
    shoal_call_t theirs = {.size = offsetof(shoal_call_t, later),
                           .flags = SHOAL_CALL_URGENT,
                           .timeout_us = 9,
                           .later = LATER};
    shoal_call_t call;

    (void)state;
    assert_true(shoal__call_read(&theirs, &call));
    assert_int_equal(call.size, sizeof call);
    assert_int_equal(call.flags, SHOAL_CALL_URGENT);
    assert_int_equal(call.timeout_us, 9);
    assert_int_equal(call.later, 0);
    theirs.size = SHOAL__CALL_BYTES_MIN - 1;
    assert_false(shoal__call_read(&theirs, &call));
}

static void test_an_error_of_today_is_written(void **state)
{
    shoal_error_t theirs = {.size = offsetof(shoal_error_t, later),
                            .code = SHOAL_EFULL,
                            .text = "of the call before",
                            .later = LATER};

    (void)state;
    assert_true(shoal__error_begin(&theirs));
    assert_int_equal(theirs.code, 0);
    assert_string_equal(theirs.text, "");
    shoal__error_system(&theirs, -1, "a descriptor");
    assert_int_equal(theirs.size, offsetof(shoal_error_t, later));
    assert_int_equal(theirs.later, LATER);
    theirs.size--;
    assert_false(shoal__error_begin(&theirs));
}

/* A call of a newer program that leads to the error of an older one. */
static void test_both_sizes_count(void **state)
{
    shoal_error_t error = {.size = offsetof(shoal_error_t, later), .later = LATER};
    shoal_call_t theirs = {.size = sizeof theirs, .error = &error, .later = LATER};
    shoal_call_t call;

    (void)state;
    assert_true(shoal__call_read(&theirs, &call));
    assert_int_equal(call.later, LATER);
    assert_int_equal(error.later, LATER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_of_today_is_read),
        cmocka_unit_test(test_an_error_of_today_is_written),
        cmocka_unit_test(test_both_sizes_count),
    };
    return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
