/* SPDX-License-Identifier: MIT */

/* How the nodes of a real cluster are called, and what the client tells of them. */

#include "support/cluster_rig.h"
#include "support/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cluster_rig_t *rig;

static int set_up(void **state)
{
    (void)state;
    rig = cluster_rig_start();
    return 0;
}

static int set_up_patient(void **state)
{
    (void)state;
    rig = cluster_rig_start_patient();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cluster_rig_stop(rig);
    rig = NULL;
    return 0;
}

/* From now on the node calls all nodes so. */
static void call_by(size_t node, const char *type)
{
    char command[80];

    snprintf(command, sizeof command, "CONFIG SET cluster-preferred-endpoint-type %s",
             type);
    cluster_rig_tell(rig, node, command, "+OK");
}

static shoal_client_t *open_client(shoal_event_cb on_event, void *data)
{
    shoal_options_t *options = cluster_rig_options(rig, 0);

    assert_int_equal(shoal_options_set_on_event(options, on_event, data), 0);
    return live_open(options);
}

/* Keys of all primaries. */
static void use(shoal_client_t *client)
{
    char command[40];

    for (unsigned i = 0; i < 100; i++) {
        snprintf(command, sizeof command, "SET key%u %u", i, i);
        live_ask(client, command);
    }
}

static shoal_topology_snapshot_t *look(shoal_client_t *client)
{
    shoal_topology_snapshot_t *topology;

    assert_int_equal(shoal_topology_get(client, &topology), 0);
    return topology;
}

/* By the port; NULL: none. */
static const shoal_node_info_t *find(const shoal_topology_snapshot_t *topology,
                                     size_t node)
{
    const shoal_node_info_t *at;

    for (size_t i = 0; (at = shoal_topology_node(topology, i)); i++)
        if (at->is_listed && at->port == cluster_rig_port(rig, node))
            return at;
    return NULL;
}

/* Every node is there under its id; its host is the wanted one. */
static void check_hosts(shoal_client_t *client, const char *host)
{
    shoal_topology_snapshot_t *topology = look(client);

    for (size_t i = 0; i < CLUSTER_NODES; i++) {
        const shoal_node_info_t *node = find(topology, i);
        assert_non_null(node);
        assert_string_equal(node->host, host);
        assert_string_equal(node->id, rig->nodes[i].id);
        assert_int_equal(node->role, i < CLUSTER_PRIMARIES ? SHOAL_NODE_PRIMARY
                                                           : SHOAL_NODE_REPLICA);
        assert_ptr_equal(node->primary, i < CLUSTER_PRIMARIES
                                            ? NULL
                                            : find(topology, i - CLUSTER_PRIMARIES));
    }
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        assert_ptr_equal(shoal_topology_owner(topology, slot),
                         find(topology, cluster_rig_first_owner(slot)));
    shoal_topology_release(topology);
}

/* ... and by nothing: the host is the one that was asked, in views and redirects. */
static void nodes_are_called_by_address_and_by_nothing(void **state)
{
    static const char *const types[] = {"ip", "unknown-endpoint"};
    (void)state;

    if (!rig)
        skip();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        for (size_t node = 0; node < CLUSTER_NODES; node++)
            call_by(node, types[i]);
        shoal_client_t *client = open_client(NULL, NULL);
        use(client);
        check_hosts(client, "127.0.0.1");
        cluster_rig_move(rig, 0, 0, 1);
        live_ask(client, "SET 3560 1"); /* slot 0 */
        assert_int_equal(live_stats(client).connects, CLUSTER_PRIMARIES);
        live_finish(client);
        cluster_rig_move(rig, 0, 1, 0);
    }
}

/* ---- events ---- */

typedef struct heard {
    _Atomic unsigned ups, downs, failovers;
    _Atomic int heir; /* the port of the last one */
} heard_t;

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    heard_t *heard = data;
    (void)client;

    heard->ups += shoal_event_kind(event) == SHOAL_EVENT_NODE_UP;
    heard->downs += shoal_event_kind(event) == SHOAL_EVENT_NODE_DOWN;
    if (shoal_event_kind(event) != SHOAL_EVENT_FAILOVER)
        return;
    heard->heir = atoi(strrchr(shoal_event_server(event), ':') + 1);
    heard->failovers++;
}

/* Does the client send the commands for the slots of this primary to that node? */
static bool is_heir_of(shoal_client_t *client, size_t heir, size_t primary)
{
    shoal_topology_snapshot_t *topology = look(client);
    const shoal_node_info_t *node = find(topology, heir);
    bool is = node && node->role == SHOAL_NODE_PRIMARY;

    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        if (cluster_rig_first_owner(slot) == primary)
            is = is && shoal_topology_owner(topology, slot) == node;
    shoal_topology_release(topology);
    return is;
}

/* One by its own will, and one because the primary is killed. */
static void failovers_are_told(void **state)
{
    heard_t heard = {0};
    (void)state;

    if (!rig)
        skip();
    shoal_client_t *client = open_client(on_event, &heard);
    use(client);
    WAIT_FOR(heard.ups == CLUSTER_PRIMARIES);
    cluster_rig_failover(rig, 3, "");
    while (heard.failovers < 1)
        use(client);
    assert_int_equal(heard.heir, cluster_rig_port(rig, 3));
    WAIT_FOR(is_heir_of(client, 3, 0));
    assert_int_equal(heard.downs, 0);

    cluster_rig_await_calm(rig);
    redis_process_kill(rig->nodes[1].server);
    WAIT_FOR(heard.failovers == 2);
    assert_int_equal(heard.heir, cluster_rig_port(rig, 4));
    assert_int_equal(heard.downs, 1);
    WAIT_FOR(is_heir_of(client, 4, 1));
    use(client);
    live_finish(client);
}

int main(int argc, char **argv)
{
#define TEST(name, set_up) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nodes_are_called_by_address_and_by_nothing, set_up_patient),
        TEST(failovers_are_told, set_up),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_addresses", tests, NULL, NULL);
}
