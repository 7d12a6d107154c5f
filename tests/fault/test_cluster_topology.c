/* SPDX-License-Identifier: MIT */
/* What a client knows of a cluster that the test plays: the snapshot, the events, the
 * counters. */
#include "fault/shard_scene.h"

#include <unistd.h>

#define SILENT_US 500000 /* a node that owes an answer for so long is down */

/* ---- the snapshot ---- */

static void a_snapshot_has_nodes_roles_and_slots(void **state)
{
    scene_t *scene = *state;

    agree();
    open_cluster(scene, 2);
    check_ok(scene, WORDS("SET", KEY, "1"));
    shoal_topology_snapshot_t *topology = look(scene);
    assert_int_equal(shoal_topology_kind(topology), SHOAL_TOPOLOGY_CLUSTER);
    assert_int_equal(shoal_topology_nodes_count(topology), NODES);
    for (size_t i = 0; i < NODES; i++) {
        const shoal_node_info_t *node = find(topology, i);
        shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;
        assert_string_equal(node->id, view[i].id);
        assert_string_equal(node->host, "127.0.0.1");
        assert_true(node->is_listed && !node->is_down);
        assert_int_equal(node->role, i < 2 ? SHOAL_NODE_PRIMARY : SHOAL_NODE_REPLICA);
        assert_ptr_equal(node->primary, i < 2 ? NULL : find(topology, i - 2));
        assert_int_equal(node->slots, i < 2 ? 8192 : 0);
        assert_int_equal(node->ranges_count, i < 2 ? 1 : 0);
        assert_int_equal(shoal_connection_get(scene->client, node->connection, &info),
                         0);
        assert_string_equal(info.server, node->name);
    }
    assert_int_equal(find(topology, 1)->ranges[0].first, 8192);
    assert_int_equal(find(topology, 1)->ranges[0].last, 16383);
    assert_int_equal(find(topology, 1)->state, SHOAL_CONNECTION_READY);
    assert_int_equal(find(topology, 3)->state, SHOAL_CONNECTION_IDLE);
    assert_ptr_equal(shoal_topology_owner(topology, SLOT), find(topology, 1));
    assert_ptr_equal(shoal_topology_owner(topology, 0), find(topology, 0));
    assert_null(shoal_topology_owner(topology, 16384));
    /* It does not change, and outlives the client. */
    scene_close(scene, 0);
    shoal_client_release(scene->client);
    scene->client = NULL;
    assert_string_equal(find(topology, 3)->id, "id3");
    shoal_topology_release(topology);
}

/* Before any node answered there is the seed alone, and nobody owns a slot. */
static void before_the_first_view_there_are_the_seeds(void **state)
{
    scene_t *scene = *state;

    fake_server_refuse(nodes[0], true);
    open_cluster(scene, 0);
    WAIT_FOR(is_down(scene, 0));
    shoal_topology_snapshot_t *topology = look(scene);
    assert_int_equal(shoal_topology_nodes_count(topology), 1);
    const shoal_node_info_t *node = shoal_topology_node(topology, 0);
    assert_int_equal(node->role, SHOAL_NODE_UNKNOWN);
    assert_string_equal(node->id, "");
    assert_false(node->is_listed);
    assert_null(shoal_topology_owner(topology, SLOT));
    shoal_topology_release(topology);
    assert_int_equal(scene_events(scene).nodes_down, 1);
    assert_int_equal(scene_events(scene).nodes_up, 0);
    agree();
    fake_server_refuse(nodes[0], false);
    check_ok(scene, WORDS("SET", "bar", "1")); /* slot 5061 */
    assert_false(is_down(scene, 0));
}

static void a_client_of_one_server_has_one_node(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    shoal_topology_snapshot_t *topology = look(scene);
    assert_int_equal(shoal_topology_kind(topology), SHOAL_TOPOLOGY_STANDALONE);
    assert_int_equal(shoal_topology_nodes_count(topology), 1);
    const shoal_node_info_t *node = shoal_topology_node(topology, 0);
    assert_int_equal(node->port, fake_server_port(scene->server));
    assert_string_equal(node->host, "127.0.0.1");
    assert_int_equal(node->state, SHOAL_CONNECTION_READY);
    assert_int_equal(node->connection, 1);
    assert_true(node->is_listed && !node->is_down);
    assert_null(shoal_topology_owner(topology, 0));
    shoal_topology_release(topology);
}

