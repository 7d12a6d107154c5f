/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <shoal/version.h>

#if SHOAL_VERSION_NUMBER < 200
#error "the preprocessor can compare versions"
#endif

static void test_text_and_number_are_one_version(void **state)
{
    char text[32];

    (void)state;
    assert_in_range(SHOAL_VERSION_MINOR, 0, 99);
    assert_in_range(SHOAL_VERSION_PATCH, 0, 99);
    snprintf(text, sizeof text, "%d.%d.%d", SHOAL_VERSION_NUMBER / 10000,
             SHOAL_VERSION_NUMBER / 100 % 100, SHOAL_VERSION_NUMBER % 100);
    assert_string_equal(text, SHOAL_VERSION_STRING);
    assert_string_equal(shoal_version(), SHOAL_VERSION_STRING);
    assert_int_equal(shoal_version_number(), SHOAL_VERSION_NUMBER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_and_number_are_one_version),
    };
    return cmocka_run_group_tests_name("api/version", tests, NULL, NULL);
}
