/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "number_text.h"
#include <string.h>

static void check_float(uint64_t bits, const char *expected)
{
    char text[SHOALPY_NUMBER_BYTES + 1];
    double value;

    memcpy(&value, &bits, sizeof value);
    size_t bytes = shoalpy_float_text(value, text);
    assert_in_range(bytes, 1, SHOALPY_NUMBER_BYTES);
    text[bytes] = '\0';
    assert_string_equal(text, expected);
}

static void test_floats_are_as_repr_writes_them(void **state)
{
    static const struct {
        uint64_t bits;
        const char *text;
    } rows[] = {
#include "float_texts.inc"
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_float(rows[i].bits, rows[i].text);
}

static void test_a_nan_has_no_sign(void **state)
{
    (void)state;
    check_float(UINT64_C(0xfff8000000000000), "nan");
    check_float(UINT64_C(0x7ff8000000000001), "nan");
}

static void test_integers(void **state)
{
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {-1, "-1"},
        {9, "9"},
        {10, "10"},
        {-10, "-10"},
        {1000000, "1000000"},
        {INT32_MIN, "-2147483648"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[SHOALPY_NUMBER_BYTES + 1];
        size_t bytes = shoalpy_integer_text(rows[i].value, text);
        assert_in_range(bytes, 1, SHOALPY_NUMBER_BYTES);
        text[bytes] = '\0';
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_are_as_repr_writes_them),
        cmocka_unit_test(test_a_nan_has_no_sign),
        cmocka_unit_test(test_integers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