static void replicas_that_are_read_from_are_nodes(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(
        shoal_options_set_read_from(scene->options, SHOAL_READ_REPLICA_PREFERRED), 0);
    assert_int_equal(shoal_options_add_replica(scene->options, "127.0.0.1",
                                               fake_server_port(nodes[0])),
                     0);
    scene_open_ready(scene);
    shoal_topology_snapshot_t *topology = look(scene);
    assert_int_equal(shoal_topology_nodes_count(topology), 2);
    assert_int_equal(find(topology, 0)->role, SHOAL_NODE_REPLICA);
    assert_ptr_equal(find(topology, 0)->primary, shoal_topology_node(topology, 0));
    shoal_topology_release(topology);
}

/* ---- events ---- */

/* A node that is away, or silent, is down once; and up again. */
/* Of those that the program heard of.  On a machine that stands still a node may be silent, and
 * so down for a moment: then it is up again. */
static unsigned nodes_well(scene_t *scene)
{
    scene_events_t events = scene_events(scene);

    return events.nodes_up - events.nodes_down;
}

static void the_program_hears_of_nodes_that_are_down(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    agree();
    open_cluster(scene, 0);
    WAIT_FOR(nodes_well(scene) == 2);
    check_ok(scene, WORDS("SET", KEY, "1"));
    fake_server_refuse(nodes[1], true);
    fake_server_cut(nodes[1], FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).attempts_failed > 3);
    WAIT_FOR(nodes_well(scene) == 1 && is_down(scene, 1)); /* told once */
    fake_server_refuse(nodes[1], false);
    WAIT_FOR(nodes_well(scene) == 2 && !is_down(scene, 1));

    fake_server_freeze(nodes[1]);
    scene_submit(scene, WORDS("SET", KEY, "2"), NULL, outcome);
    WAIT_FOR(nodes_well(scene) == 1 && is_down(scene, 1));
    fake_server_release(nodes[1]);
    scene_await(outcome);
    WAIT_FOR(nodes_well(scene) == 2 && !is_down(scene, 1));
}

/* A connection that is made again at once is no trouble of the node. */
static void a_lost_connection_is_no_node_that_is_down(void **state)
{
    scene_t *scene = *state;
    unsigned slow = 0;

    agree();
    open_cluster(scene, 0);
    WAIT_FOR(nodes_well(scene) == 2);
    unsigned downs = scene_events(scene).nodes_down;
    for (unsigned i = 1; i <= 3; i++) {
        uint64_t since_us = waiting_now_us();
        fake_server_cut(nodes[1], FAKE_CUT_RESET);
        WAIT_FOR(scene_events(scene).lost == i && scene_events(scene).ready == 2 + i);
        slow += waiting_now_us() - since_us >= SILENT_US; /* it answered late */
    }
    WAIT_FOR(nodes_well(scene) == 2);
    assert_in_range(scene_events(scene).nodes_down - downs, 0, slow);
}

static void swap(size_t primary, size_t replica, unsigned epoch)
{
    script_node_t former = view[primary];

    view[primary].primary = view[replica].id;
    view[replica].primary = NULL;
    view[replica].first = former.first;
    view[replica].last = former.last;
    view[replica].epoch = view[primary].epoch = epoch;
}

static bool is_heir(scene_t *scene, size_t node)
{
    char name[64];

    snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(nodes[node]));
    return strcmp(scene_events(scene).heir, name) == 0;
}

