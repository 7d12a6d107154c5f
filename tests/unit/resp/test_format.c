/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "resp/format.h"
#include "unit/resp/scarce_hiredis.h"
#include <shoal/errors.h>
#include <string.h>

static int format(shoal__formatted_t *ret_formatted, const char *text, ...)
{
    va_list args;

    va_start(args, text);
    int rc = shoal__format(ret_formatted, text, args);
    va_end(args);
    return rc;
}

static void check_argument(const shoal__formatted_t *formatted, size_t index,
                           const char *data, size_t bytes)
{
    assert_true(index < formatted->command.argc);
    assert_int_equal(formatted->command.argvlen[index], bytes);
    assert_memory_equal(formatted->command.argv[index], data, bytes);
}

static void test_words_are_split_in_the_format_only(void **state)
{
    (void)state;
    shoal__formatted_t formatted;

    assert_int_equal(format(&formatted, "SET %s %b", "a key", "v\r\n\0v", (size_t)5),
                     0);
    assert_int_equal(formatted.command.argc, 3);
    check_argument(&formatted, 0, "SET", 3);
    check_argument(&formatted, 1, "a key", 5);
    check_argument(&formatted, 2, "v\r\n\0v", 5);
    shoal__formatted_release(&formatted);
    shoal__formatted_release(&formatted);
}

static void test_numbers_and_empty_arguments(void **state)
{
    (void)state;
    shoal__formatted_t formatted;

    assert_int_equal(
        format(&formatted, "  X k:%d  %lld %s %%", -7, 1234567890123LL, ""), 0);
    assert_int_equal(formatted.command.argc, 5);
    check_argument(&formatted, 1, "k:-7", 4);
    check_argument(&formatted, 2, "1234567890123", 13);
    check_argument(&formatted, 3, "", 0);
    check_argument(&formatted, 4, "%", 1);
    shoal__formatted_release(&formatted);
}

static void test_what_is_no_command(void **state)
{
    (void)state;
    shoal__formatted_t formatted = {.memory = &formatted};

    assert_int_equal(format(&formatted, ""), SHOAL_EINVAL);
    assert_int_equal(format(&formatted, "   "), SHOAL_EINVAL);
    assert_int_equal(format(&formatted, "SET %y", 1), SHOAL_EINVAL);
    assert_ptr_equal(formatted.memory, &formatted);

    shoal__test_fail_alloc_after(0);
    assert_int_equal(format(&formatted, "PING"), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_ptr_equal(formatted.memory, &formatted);
}

static void test_the_formatters_memory_may_run_out(void **state)
{
    (void)state;
    shoal__formatted_t formatted;
    size_t allowed = 0, failures = 0;

    for (int rc = SHOAL_ENOMEM; rc < 0; allowed++) {
        formatted = (shoal__formatted_t){.memory = &formatted};
        allow_hiredis(allowed);
        rc = format(&formatted, "SET key:%d %s", 7, "value");
        if (rc < 0) {
            assert_int_equal(rc, SHOAL_ENOMEM);
            assert_ptr_equal(formatted.memory, &formatted);
            failures++;
        }
    }
    assert_true(failures > 3);
    check_argument(&formatted, 1, "key:7", 5);
    shoal__formatted_release(&formatted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_split_in_the_format_only),
        cmocka_unit_test(test_numbers_and_empty_arguments),
        cmocka_unit_test(test_what_is_no_command),
        cmocka_unit_test_teardown(test_the_formatters_memory_may_run_out,
                                  hiredis_tear_down),
    };
    return cmocka_run_group_tests_name("resp/format", tests, NULL, NULL);
}
