/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/address_map.h"
#include <shoal/errors.h>

static char ten[] = "10.0.0.1", eleven[] = "10.0.0.11", nat[] = "nat.example",
            gate[] = "gate", v6[] = "fd00::1";

static const shoal__address_mapping_t mappings[] = {
    {ten, 0, gate, 0},      {ten, 7000, nat, 17000}, {ten, 7001, nat, 0},
    {v6, 7000, nat, 27000}, {ten, 7002, nat, 1},     {ten, 7002, nat, 2},
};

static void addresses_are_replaced(void **state)
{
    static const struct {
        const char *host;
        int port;
        const char *to_host; /* NULL: it stays */
        int to_port;
    } cases[] = {
        {"10.0.0.1", 7000, "nat.example", 17000},
        {"10.0.0.1", 7001, "nat.example", 7001},
        {"10.0.0.1", 7003, "gate", 7003},
        {"10.0.0.1", 7002, "nat.example", 2}, /* the last one */
        {"fd00::1", 7000, "nat.example", 27000},
        {"fd00::1", 7001, NULL, 0},
        {"10.0.0.11", 7000, NULL, 0},
        {"10.0.0", 7000, NULL, 0},
        {"nat.example", 7000, NULL, 0}, /* not twice */
    };
    shoal__address_map_t map = {0}, copy;

    (void)state;
    for (size_t i = 0; i < sizeof mappings / sizeof *mappings; i++)
        assert_int_equal(shoal__address_map_add(&map, &mappings[i]), 0);
    assert_int_equal(shoal__address_map_copy(&map, &copy), 0);
    shoal__address_map_release(&map);
    assert_int_equal(map.count, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *host = cases[i].host;
        int port = cases[i].port;
        assert_int_equal(shoal__address_map_apply(&copy, &host, &port),
                         cases[i].to_host != NULL);
        assert_string_equal(host, cases[i].to_host ? cases[i].to_host : cases[i].host);
        assert_int_equal(port, cases[i].to_host ? cases[i].to_port : cases[i].port);
    }
    shoal__address_map_release(&copy);
}

static void there_are_not_too_many(void **state)
{
    const shoal__address_mapping_t mapping = {eleven, 1, nat, 1};
    shoal__address_map_t map = {0};

    (void)state;
    for (size_t i = 0; i < SHOAL__ADDRESS_MAPPINGS_MAX; i++)
        assert_int_equal(shoal__address_map_add(&map, &mapping), 0);
    assert_int_equal(shoal__address_map_add(&map, &mapping), SHOAL_EINVAL);
    shoal__address_map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_replaced),
        cmocka_unit_test(there_are_not_too_many),
    };

    return cmocka_run_group_tests_name("core/address_map", tests, NULL, NULL);
}
