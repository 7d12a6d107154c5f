/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/trust_rule.h"
#include <arpa/inet.h>
#include <netinet/in.h>

#define ORDINARY SHOAL__RANGE_ORDINARY
#define PRIVATE SHOAL__RANGE_PRIVATE
#define LOOPBACK SHOAL__RANGE_LOOPBACK
#define LINK SHOAL__RANGE_LINK
#define NONE SHOAL__RANGE_NONE

static const struct range_case {
    const char *address;
    shoal__trust_range_t range;
} cases[] = {
    {"10.0.0.0", PRIVATE},
    {"10.255.255.255", PRIVATE},
    {"11.0.0.0", ORDINARY},
    {"172.15.255.255", ORDINARY},
    {"172.16.0.0", PRIVATE},
    {"172.31.255.255", PRIVATE},
    {"172.32.0.0", ORDINARY},
    {"192.167.255.255", ORDINARY},
    {"192.168.1.1", PRIVATE},
    {"192.169.0.0", ORDINARY},
    {"8.8.8.8", ORDINARY},
    {"1.0.0.0", ORDINARY},
    {"126.255.255.255", ORDINARY},
    {"128.0.0.0", ORDINARY},
    {"169.253.255.255", ORDINARY},
    {"169.255.0.0", ORDINARY},
    {"100.100.100.199", ORDINARY},
    {"223.255.255.255", ORDINARY},
    {"127.0.0.1", LOOPBACK},
    {"127.255.255.255", LOOPBACK},
    {"169.254.0.0", LINK},
    {"169.254.169.254", LINK},
    {"169.254.255.255", LINK},
    {"100.100.100.200", LINK},
    {"0.0.0.0", NONE},
    {"0.255.255.255", NONE},
    {"224.0.0.1", NONE},
    {"240.0.0.1", NONE},
    {"255.255.255.255", NONE},
    {"2001:db8::1", ORDINARY},
    {"fbff::1", ORDINARY},
    {"fc00::1", PRIVATE},
    {"fd00:ec2::253", PRIVATE},
    {"fdff::1", PRIVATE},
    {"fe00::1", ORDINARY},
    {"fe7f::1", ORDINARY},
    {"fec0::1", ORDINARY},
    {"::2", ORDINARY},
    {"1::", ORDINARY},
    {"::1", LOOPBACK},
    {"fe80::1", LINK},
    {"febf::1", LINK},
    {"fd00:ec2::254", LINK},
    {"::", NONE},
    {"ff02::1", NONE},
    /* IPv4 in the clothes of IPv6 */
    {"::ffff:10.0.0.1", PRIVATE},
    {"::ffff:8.8.8.8", ORDINARY},
    {"::ffff:127.0.0.1", LOOPBACK},
    {"::ffff:169.254.169.254", LINK},
    {"::ffff:0.0.0.0", NONE},
};

static shoal__address_t address_of(const char *text)
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};
    shoal__address_t address = {.bytes = sizeof address.at};

    if (inet_pton(AF_INET, text, &ipv4.sin_addr) == 1)
        memcpy(&address.at, &ipv4, sizeof ipv4);
    else if (inet_pton(AF_INET6, text, &ipv6.sin6_addr) == 1)
        memcpy(&address.at, &ipv6, sizeof ipv6);
    else
        address.at.ss_family = strcmp(text, "unix") == 0 ? AF_UNIX : AF_UNSPEC;
    return address;
}

static void test_ranges(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const shoal__address_t address = address_of(cases[i].address);
        if (shoal__trust_range(&address) != cases[i].range)
            fail_msg("%s: %d", cases[i].address, (int)shoal__trust_range(&address));
    }
    const shoal__address_t path = address_of("unix"), nothing = address_of("?");
    assert_int_equal(shoal__trust_range(&path), LOOPBACK);
    assert_int_equal(shoal__trust_range(&nothing), NONE);
}

static void test_who_may_name_whom(void **state)
{
    static const char *const texts[] = {"10.0.0.1", "127.0.0.1", "169.254.0.1",
                                        "0.0.0.0"};
    static const bool is_permitted[4][4] = {
        /*             by ordinary loopback link  none */
        /* ordinary */ {true, true, true, true},
        /* loopback */ {false, true, false, false},
        /* link */ {false, false, true, false},
        /* none */ {false, false, false, false},
    };

    (void)state;
    for (int named = 0; named < 4; named++)
        for (int by = 0; by < 4; by++) {
            const shoal__address_t a = address_of(texts[named]),
                                   b = address_of(texts[by]);
            assert_int_equal(shoal__trust_permits(&a, &b), is_permitted[named][by]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_who_may_name_whom),
    };
    return cmocka_run_group_tests_name("core/trust_rule", tests, NULL, NULL);
}
