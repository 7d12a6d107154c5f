/* SPDX-License-Identifier: MIT */

/* What the nodes of a cluster are called, and where they are. */

#include "fault/shard_scene.h"

/* A question is asked after this. */
static void want_a_view(scene_t *scene, size_t node, const char *key)
{
    unsigned long long asked = scene_stats(scene).views_asked;

    fake_server_rule(nodes[node], &(fake_rule_t){.command = "SET",
                                                 .reply = "-CLUSTERDOWN it is\r\n",
                                                 .times = 1});
    check_ok(scene, WORDS("SET", key, "1"));
    WAIT_FOR(scene_stats(scene).views_asked > asked);
}

static bool is_listed(const scene_t *scene, size_t node)
{
    shoal_topology_snapshot_t *topology = look(scene);
    bool listed = find(topology, node)->is_listed;

    shoal_topology_release(topology);
    return listed;
}

/* The nodes disagree whether node 1 is called by its name or by its address. */
static void another_address_of_a_node_is_an_alias(void **state)
{
    scene_t *scene = *state;
    static char moved[64]; /* it outlives the server */

    agree();
    view[1].host = "localhost";
    say(1);
    view[1].host = NULL;
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    for (unsigned i = 0; i < 12; i++) {
        want_a_view(scene, i % 2, i % 2 ? KEY : "bar");
        view[1].host = i % 2 ? NULL : "localhost";
        say(i % 2);
    }
    /* ... or by redirects: the command goes on where the others do. */
    snprintf(moved, sizeof moved, "-MOVED 5061 localhost:%d\r\n", view[1].port);
    script_say(nodes[0], view, NODES);
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "GET", .reply = moved});
    check_ok(scene, WORDS("GET", "bar"));
    assert_int_equal(fake_server_accepted(nodes[1]), 1);
    shoal_topology_snapshot_t *topology = look(scene);
    assert_int_equal(find(topology, 1)->state, SHOAL_CONNECTION_READY);
    shoal_topology_release(topology);
    assert_int_equal(scene_events(scene).redirects_refused, 0);
}

/* An old view does not list it, and its connection stays; a further one has another name. */
static void a_node_that_was_not_listed_may_have_an_alias(void **state)
{
    scene_t *scene = *state;

    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    view[0].last = 16383;
    view[0].epoch = 4;
    view[1].first = 1;
    view[1].last = 0; /* none */
    agree();
    want_a_view(scene, 0, "bar");
    WAIT_FOR(!is_listed(scene, 1));
    plan();
    view[1].host = "localhost";
    agree();
    want_a_view(scene, 0, "bar");
    WAIT_FOR(is_listed(scene, 1));
    check_ok(scene, WORDS("SET", KEY, "2"));
    assert_int_equal(fake_server_accepted(nodes[1]), 1);
}

/* It is being connected to when a view calls it otherwise. */
static void a_node_that_is_dialed_may_have_an_alias(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    agree();
    fake_server_freeze(nodes[1]);
    open_cluster(scene, 0);
    scene_submit(scene, WORDS("SET", KEY, "1"), NULL, outcome);
    check_ok(scene, WORDS("SET", "bar", "1"));
    view[1].host = "localhost";
    view[1].epoch = 6; /* the view is believed */
    say(0);
    want_a_view(scene, 0, "bar");
    want_a_view(scene, 0, "bar"); /* the former one was heeded */
    fake_server_release(nodes[1]);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_accepted(nodes[1]), 1);
}

/* All nodes call this one so from now on; the client has not asked since. */
static void rename_node(size_t node, const char *name)
{
    view[node].host = name;
    agree();
}

/* A redirect calls a node by a name that no view had: it is a stranger until a view has the
 * name beside the id. */
static void ask_by_a_new_name(scene_t *scene, const char *command)
{
    static char ask[64]; /* it outlives the server */

    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    check_ok(scene, WORDS("SET", "bar", "1"));
    rename_node(0, "localhost");
    snprintf(ask, sizeof ask, "-ASK %d localhost:%d\r\n", SLOT, view[0].port);
    fake_server_rule(nodes[1], &(fake_rule_t){.command = command, .reply = ask});
}

static void a_redirect_may_have_a_new_name(void **state)
{
    scene_t *scene = *state;

    ask_by_a_new_name(scene, "GET");
    check_ok(scene, WORDS("GET", KEY));
    assert_int_equal(fake_server_executed(nodes[0], 0, "GET", NULL), 1);
    assert_int_equal(fake_server_accepted(nodes[0]), 1);
    assert_int_equal(scene_events(scene).redirects_refused, 0);
}

