/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/options.h"
#include <shoal/cluster.h>
#include <shoal/errors.h>

static void only_known_topologies_are_taken(void **state)
{
    shoal_options_t *options;
    (void)state;

    assert_int_equal(shoal__options_copy(NULL, &options), 0);
    assert_int_equal(options->topology, SHOAL_TOPOLOGY_STANDALONE);
    assert_int_equal(shoal_options_set_topology(options, SHOAL_TOPOLOGY_CLUSTER), 0);
    assert_int_equal(shoal_options_set_topology(options, (shoal_topology_t)7),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_topology(options, SHOAL_TOPOLOGY_SENTINEL),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_topology(NULL, SHOAL_TOPOLOGY_CLUSTER),
                     SHOAL_EINVAL);
    assert_int_equal(options->topology, SHOAL_TOPOLOGY_CLUSTER);

    shoal_options_t *copy;
    assert_int_equal(shoal__options_copy(options, &copy), 0);
    assert_int_equal(copy->topology, SHOAL_TOPOLOGY_CLUSTER);
    shoal__options_free(copy);
    assert_int_equal(shoal_options_set_topology(options, SHOAL_TOPOLOGY_AUTO), 0);
    assert_int_equal(options->topology, SHOAL_TOPOLOGY_AUTO);
    assert_int_equal(shoal_options_set_topology(options, SHOAL_TOPOLOGY_STANDALONE), 0);
    assert_int_equal(options->topology, SHOAL_TOPOLOGY_STANDALONE);
    shoal__options_free(options);
}

static void addresses_are_mapped(void **state)
{
    static const struct {
        const char *host;
        int port;
        const char *to_host;
        int to_port, rc;
    } cases[] = {
        {"a", 1, "b", 2, 0},
        {"a", 0, "b", 0, 0},
        {"a", 65535, "b", 65535, 0},
        {NULL, 1, "b", 1, SHOAL_EINVAL},
        {"", 1, "b", 1, SHOAL_EINVAL},
        {"a", 1, NULL, 1, SHOAL_EINVAL},
        {"a", 1, "", 1, SHOAL_EINVAL},
        {"a", -1, "b", 1, SHOAL_EINVAL},
        {"a", 1, "b", 65536, SHOAL_EINVAL},
    };
    shoal_options_t *options, *copy;
    (void)state;

    assert_int_equal(shoal__options_copy(NULL, &options), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(shoal_options_map_address(options, cases[i].host,
                                                   cases[i].port, cases[i].to_host,
                                                   cases[i].to_port),
                         cases[i].rc);
    assert_int_equal(shoal_options_map_address(NULL, "a", 1, "b", 1), SHOAL_EINVAL);
    assert_int_equal(shoal__options_copy(options, &copy), 0);
    shoal__options_free(options);
    assert_int_equal(copy->map.count, 3);
    assert_string_equal(copy->map.items[0].to_host, "b");
    shoal__options_free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_known_topologies_are_taken),
        cmocka_unit_test(addresses_are_mapped),
    };
    return cmocka_run_group_tests_name("api/cluster", tests, NULL, NULL);
}
