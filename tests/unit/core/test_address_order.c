/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/address_order.h"
#include <stdio.h>

/* Addresses as letters: small ones are of IPv4, capitals of IPv6. */

static shoal__address_t address_of(char letter)
{
    shoal__address_t address = {.bytes = letter ? sizeof(struct sockaddr) : 0};

    address.at.ss_family = letter >= 'a' ? AF_INET : AF_INET6;
    memset((char *)&address.at + sizeof address.at.ss_family, letter, 4);
    return address;
}

static void read_letters(const char *letters, shoal__addresses_t *ret_addresses)
{
    memset(ret_addresses, 0, sizeof *ret_addresses);
    for (; *letters; letters++)
        ret_addresses->items[ret_addresses->count++] = address_of(*letters);
}

static const struct order_case {
    const char *found;
    char worked, failed; /* 0: none */
    const char *order;
} cases[] = {
    {"", 0, 0, ""},
    {"", 'a', 'b', ""},
    {"a", 0, 0, "a"},
    {"abc", 0, 0, "abc"},
    {"ABC", 0, 0, "ABC"},
    /* The first family is the resolver's. */
    {"ABab", 0, 0, "AaBb"},
    {"abAB", 0, 0, "aAbB"},
    {"aAbB", 0, 0, "aAbB"},
    {"Aabc", 0, 0, "Aabc"},
    {"ABCa", 0, 0, "AaBC"},
    {"aABC", 0, 0, "aABC"},
    {"ABCDabcdEFGHefgh", 0, 0, "AaBbCcDdEeFfGgHh"},
    /* The one that worked, and the one that failed. */
    {"ABab", 'B', 0, "BAab"},
    {"ABab", 'A', 0, "AaBb"},
    {"ABab", 0, 'A', "aBbA"},
    {"ABab", 0, 'b', "AaBb"},
    {"ABab", 'b', 'A', "baBA"},
    {"abc", 'c', 'a', "cba"},
    {"a", 'a', 0, "a"},
    {"a", 0, 'a', "a"},
    /* The resolver does not know them any more. */
    {"ABab", 'x', 'Y', "AaBb"},
};

static void test_orders(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const shoal__address_t worked = address_of(cases[i].worked),
                               failed = address_of(cases[i].failed);
        shoal__addresses_t got, expected;

        read_letters(cases[i].found, &got);
        read_letters(cases[i].order, &expected);
        shoal__address_order(&got, &worked, &failed);
        if (got.count != expected.count ||
            memcmp(got.items, expected.items, got.count * sizeof *got.items) != 0)
            fail_msg("%s (worked %c, failed %c): not %s", cases[i].found,
                     cases[i].worked, cases[i].failed, cases[i].order);
    }
}

static void test_no_address_equals_none(void **state)
{
    const shoal__address_t none = address_of(0), a = address_of('a'),
                           b = address_of('b');
    shoal__address_t longer = a;

    (void)state;
    longer.bytes++;
    assert_true(shoal__address_equals(&a, &a));
    assert_false(shoal__address_equals(&a, &b));
    assert_false(shoal__address_equals(&a, &longer));
    assert_false(shoal__address_equals(&none, &none));
    assert_false(shoal__address_equals(&a, &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_no_address_equals_none),
    };
    return cmocka_run_group_tests_name("core/address_order", tests, NULL, NULL);
}