/* It has a connection of its own. */
static void a_blocking_command_follows_a_new_name(void **state)
{
    scene_t *scene = *state;

    ask_by_a_new_name(scene, "BLPOP");
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "BLPOP", .reply = "*0\r\n"});
    check_ok(scene, WORDS("BLPOP", KEY, "0"));
    assert_int_equal(fake_server_received(nodes[0], 0, "BLPOP", NULL), 1);
    assert_int_equal(fake_server_accepted(nodes[0]), 2);
    assert_int_equal(scene_events(scene).redirects_refused, 0);
}

/* ... and the map believes it only when two views say so, because the epochs are the same. */
static void a_slot_may_move_to_a_new_name(void **state)
{
    scene_t *scene = *state;
    static char moved[64]; /* it outlives the server */

    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    check_ok(scene, WORDS("SET", "bar", "1"));
    view[0].last = 16383;
    view[1].last = 0;
    view[1].first = 1; /* none */
    rename_node(0, "localhost");
    snprintf(moved, sizeof moved, "-MOVED %d localhost:%d\r\n", SLOT, view[0].port);
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "GET", .reply = moved});
    check_ok(scene, WORDS("GET", KEY));
    assert_int_equal(fake_server_executed(nodes[0], 0, "GET", NULL), 1);
    assert_int_equal(fake_server_accepted(nodes[0]), 1);
    assert_int_equal(scene_events(scene).redirects_refused, 0);
}

/* A node that joins is known by its name, beside which its address stands; a redirect has the
 * address. */
static void an_address_beside_a_name_is_an_alias(void **state)
{
    scene_t *scene = *state;

    agree_without(3);
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    check_ok(scene, WORDS("SET", "bar", "1"));
    view[3].ip = "127.0.0.1";
    rename_node(3, "localhost");
    fake_server_rule(
        nodes[1], &(fake_rule_t){.command = "GET",
                                 .reply = script_redirect("ASK", SLOT, view[3].port)});
    check_ok(scene, WORDS("GET", KEY));
    assert_int_equal(fake_server_executed(nodes[3], 0, "GET", NULL), 1);
    assert_int_equal(fake_server_accepted(nodes[3]), 1);
    assert_int_equal(scene_events(scene).redirects_refused, 0);
}

/* The nodes announce what only they can reach; the program knows better. */
static void the_program_maps_addresses(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < NODES; i++)
        view[i].host = "192.0.2.7";
    view[3].host = "192.0.2.8";
    view[3].port = 7000;
    agree();
    assert_int_equal(
        shoal_options_map_address(scene->options, "192.0.2.7", 0, "127.0.0.1", 0), 0);
    assert_int_equal(shoal_options_map_address(scene->options, "192.0.2.8", 7000,
                                               "127.0.0.1", fake_server_port(nodes[3])),
                     0);
    fake_server_rule(
        nodes[1],
        &(fake_rule_t){.command = "SET", .reply = "-MOVED 12182 192.0.2.8:7000\r\n"});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(fake_server_executed(nodes[3], 0, "SET", NULL), 1);
    assert_int_equal(fake_server_accepted(nodes[0]), 1);
    assert_int_equal(scene_events(scene).redirects_refused, 0);
    shoal_topology_snapshot_t *topology = look(scene);
    assert_int_equal(shoal_topology_nodes_count(topology), NODES);
    assert_string_equal(find(topology, 3)->host, "127.0.0.1");
    shoal_topology_release(topology);
}

/* Its connection is renewed; the command waits. */
static void a_node_that_redirects_to_itself_is_connected_to_again(void **state)
{
    scene_t *scene = *state;

    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    fake_server_rule(
        nodes[1], &(fake_rule_t){.command = "SET",
                                 .reply = script_redirect("MOVED", SLOT, view[1].port),
                                 .connection = 1});
    check_ok(scene, WORDS("SET", KEY, "2"));
    assert_int_equal(fake_server_accepted(nodes[1]), 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(another_address_of_a_node_is_an_alias),
        TEST(a_node_that_was_not_listed_may_have_an_alias),
        TEST(a_node_that_is_dialed_may_have_an_alias),
        TEST(a_redirect_may_have_a_new_name),
        TEST(a_blocking_command_follows_a_new_name),
        TEST(a_slot_may_move_to_a_new_name),
        TEST(an_address_beside_a_name_is_an_alias),
        TEST(the_program_maps_addresses),
        TEST(a_node_that_redirects_to_itself_is_connected_to_again),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_addresses", tests, NULL, NULL);
}
