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
    assert_int_equal(shoal_options_set_topology(NULL, SHOAL_TOPOLOGY_CLUSTER),
                     SHOAL_EINVAL);
    assert_int_equal(options->topology, SHOAL_TOPOLOGY_CLUSTER);

    shoal_options_t *copy;
    assert_int_equal(shoal__options_copy(options, &copy), 0);
    assert_int_equal(copy->topology, SHOAL_TOPOLOGY_CLUSTER);
    shoal__options_free(copy);
    assert_int_equal(shoal_options_set_topology(options, SHOAL_TOPOLOGY_STANDALONE), 0);
    assert_int_equal(options->topology, SHOAL_TOPOLOGY_STANDALONE);
    shoal__options_free(options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_known_topologies_are_taken),
    };
    return cmocka_run_group_tests_name("api/cluster", tests, NULL, NULL);
}