/* ... by a redirect, and by a view; and back. */
static void a_replica_that_takes_slots_is_a_failover(void **state)
{
    scene_t *scene = *state;

    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    swap(1, 3, 6);
    agree();
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "SET",
                                              .reply = script_redirect("MOVED", SLOT,
                                                                       view[3].port)});
    check_ok(scene, WORDS("SET", KEY, "2"));
    WAIT_FOR(scene_events(scene).failovers == 1);
    assert_true(is_heir(scene, 3));
    for (shoal_topology_snapshot_t *topology = NULL;;) {
        shoal_topology_release(topology);
        topology = look(scene);
        if (find(topology, 1)->role != SHOAL_NODE_REPLICA)
            continue;
        assert_ptr_equal(find(topology, 1)->primary, find(topology, 3));
        assert_int_equal(find(topology, 3)->role, SHOAL_NODE_PRIMARY);
        assert_int_equal(find(topology, 3)->slots, 8192);
        shoal_topology_release(topology);
        break;
    }
    assert_int_equal(scene_events(scene).failovers, 1);

    swap(3, 1, 7);
    agree();
    fake_server_refuse(nodes[3], true);
    fake_server_cut(nodes[3], FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).failovers == 2);
    assert_true(is_heir(scene, 1));
    check_ok(scene, WORDS("SET", KEY, "3"));
}

/* A slot that goes from one primary to another is none. */
static void a_slot_that_moves_is_no_failover(void **state)
{
    scene_t *scene = *state;

    agree();
    open_cluster(scene, 0);
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "SET",
                                              .reply = script_redirect("MOVED", SLOT,
                                                                       view[0].port)});
    check_ok(scene, WORDS("SET", KEY, "1"));
    WAIT_FOR(scene_events(scene).notices > 1);
    assert_int_equal(scene_events(scene).failovers, 0);
}

/* Its answer takes longer than a node has that can be replaced: it is waited for, and the node
 * is not asked again and again. */
static void the_only_node_may_be_slow(void **state)
{
    scene_t *scene = *state;
    size_t questions;

    view[0].last = 16383;
    view[0].is_myself = true;
    questions = script_say_late(nodes[0], view, 1, 700000);
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "v"));
    assert_true(fake_server_hits(nodes[0], questions) <= 2);
}

/* A replica has taken its place, and the nodes say nothing of it. */
static void a_primary_that_failed_is_none(void **state)
{
    scene_t *scene = *state;

    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    WAIT_FOR(role_of(scene, 1) == SHOAL_NODE_PRIMARY);
    swap(1, 3, 6);
    agree_without(1);
    fake_server_refuse(nodes[1], true);
    fake_server_cut(nodes[1], FAKE_CUT_RESET);
    WAIT_FOR(role_of(scene, 3) == SHOAL_NODE_PRIMARY &&
             role_of(scene, 1) == SHOAL_NODE_UNKNOWN);
}

static char last_part[64]; /* whose it is */

static void note_last_part(shoal_client_t *client, const shoal_result_t *result,
                           void *data)
{
    const shoal_result_t *part =
        shoal_result_part(result, shoal_result_parts(result) - 1);

    snprintf(last_part, sizeof last_part, "%s", shoal_result_node(part));
    outcome_cb(client, result, data);
}

/* All primaries are asked, one of them is down, and it leaves the cluster: nobody will ever
 * ask it. */
static void what_was_for_a_node_that_left_ends(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = SHOAL_CALL_INIT;
    outcome_t *outcome = scene_outcomes(scene, 2);
    const shoal_command_t ping = WORDS("PING");
    char text[128];

    agree();
    open_cluster(scene, 0);
    call.route = SHOAL_ROUTE_PRIMARIES;
    call.timeout_us = SHOAL_TIMEOUT_NEVER;
    scene_submit(scene, WORDS("PING"), &call, &outcome[0]);
    scene_check(&outcome[0], 0, SHOAL_FATE_REPLIED);
    fake_server_refuse(nodes[1], true);
    fake_server_cut(nodes[1], FAKE_CUT_FIN);
    WAIT_FOR(is_down(scene, 1));
    assert_int_equal(shoal_client_submit_many(scene->client, &ping, 1, &call,
                                              note_last_part, &outcome[1], NULL),
                     0);
    WAIT_FOR(fake_server_received(nodes[0], 0, "PING", NULL) == 2);

    view[0].last = 16383;
    view[0].epoch = 6;
    view[3].primary = view[0].id;
    agree_without(1);
    scene_check(&outcome[1], SHOAL_ENOENT, SHOAL_FATE_UNKNOWN);
    snprintf(text, sizeof text, "127.0.0.1:%d", view[1].port);
    assert_string_equal(last_part, text);
    strcat(text, ": the cluster has no such node; 1 of 2 parts failed");
    assert_string_equal(outcome[1].detail, text);
}

/* ---- limits ---- */

