/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/dial_failure.h"

/* From those that tell least to those that tell most. */
static const struct dial_case {
    int error;
    shoal__dial_failure_t failure;
} cases[] = {
    {EAFNOSUPPORT, SHOAL__DIAL_NO_FAMILY}, {EADDRNOTAVAIL, SHOAL__DIAL_NO_WAY},
    {ENETUNREACH, SHOAL__DIAL_NO_WAY},     {EHOSTUNREACH, SHOAL__DIAL_TRIED},
    {ECONNREFUSED, SHOAL__DIAL_TRIED},     {ETIMEDOUT, SHOAL__DIAL_TRIED},
    {EMFILE, SHOAL__DIAL_TRIED},           {EACCES, SHOAL__DIAL_TRIED},
};

static void test_what_an_error_tells(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(shoal__dial_failure_read(cases[i].error), cases[i].failure);
        assert_true(i == 0 || cases[i].failure >= cases[i - 1].failure);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_an_error_tells),
    };
    return cmocka_run_group_tests_name("core/dial_failure", tests, NULL, NULL);
}
