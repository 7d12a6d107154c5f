/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/heavy.h"
#include <stdio.h>

#define SECOND_US UINT64_C(1000000)
#define NOW_US (1000 * SECOND_US)

static uint64_t command(const char *encoded)
{
    return shoal__heavy_command((shoal__bytes_t){encoded, strlen(encoded)});
}

#define GET_A "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"

static void test_name_and_first_key(void **state)
{
    (void)state;
    assert_true(command(GET_A) == command("*2\r\n$3\r\nget\r\n$1\r\na\r\n"));
    assert_true(command(GET_A) != command("*2\r\n$3\r\nGET\r\n$1\r\nb\r\n"));
    assert_true(command(GET_A) != command("*2\r\n$4\r\nTYPE\r\n$1\r\na\r\n"));
    assert_true(command(GET_A) == shoal__heavy_get((shoal__bytes_t){"a", 1}));
    assert_true(command("*2\r\n$4\r\nKEYS\r\n$1\r\na\r\n") ==
                command("*2\r\n$4\r\nKEYS\r\n$1\r\n*\r\n"));
    assert_true(command("*2\r\n$4\r\nMGET\r\n$1\r\na\r\n") ==
                command("*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n"));
    assert_true(command("*1\r\n$5\r\nFT.AA\r\n") != command("*1\r\n$5\r\nFT.BB\r\n"));
}

static void test_a_large_reply_is_believed_for_a_minute(void **state)
{
    shoal__heavy_t heavy = {0};
    uint64_t a = command(GET_A), b = shoal__heavy_get((shoal__bytes_t){"b", 1});

    (void)state;
    assert_true(shoal__heavy_is_empty(&heavy, NOW_US));
    assert_false(shoal__heavy_knows(&heavy, a, NOW_US));
    shoal__heavy_was_large(&heavy, a, NOW_US);
    assert_false(shoal__heavy_is_empty(&heavy, NOW_US));
    assert_true(shoal__heavy_knows(&heavy, a, NOW_US));
    assert_false(shoal__heavy_knows(&heavy, b, NOW_US));
    assert_true(shoal__heavy_knows(&heavy, a, NOW_US + 60 * SECOND_US));
    assert_false(shoal__heavy_knows(&heavy, a, NOW_US + 66 * SECOND_US));
    assert_true(shoal__heavy_is_empty(&heavy, NOW_US + 66 * SECOND_US));
}

/* More commands than places: the newest is known, and none that never was. */
static void test_memory_is_fixed(void **state)
{
    shoal__heavy_t heavy = {0};
    char key[16] = "";

    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        shoal__bytes_t text = {key, (size_t)snprintf(key, sizeof key, "%u", i)};
        shoal__heavy_was_large(&heavy, shoal__heavy_get(text), NOW_US);
        assert_true(shoal__heavy_knows(&heavy, shoal__heavy_get(text), NOW_US));
    }
    for (unsigned i = 10000; i < 20000; i++) {
        shoal__bytes_t text = {key, (size_t)snprintf(key, sizeof key, "%u", i)};
        assert_false(shoal__heavy_knows(&heavy, shoal__heavy_get(text), NOW_US));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_and_first_key),
        cmocka_unit_test(test_a_large_reply_is_believed_for_a_minute),
        cmocka_unit_test(test_memory_is_fixed),
    };
    return cmocka_run_group_tests_name("core/heavy", tests, NULL, NULL);
}
