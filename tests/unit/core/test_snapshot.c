/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/snapshot.h"
#include <stdio.h>

static void add(shoal_topology_snapshot_t *snapshot, const char *name)
{
    const shoal__snapshot_node_t node = {.name = name, .primary = SHOAL__SNAPSHOT_NONE};

    assert_int_equal(shoal__snapshot_add(snapshot, &node), 0);
}

static void own(shoal_topology_snapshot_t *snapshot, unsigned first, unsigned last,
                unsigned node)
{
    for (unsigned slot = first; slot <= last; slot++)
        shoal__snapshot_own(snapshot, slot, node);
}

static void names_are_split(void **state)
{
    static const struct {
        const char *name, *host;
        int port;
    } cases[] = {
        {"127.0.0.1:6379", "127.0.0.1", 6379},
        {"node-1.example:1", "node-1.example", 1},
        {"[::1]:7000", "::1", 7000},
        {"[fe80::1%eth0]:65535", "fe80::1%eth0", 65535},
        {"/run/redis.sock", "/run/redis.sock", 0},
        {"/run/a:1", "/run/a:1", 0},
        {"redis.sock", "redis.sock", 0},
        {":1", "", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_topology_snapshot_t *snapshot = shoal__snapshot_new();
        add(snapshot, cases[i].name);
        assert_int_equal(shoal__snapshot_seal(snapshot), 0);
        const shoal_node_info_t *node = shoal__snapshot_node(snapshot, 0);
        assert_string_equal(node->name, cases[i].name);
        assert_string_equal(node->host, cases[i].host);
        assert_int_equal(node->port, cases[i].port);
        assert_string_equal(node->id, "");
        shoal__snapshot_free(snapshot);
    }
}

/* Node 1 owns nothing; node 2 owns the ends, and one slot in the middle of node 0's. */
static void slots_are_ranges(void **state)
{
    static const shoal_slot_range_t of_0[] = {{100, 499}, {501, 9999}},
                                    of_2[] = {{0, 99}, {500, 500}, {10001, 16383}};
    shoal_topology_snapshot_t *snapshot = shoal__snapshot_new();

    (void)state;
    add(snapshot, "a:1");
    add(snapshot, "b:2");
    add(snapshot, "c:3");
    own(snapshot, 100, 9999, 0);
    own(snapshot, 0, 99, 2);
    own(snapshot, 500, 500, 2);
    own(snapshot, 10001, 16383, 2);
    shoal__snapshot_set_kind(snapshot, SHOAL_TOPOLOGY_CLUSTER);
    assert_int_equal(shoal__snapshot_seal(snapshot), 0);

    assert_int_equal(shoal__snapshot_kind(snapshot), SHOAL_TOPOLOGY_CLUSTER);
    assert_int_equal(shoal__snapshot_count(snapshot), 3);
    const shoal_node_info_t *a = shoal__snapshot_node(snapshot, 0),
                            *b = shoal__snapshot_node(snapshot, 1),
                            *c = shoal__snapshot_node(snapshot, 2);
    assert_null(shoal__snapshot_node(snapshot, 3));
    assert_int_equal(a->ranges_count, 2);
    assert_memory_equal(a->ranges, of_0, sizeof of_0);
    assert_int_equal(a->slots, 9899);
    assert_int_equal(b->ranges_count, 0);
    assert_int_equal(b->slots, 0);
    assert_int_equal(c->ranges_count, 3);
    assert_memory_equal(c->ranges, of_2, sizeof of_2);
    assert_int_equal(c->slots, 100 + 1 + 6383);

    assert_ptr_equal(shoal__snapshot_owner(snapshot, 0), c);
    assert_ptr_equal(shoal__snapshot_owner(snapshot, 499), a);
    assert_ptr_equal(shoal__snapshot_owner(snapshot, 500), c);
    assert_null(shoal__snapshot_owner(snapshot, 10000));
    assert_ptr_equal(shoal__snapshot_owner(snapshot, 16383), c);
    assert_null(shoal__snapshot_owner(snapshot, 16384));
    shoal__snapshot_free(snapshot);
}

/* More nodes than the first room has: their texts and primaries stay right. */
static void replicas_have_their_primaries(void **state)
{
    enum { NODES = 21 };
    shoal_topology_snapshot_t *snapshot = shoal__snapshot_new();
    char name[16], id[16];

    (void)state;
    for (unsigned i = 0; i < NODES; i++) {
        const shoal__snapshot_node_t node = {
            .name = name,
            .id = id,
            .role = i % 2 ? SHOAL_NODE_REPLICA : SHOAL_NODE_PRIMARY,
            .primary = i % 2 ? i + 1 : SHOAL__SNAPSHOT_NONE,
            .state = SHOAL_CONNECTION_READY,
            .connection = i + 1,
            .is_listed = true};
        snprintf(name, sizeof name, "host%u:%u", i, i + 1);
        snprintf(id, sizeof id, "id%u", i);
        assert_int_equal(shoal__snapshot_add(snapshot, &node), 0);
    }
    assert_int_equal(shoal__snapshot_seal(snapshot), 0);
    for (unsigned i = 0; i < NODES; i++) {
        const shoal_node_info_t *node = shoal__snapshot_node(snapshot, i);
        snprintf(id, sizeof id, "id%u", i);
        assert_string_equal(node->id, id);
        assert_int_equal(node->port, i + 1);
        assert_int_equal(node->connection, i + 1);
        assert_int_equal(node->state, SHOAL_CONNECTION_READY);
        assert_true(node->is_listed && !node->is_down);
        assert_ptr_equal(node->primary,
                         i % 2 ? shoal__snapshot_node(snapshot, i + 1) : NULL);
        assert_null(shoal__snapshot_owner(snapshot, i));
    }
    shoal__snapshot_free(snapshot);
    shoal__snapshot_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_split),
        cmocka_unit_test(slots_are_ranges),
        cmocka_unit_test(replicas_have_their_primaries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