/* Commands for a node that is down take half of the room; then its own are refused, and no
 * others. */
static void a_shard_that_is_down_leaves_half_of_the_room(void **state)
{
    enum { ROOM = 200 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, ROOM);
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_call_t call = SHOAL_CALL_INIT;
    unsigned accepted = 0;
    int rc = 0;

    assert_int_equal(
        shoal_options_set_outstanding_max(scene->options, ROOM, 16384, 1 << 20), 0);
    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    check_ok(scene, WORDS("SET", "bar", "1"));
    fake_server_refuse(nodes[1], true);
    fake_server_cut(nodes[1], FAKE_CUT_RESET);
    WAIT_FOR(is_down(scene, 1));
    call.error = &error;
    for (; accepted < ROOM && rc == 0; accepted += rc == 0) {
        const shoal_command_t command = WORDS("SET", KEY, "2");
        shoal_stats_t before = scene_stats(scene);
        rc = shoal_client_submit_many(scene->client, &command, 1, &call, outcome_cb,
                                      &outcomes[accepted], NULL);
        if (rc == 0) /* the next turn counts it, and tells when it ends */
            WAIT_FOR(scene_stats(scene).queued_now > before.queued_now &&
                     scene_stats(scene).turns > before.turns + 1);
    }
    assert_int_equal(rc, SHOAL_EFULL);
    assert_int_equal(accepted, ROOM / 2);
    assert_non_null(strstr(error.text, "down"));
    for (unsigned i = 0; i < ROOM; i++)
        check_ok(scene, WORDS("SET", "bar", "2"));
    fake_server_refuse(nodes[1], false);
    for (unsigned i = 0; i < accepted; i++) {
        scene_await(&outcomes[i]);
        assert_int_equal(outcomes[i].status, 0);
    }
    check_ok(scene, WORDS("SET", KEY, "3"));
}

/* Reads that a replica executes need no room that its primary's commands have. */
static void reads_at_replicas_find_room(void **state)
{
    enum { ROOM = 40 };
    static const char linked[] = "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:6379\r\n"
                                 "$9\r\nconnected\r\n:0\r\n";
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, ROOM);
    shoal_call_t call = SHOAL_CALL_INIT;
    unsigned accepted = 0;

    assert_int_equal(
        shoal_options_set_outstanding_max(scene->options, ROOM, 16384, 1 << 20), 0);
    assert_int_equal(
        shoal_options_set_read_from(scene->options, SHOAL_READ_REPLICA_PREFERRED), 0);
    agree();
    fake_server_rule(nodes[3], &(fake_rule_t){.command = "ROLE", .reply = linked});
    fake_server_rule(nodes[3],
                     &(fake_rule_t){.command = "READONLY", .reply = "+OK\r\n"});
    open_cluster(scene, 0);
    WAIT_FOR(scene_call(scene, WORDS("GET", KEY), NULL).status == 0 &&
             fake_server_received(nodes[3], 0, "GET", KEY) > 0);
    fake_server_refuse(nodes[1], true);
    fake_server_cut(nodes[1], FAKE_CUT_RESET);
    WAIT_FOR(is_down(scene, 1));
    for (int rc = 0; accepted < ROOM && rc == 0; accepted += rc == 0) {
        const shoal_command_t command = WORDS("SET", KEY, "2");
        shoal_stats_t before = scene_stats(scene);
        rc = shoal_client_submit_many(scene->client, &command, 1, &call, outcome_cb,
                                      &outcomes[accepted], NULL);
        if (rc == 0)
            WAIT_FOR(scene_stats(scene).queued_now > before.queued_now &&
                     scene_stats(scene).turns > before.turns + 1);
    }
    assert_int_equal(accepted, ROOM / 2);
    for (unsigned i = 0; i < ROOM; i++)
        assert_int_equal(scene_call(scene, WORDS("GET", KEY), NULL).status, 0);
}

