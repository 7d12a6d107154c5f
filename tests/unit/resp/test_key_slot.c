/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/key_slot.h"

/* One bit after the other. */
static unsigned plain_slot(const unsigned char *key, size_t bytes)
{
    unsigned crc = 0;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= (unsigned)key[i] << 8;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? (crc << 1 ^ 0x1021) & 0xFFFF : crc << 1;
    }
    return crc % SHOAL__SLOTS;
}

/* Each value of each byte, at each place and in each length. */
static void test_every_byte_counts(void **state)
{
    unsigned char key[24];

    (void)state;
    for (size_t bytes = 0; bytes <= sizeof key; bytes++)
        for (size_t at = 0; at < bytes; at++)
            for (unsigned value = 0; value < 256; value++) {
                memset(key, 'k', sizeof key);
                key[at] = (unsigned char)value;
                assert_int_equal(shoal__key_slot((shoal__bytes_t){(char *)key, bytes}),
                                 plain_slot(key, bytes));
            }
    assert_int_equal(shoal__key_slot((shoal__bytes_t){"123456789", 9}), 0x31C3);
    assert_int_equal(shoal__key_slot((shoal__bytes_t){NULL, 0}), 0);
}

/* A key, and the part of it that counts. */
static const struct tagged {
    const char *key, *part;
} tagged[] = {
    {"{user}.name", "user"},      {"a{user}", "user"},
    {"a{user}{other}", "user"},   {"a{{user}}", "{user"},
    {"}a{user}", "user"},         {"a{user", "a{user"}, /* no end */
    {"a{}user{b}", "a{}user{b}"},                       /* nothing between */
    {"a}user{", "a}user{"},       {"{}", "{}"},
};

static void test_keys_with_a_tag(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tagged / sizeof *tagged; i++) {
        const char *key = tagged[i].key, *part = tagged[i].part;
        unsigned slot = shoal__key_slot((shoal__bytes_t){key, strlen(key)});

        if (slot != plain_slot((const unsigned char *)part, strlen(part)))
            fail_msg("%s: %u", key, slot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_keys_with_a_tag),
    };
    return cmocka_run_group_tests_name("resp/key_slot", tests, NULL, NULL);
}
