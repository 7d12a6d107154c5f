/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/description.h"
#include "unit/core/wire.h"

static shoal__bytes_t bytes(const char *text)
{
    return (shoal__bytes_t){text, strlen(text)};
}

static void test_numbers(void **state)
{
    static const char *const none[] = {"",   " 1", "1 ",  "-1",
                                       "+1", "1x", "0x1", "1000000000000000000"};
    uint64_t number;

    (void)state;
    assert_true(shoal__text_read_number(bytes("017"), 17, &number));
    assert_int_equal(number, 17);
    assert_false(shoal__text_read_number(bytes("18"), 17, &number));
    assert_true(
        shoal__text_read_number(bytes("999999999999999999"), UINT64_MAX, &number));
    assert_int_equal(number, 999999999999999999);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(shoal__text_read_number(bytes(none[i]), UINT64_MAX, &number));
}

static void test_words(void **state)
{
    static const char *const none[] = {"", "a b", "a\n", "four4", "\x7f", "\xc3\xa4"};
    char word[5];

    (void)state;
    assert_true(shoal__text_read_word(bytes("four"), word, sizeof word));
    assert_string_equal(word, "four");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(shoal__text_read_word(bytes(none[i]), word, sizeof word));
}

static void test_flags(void **state)
{
    (void)state;
    assert_true(shoal__text_has_flag(bytes("fail"), "fail"));
    assert_true(shoal__text_has_flag(bytes("myself,slave,fail"), "slave"));
    assert_false(shoal__text_has_flag(bytes("slave,fail?"), "fail"));
    assert_false(shoal__text_has_flag(bytes("nofail"), "fail"));
    assert_false(shoal__text_has_flag(bytes(""), "fail"));
}

static void look_for_ip(const shoal_reply_t *reply, void *data)
{
    shoal__bytes_t value = shoal__description_value(reply, "ip");
    const char *const *host = data;

    assert_true(shoal__bytes_equal(value, bytes(*host)));
}

static void test_descriptions(void **state)
{
    static const struct description {
        const char *wire, *host;
    } rows[] = {
        {"*4\r\n+port\r\n+1\r\n$2\r\nip\r\n$1\r\nh\r\n", "h"},
        {"%1\r\n$2\r\nip\r\n+h\r\n", "h"},
        {"*2\r\n+ip\r\n:1\r\n", ""},
        {"*1\r\n+ip\r\n", ""},
        {"*2\r\n+x\r\n+ip\r\n", ""},
        {"+ip\r\n", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *host = rows[i].host;
        wire_read(rows[i].wire, look_for_ip, &host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_descriptions),
    };
    return cmocka_run_group_tests_name("core/description", tests, NULL, NULL);
}