/* Nodes that do not answer the greeting: not all are dialed at once. */
static void few_connections_are_made_at_the_same_time(void **state)
{
    enum { SEEDS = 12 };
    scene_t *scene = *state;
    fake_server_t *seeds[SEEDS];

    for (size_t i = 0; i < SEEDS; i++) {
        seeds[i] = fake_server_start(NULL);
        fake_server_hold(seeds[i], "HELLO");
        int rc = i == 0 ? shoal_options_set_address(scene->options, "127.0.0.1",
                                                    fake_server_port(seeds[i]))
                        : shoal_options_add_address(scene->options, "127.0.0.1",
                                                    fake_server_port(seeds[i]));
        assert_int_equal(rc, 0);
    }
    agree();
    assert_int_equal(shoal_options_add_address(scene->options, "127.0.0.1",
                                               fake_server_port(nodes[0])),
                     0);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_CLUSTER),
                     0);
    scene_open(scene);
    WAIT_FOR(scene_events(scene).connected == 6);
    usleep(50000);
    assert_int_equal(scene_events(scene).connected, 6);
    for (size_t i = 0; i < SEEDS; i++) {
        fake_server_forget_rules(seeds[i]);
        fake_server_release(seeds[i]);
    }
    check_ok(scene, WORDS("SET", KEY, "1"));
    scene_close(scene, 0);
    for (size_t i = 0; i < SEEDS; i++)
        fake_server_stop(seeds[i]);
}

/* ---- what is refused ---- */

/* Nobody confirms the stranger within 2 s. */
static void a_redirect_to_a_stranger_is_refused(void **state)
{
    scene_t *scene = *state;
    char name[64];

    agree();
    fake_server_rule(nodes[1],
                     &(fake_rule_t){.command = "SET",
                                    .reply = script_redirect(
                                        "MOVED", SLOT, fake_server_port(scene->server)),
                                    .times = 1});
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    WAIT_FOR(scene_events(scene).redirects_refused > 0);
    WAIT_FOR(scene_stats(scene).redirects_refused > 0);
    snprintf(name, sizeof name, "127.0.0.1:%d names", fake_server_port(nodes[1]));
    assert_int_equal(strncmp(scene_events(scene).redirect, name, strlen(name)), 0);
    assert_int_equal(fake_server_accepted(scene->server), 0);
}

/* All nodes list a node at the address of a cloud's metadata. */
static void an_address_that_no_server_may_name_is_refused(void **state)
{
    scene_t *scene = *state;

    view[1].host = "169.254.169.254";
    agree();
    open_cluster(scene, 0);
    WAIT_FOR(scene_events(scene).redirects_refused > 0);
    assert_non_null(strstr(scene_events(scene).redirect, "169.254.169.254"));
    WAIT_FOR(scene_stats(scene).redirects_refused > 0);
    assert_int_equal(fake_server_accepted(nodes[1]), 0);
    check_ok(scene, WORDS("SET", "bar", "1")); /* the other node's */
}

static void views_are_counted(void **state)
{
    scene_t *scene = *state;

    agree();
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_true(scene_stats(scene).views_asked >= 1);
    assert_int_equal(scene_stats(scene).views_refused, 0);
    /* Both know less than before: the first one is not believed. */
    view[1].last = 16000;
    agree();
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "SET",
                                              .reply = "-CLUSTERDOWN it is\r\n",
                                              .times = 1});
    check_ok(scene, WORDS("SET", KEY, "2"));
    WAIT_FOR(scene_stats(scene).views_refused > 0);
    assert_true(scene_stats(scene).views_asked > 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_snapshot_has_nodes_roles_and_slots),
        TEST(before_the_first_view_there_are_the_seeds),
        TEST(a_client_of_one_server_has_one_node),
        TEST(replicas_that_are_read_from_are_nodes),
        TEST(the_program_hears_of_nodes_that_are_down),
        TEST(a_lost_connection_is_no_node_that_is_down),
        TEST(a_replica_that_takes_slots_is_a_failover),
        TEST(a_slot_that_moves_is_no_failover),
        TEST(the_only_node_may_be_slow),
        TEST(a_primary_that_failed_is_none),
        TEST(what_was_for_a_node_that_left_ends),
        TEST(a_shard_that_is_down_leaves_half_of_the_room),
        TEST(reads_at_replicas_find_room),
        TEST(few_connections_are_made_at_the_same_time),
        TEST(a_redirect_to_a_stranger_is_refused),
        TEST(an_address_that_no_server_may_name_is_refused),
        TEST(views_are_counted),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_topology", tests, NULL, NULL);
}
