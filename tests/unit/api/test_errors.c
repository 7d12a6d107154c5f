/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <shoal/errors.h>

static const struct error_row {
    int code, value;
    const char *name, *text;
} rows[] = {
#define ROW(name, value, text) {SHOAL_##name, value, "SHOAL_" #name, text},
    SHOAL_ERROR_MAP(ROW)
#undef ROW
};

#define COUNT (sizeof rows / sizeof *rows)

static void test_every_code_has_its_name_and_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(rows[i].code, rows[i].value);
        assert_string_equal(shoal_error_name(rows[i].code), rows[i].name);
        assert_string_equal(shoal_strerror(rows[i].code), rows[i].text);
    }
}

/* The values are part of the ABI: a release may not change them. */
static void test_values_are_those_of_the_first_release(void **state)
{
    (void)state;
    assert_int_equal(SHOAL_EINVAL, -7001);
    assert_int_equal(SHOAL_ESYSTEM, -7012);
    assert_int_equal(SHOAL_EAGAIN, -7013);
    assert_int_equal(SHOAL_ECROSSSLOT, -7014);
    assert_int_equal(SHOAL_ETIMEOUT, -7020);
    assert_int_equal(SHOAL_ESHUTDOWN, -7025);
}

static void test_codes_are_distinct_and_in_range(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(rows[i].code >= -7099 && rows[i].code <= -7000);
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(rows[i].code, rows[k].code);
            assert_string_not_equal(rows[i].text, rows[k].text);
        }
    }
}

static void test_texts_are_one_line_without_a_full_stop(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        size_t bytes = strlen(rows[i].text);
        assert_true(bytes > 0 && rows[i].text[bytes - 1] != '.');
        assert_null(strchr(rows[i].text, '\n'));
    }
}

static void test_every_other_int_is_known_to_be_unknown(void **state)
{
    (void)state;
    const int others[] = {1,     -1,    -7000, -7015,     -7019,     -7027,
                          -7099, -7100, 7001,  INT32_MIN, INT32_MAX, -110};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_string_equal(shoal_strerror(others[i]), "unknown error");
        assert_string_equal(shoal_error_name(others[i]), "UNKNOWN");
    }
    assert_string_equal(shoal_strerror(0), "success");
    assert_string_equal(shoal_error_name(0), "OK");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_has_its_name_and_text),
        cmocka_unit_test(test_values_are_those_of_the_first_release),
        cmocka_unit_test(test_codes_are_distinct_and_in_range),
        cmocka_unit_test(test_texts_are_one_line_without_a_full_stop),
        cmocka_unit_test(test_every_other_int_is_known_to_be_unknown),
    };
    return cmocka_run_group_tests_name("api/errors", tests, NULL, NULL);
}
