/* SPDX-License-Identifier: MIT */
/* Commands that concern several nodes of a cluster, which the test plays: three primaries,
 * and a replica of the first. */
#include "support/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define NODES 4
#define PRIMARIES 3
#define REPLICA 3
#define TEXT_BYTES 1200
#define NAME_BYTES 32

/* Keys of the three. */
#define KEY_0 "b" /* slot 3300 */
#define KEY_1 "c" /* slot 7365 */
#define KEY_2 "a" /* slot 15495 */

static fake_server_t *nodes[NODES];
static char slots_text[TEXT_BYTES], nodes_text[TEXT_BYTES];
static char names[NODES][NAME_BYTES];

static int tear_down(void **state)
{
    int rc = scene_teardown(state);

    for (size_t i = 0; i < NODES; i++) {
        fake_server_stop(nodes[i]);
        nodes[i] = NULL;
    }
    return rc;
}

static size_t write_node(char *to, size_t room, size_t node)
{
    return (size_t)snprintf(to, room,
                            "*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$4\r\nnod%zu\r\n",
                            fake_server_port(nodes[node]), node);
}

static void write_slots(void)
{
    size_t bytes = (size_t)snprintf(slots_text, TEXT_BYTES, "*3\r\n");

    for (size_t i = 0; i < PRIMARIES; i++) {
        int first = (int)i * 5461, last = i == 2 ? 16383 : (int)(i + 1) * 5461 - 1;
        bytes += (size_t)snprintf(slots_text + bytes, TEXT_BYTES - bytes,
                                  "*%d\r\n:%d\r\n:%d\r\n", i == 0 ? 4 : 3, first, last);
        bytes += write_node(slots_text + bytes, TEXT_BYTES - bytes, i);
        if (i == 0)
            bytes += write_node(slots_text + bytes, TEXT_BYTES - bytes, REPLICA);
    }
}

static void write_nodes(void)
{
    char lines[TEXT_BYTES / 2];
    size_t bytes = 0;

    for (size_t i = 0; i < NODES; i++)
        bytes += (size_t)snprintf(lines + bytes, sizeof lines - bytes,
                                  "nod%zu %s@1 %s %s 0 0 5 connected\n", i, names[i],
                                  i == REPLICA ? "slave" : "master",
                                  i == REPLICA ? "nod0" : "-");
    snprintf(nodes_text, TEXT_BYTES, "$%zu\r\n%s\r\n", bytes, lines);
}

static void tell_views(void)
{
    write_slots();
    write_nodes();
    for (size_t i = 0; i < NODES; i++) {
        fake_server_rule(nodes[i], &(fake_rule_t){.command = "CLUSTER",
                                                  .argument = "SLOTS",
                                                  .reply = slots_text});
        fake_server_rule(nodes[i], &(fake_rule_t){.command = "CLUSTER",
                                                  .argument = "NODES",
                                                  .reply = nodes_text});
    }
}

static void open_cluster(scene_t *scene)
{
    assert_int_equal(shoal_options_set_address(scene->options, "127.0.0.1",
                                               fake_server_port(nodes[0])),
                     0);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_CLUSTER),
                     0);
    scene_open(scene);
}

static int set_up(void **state)
{
    for (size_t i = 0; i < NODES; i++) {
        nodes[i] = fake_server_start(NULL);
        snprintf(names[i], NAME_BYTES, "127.0.0.1:%d", fake_server_port(nodes[i]));
    }
    tell_views();
    return scene_setup(state);
}

/* Every node answers the command so. */
static void answer(const char *command, const char *reply)
{
    for (size_t i = 0; i < NODES; i++)
        fake_server_rule(nodes[i], &(fake_rule_t){.command = command, .reply = reply});
}

static size_t received(size_t node, const char *command)
{
    return fake_server_received(nodes[node], 0, command, NULL);
}

/* "1110": which nodes got so many of this command, one digit each. */
static void check_received(const char *command, const char *digits)
{
    for (size_t i = 0; i < NODES; i++)
        if (received(i, command) != (size_t)(digits[i] - '0'))
            fail_msg("node %zu got %zu of %s, not %c", i, received(i, command), command,
                     digits[i]);
}

static shoal_call_t by(enum shoal_route route)
{
    shoal_call_t call = SHOAL_CALL_INIT;

    call.route = route;
    return call;
}

static shoal_call_t by_node(const char *node)
{
    shoal_call_t call = by(SHOAL_ROUTE_NODE);

    call.route_node = node;
    return call;
}

static shoal_result_t *ask(scene_t *scene, shoal_command_t command,
                           const shoal_call_t *call)
{
    shoal_result_t *result = NULL;

    assert_int_equal(shoal_client_call_with(scene->client, &command, call, &result), 0);
    return result;
}

static const shoal_result_t *part_of(const shoal_result_t *result, size_t node)
{
    for (size_t i = 0; i < shoal_result_parts(result); i++) {
        const shoal_result_t *part = shoal_result_part(result, i);
        if (strcmp(shoal_result_node(part), names[node]) == 0)
            return part;
    }
    fail_msg("no part of node %zu", node);
    return NULL;
}

static void check(const shoal_result_t *result, int status, shoal_fate_t fate)
{
    if (shoal_result_status(result) != status || shoal_result_fate(result) != fate)
        fail_msg("%s %s: %s", shoal_error_name(shoal_result_status(result)),
                 shoal_fate_name(shoal_result_fate(result)),
                 shoal_result_detail(result));
}

/* ---- which nodes ---- */

static void a_map_has_each_nodes_reply(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by(SHOAL_ROUTE_PRIMARIES);

    for (size_t i = 0; i < NODES; i++)
        fake_server_rule(nodes[i],
                         &(fake_rule_t){.command = "LASTSAVE",
                                        .reply = i == 0 ? ":0\r\n" : ":7\r\n"});
    open_cluster(scene);
    shoal_result_t *result = ask(scene, WORDS("LASTSAVE"), &call);
    check(result, 0, SHOAL_FATE_REPLIED);
    const shoal_reply_t *reply = shoal_result_reply(result);
    assert_int_equal(shoal_reply_type(reply), SHOAL_REPLY_MAP);
    assert_int_equal(shoal_reply_count(reply), 2 * PRIMARIES);
    for (size_t i = 0; i < PRIMARIES; i++) {
        const char *name = shoal_reply_string(shoal_reply_at(reply, 2 * i), NULL);
        int64_t number = shoal_reply_integer(shoal_reply_at(reply, 2 * i + 1));
        assert_int_equal(number, strcmp(name, names[0]) == 0 ? 0 : 7);
        assert_int_equal(shoal_reply_integer(shoal_result_reply(part_of(result, i))),
                         i == 0 ? 0 : 7);
        assert_int_equal(shoal_result_slot(part_of(result, i)), -1);
    }
    assert_null(shoal_result_part(result, PRIMARIES));
    shoal_result_release(result);
    check_received("LASTSAVE", "1110");

    call.route = SHOAL_ROUTE_NODES;
    result = ask(scene, WORDS("LASTSAVE"), &call);
    assert_int_equal(shoal_result_parts(result), NODES);
    shoal_result_release(result);
    check_received("LASTSAVE", "2221");
    shoal_stats_t stats = scene_idle_stats(scene);
    assert_int_equal(stats.commands, 2);
    assert_int_equal(stats.completed, 2);
}

/* ---- without a word of the caller ---- */

static void commands_know_who_gets_them(void **state)
{
    scene_t *scene = *state;
    for (size_t i = 0; i < NODES; i++) {
        fake_server_rule(nodes[i],
                         &(fake_rule_t){.command = "DBSIZE",
                                        .reply = i == 0 ? ":1\r\n" : ":20\r\n"});
        fake_server_rule(nodes[i],
                         &(fake_rule_t){.command = "SCRIPT",
                                        .reply = i == 1 ? "+OK\r\n" : "-NOTBUSY\r\n"});
    }
    answer("CONFIG", "+OK\r\n");
    answer("KEYS", "*1\r\n$1\r\nk\r\n");
    open_cluster(scene);
    /* Before the first view came, and after. */
    for (size_t i = 1; i <= 2; i++) {
        shoal_result_t *result = ask(scene, WORDS("DBSIZE"), NULL);
        check(result, 0, SHOAL_FATE_REPLIED);
        assert_int_equal(shoal_reply_integer(shoal_result_reply(result)), 41);
        assert_int_equal(shoal_result_parts(result), PRIMARIES);
        shoal_result_release(result);
    }
    check_received("DBSIZE", "2220");

    outcome_t outcome = scene_call(scene, WORDS("CONFIG", "SET", "save", ""), NULL);
    scene_check_text(&outcome, "OK");
    check_received("CONFIG", "1111");
    shoal_result_t *result = ask(scene, WORDS("KEYS", "*"), NULL);
    assert_int_equal(shoal_reply_count(shoal_result_reply(result)), PRIMARIES);
    shoal_result_release(result);
    /* One that works suffices. */
    outcome = scene_call(scene, WORDS("SCRIPT", "KILL"), NULL);
    scene_check_text(&outcome, "OK");
}

/* By its address, or by its id, before the first view came and after. */
static void a_named_node_gets_the_command(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by_node(names[REPLICA]);

    open_cluster(scene);
    for (unsigned i = 0; i < 2; i++) {
        shoal_result_t *result = ask(scene, WORDS("PING"), &call);
        check(result, 0, SHOAL_FATE_REPLIED);
        assert_int_equal(shoal_result_parts(result), 0);
        shoal_result_release(result);
        call.route_node = "nod3";
    }
    check_received("PING", "0002");
    call = by_node(names[0]); /* the seed */
    shoal_result_release(ask(scene, WORDS("PING"), &call));
    check_received("PING", "1002");
}

static void an_unknown_node_is_said_to_be_unknown(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by_node("127.0.0.1:1");

    open_cluster(scene);
    for (unsigned i = 0; i < 2; i++) {
        shoal_result_t *result = ask(scene, WORDS("PING"), &call);
        check(result, SHOAL_ENOENT, SHOAL_FATE_NOT_EXECUTED);
        assert_non_null(strstr(shoal_result_detail(result), "127.0.0.1:1: "));
        shoal_result_release(result);
    }
    shoal_stats_t stats = scene_idle_stats(scene);
    assert_int_equal(stats.commands, 2);
    assert_int_equal(stats.completed, 2);
    check_received("PING", "0000");
}

/* The caller's word counts: a redirect of a named node is a result. */
static void a_named_node_redirects_nobody(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by_node(names[1]);
    char moved[64];

    snprintf(moved, sizeof moved, "-MOVED 3300 %s\r\n", names[0]);
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "GET", .reply = moved});
    open_cluster(scene);
    shoal_result_t *result = ask(scene, WORDS("GET", KEY_0), &call);
    check(result, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(strncmp(shoal_result_error(result), "MOVED 3300", 10), 0);
    shoal_result_release(result);
    check_received("GET", "0100");
}

static void a_slot_names_its_owner(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by(SHOAL_ROUTE_SLOT);

    open_cluster(scene);
    for (unsigned i = 0; i < PRIMARIES; i++) {
        call.route_slot = i * 5461 + 7;
        shoal_result_release(ask(scene, WORDS("PING"), &call));
    }
    check_received("PING", "1110");
}

static void any_primary_will_do(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by(SHOAL_ROUTE_ANY);

    answer("DBSIZE", ":1\r\n");
    open_cluster(scene);
    shoal_result_t *result = ask(scene, WORDS("DBSIZE"), &call);
    assert_int_equal(shoal_reply_integer(shoal_result_reply(result)), 1);
    assert_int_equal(
        received(0, "DBSIZE") + received(1, "DBSIZE") + received(2, "DBSIZE"), 1);
    shoal_result_release(result);
}

/* Commands of one call that were submitted before anything is known of the cluster reach each
 * node in their order. */
static void each_node_gets_them_in_order(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by(SHOAL_ROUTE_PRIMARIES);

    fake_server_freeze(nodes[0]);
    open_cluster(scene);
    outcome_t *all = scene_outcomes(scene, 3);
    scene_submit(scene, WORDS("SET", KEY_0, "1"), NULL, &all[0]);
    scene_submit(scene, WORDS("PING"), &call, &all[1]);
    scene_submit(scene, WORDS("SET", KEY_0, "2"), NULL, &all[2]);
    fake_server_release(nodes[0]);
    for (unsigned i = 0; i < 3; i++)
        scene_await(&all[i]);
    size_t at = 0;
    static const char *const expected[] = {"SET", "PING", "SET"};
    for (size_t i = 0; i < fake_server_ledger_size(nodes[0]); i++) {
        const char *name = fake_server_ledger_at(nodes[0], i).args[0];
        if (strcmp(name, "SET") == 0 || strcmp(name, "PING") == 0) {
            assert_true(at < 3);
            assert_string_equal(name, expected[at++]);
        }
    }
    assert_int_equal(at, 3);
}

/* ---- trouble ---- */

static void one_error_is_the_result(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by(SHOAL_ROUTE_PRIMARIES);

    fake_server_rule(nodes[1],
                     &(fake_rule_t){.command = "PING", .reply = "-ERR no\r\n"});
    open_cluster(scene);
    shoal_result_t *result = ask(scene, WORDS("PING"), &call);
    check(result, 0, SHOAL_FATE_REPLIED);
    assert_string_equal(shoal_result_error(result), "ERR no");
    assert_string_equal(shoal_result_error(part_of(result, 1)), "ERR no");
    assert_null(shoal_result_error(part_of(result, 0)));
    shoal_result_release(result);
}

/* A node is down: the others were asked, and the parts say who was not. */
static void a_node_that_is_down_fails_its_part(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by(SHOAL_ROUTE_PRIMARIES);
    shoal_result_t *result;

    open_cluster(scene);
    shoal_result_release(ask(scene, WORDS("PING"), &call));
    fake_server_refuse(nodes[2], true);
    fake_server_cut(nodes[2], FAKE_CUT_FIN);
    WAIT_FOR(scene_events(scene).lost > 0);
    call.timeout_us = 300000;
    result = ask(scene, WORDS("ECHO", "x"), &call);
    while (shoal_result_status(part_of(result, 0)) != 0 ||
           shoal_result_status(part_of(result, 1)) != 0) {
        shoal_result_release(result); /* the others were late */
        call.timeout_us *= 2;
        assert_true(call.timeout_us < WAITING_US_MAX);
        result = ask(scene, WORDS("ECHO", "x"), &call);
    }
    check(result, SHOAL_ETIMEOUT, SHOAL_FATE_UNKNOWN);
    assert_non_null(strstr(shoal_result_detail(result), names[2]));
    check(part_of(result, 2), SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    check(part_of(result, 0), 0, SHOAL_FATE_REPLIED);
    assert_true(shoal_result_is_offline(result));
    shoal_result_release(result);
}

static void await_held(const char *command)
{
    for (size_t i = 0; i < PRIMARIES; i++)
        WAIT_FOR(received(i, command) == 1);
}

static void a_cancel_ends_all_parts(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by(SHOAL_ROUTE_PRIMARIES);
    outcome_t *outcome = scene_outcomes(scene, 1);

    for (size_t i = 0; i < PRIMARIES; i++)
        fake_server_hold(nodes[i], "PING");
    open_cluster(scene);
    uint64_t ticket = scene_submit(scene, WORDS("PING"), &call, outcome);
    await_held("PING");
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
    for (size_t i = 0; i < PRIMARIES; i++)
        fake_server_release(nodes[i]);
}

static void a_deadline_ends_all_parts(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by(SHOAL_ROUTE_PRIMARIES);

    for (size_t i = 0; i < PRIMARIES; i++)
        fake_server_hold(nodes[i], "PING");
    open_cluster(scene);
    scene_call(scene, WORDS("SET", KEY_0, "1"), NULL);
    call.timeout_us = 200000;
    shoal_result_t *result = ask(scene, WORDS("PING"), &call);
    assert_int_equal(shoal_result_status(result), SHOAL_ETIMEOUT);
    for (size_t i = 0; i < PRIMARIES; i++)
        assert_int_equal(shoal_result_status(part_of(result, i)), SHOAL_ETIMEOUT);
    shoal_result_release(result);
    for (size_t i = 0; i < PRIMARIES; i++)
        fake_server_release(nodes[i]);
}

/* The client is closed while parts are under way: one result, and nothing is left. */
static void a_close_ends_all_parts(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = by(SHOAL_ROUTE_PRIMARIES);
    outcome_t *outcome = scene_outcomes(scene, 1);

    fake_server_hold(nodes[1], "PING");
    open_cluster(scene);
    scene_submit(scene, WORDS("PING"), &call, outcome);
    WAIT_FOR(received(1, "PING") == 1);
    scene_close(scene, 0);
    scene_check(outcome, SHOAL_ESHUTDOWN, SHOAL_FATE_UNKNOWN);
}

/* ---- refusals ---- */

static void what_makes_no_sense_is_refused(void **state)
{
    scene_t *scene = *state;
    shoal_error_t error = SHOAL_ERROR_INIT;
    const shoal_command_t two[] = {WORDS("PING"), WORDS("PING")};
    shoal_call_t call = by(SHOAL_ROUTE_SLOT);

    open_cluster(scene);
    call.error = &error;
    call.route_slot = 16384;
    assert_int_equal(
        shoal_client_submit_many(scene->client, two, 2, &call, NULL, NULL, NULL),
        SHOAL_EINVAL);
    call.route = SHOAL_ROUTE_NODE + 1;
    assert_int_equal(
        shoal_client_submit_many(scene->client, two, 2, &call, NULL, NULL, NULL),
        SHOAL_EINVAL);
    call.route = SHOAL_ROUTE_NODE;
    assert_int_equal(
        shoal_client_submit_many(scene->client, two, 2, &call, NULL, NULL, NULL),
        SHOAL_EINVAL);
    call.route = SHOAL_ROUTE_PRIMARIES;
    call.flags = SHOAL_CALL_CONTIGUOUS;
    assert_int_equal(
        shoal_client_submit_many(scene->client, two, 2, &call, NULL, NULL, NULL),
        SHOAL_EREFUSED);
    assert_non_null(strstr(error.text, "several nodes"));
}

/* A client of one server takes every route; only a node must be that one. */
static void one_server_is_every_node(void **state)
{
    scene_t *scene = *state;
    char name[NAME_BYTES];
    shoal_error_t error = SHOAL_ERROR_INIT;
    const shoal_command_t ping = WORDS("PING");

    snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(scene->server));
    scene_open(scene);
    for (uint32_t route = 0; route <= SHOAL_ROUTE_NODE; route++) {
        shoal_call_t call = by(route);
        call.route_node = name;
        outcome_t outcome = scene_call(scene, ping, &call);
        scene_check_text(&outcome, "PONG");
    }
    shoal_call_t call = by_node("127.0.0.1:1");
    call.error = &error;
    assert_int_equal(
        shoal_client_submit_many(scene->client, &ping, 1, &call, NULL, NULL, NULL),
        SHOAL_ENOENT);
    assert_non_null(strstr(error.text, "127.0.0.1:1"));
}

#define NODES_TEST(function)                                                           \
    cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NODES_TEST(a_map_has_each_nodes_reply),
        NODES_TEST(commands_know_who_gets_them),
        NODES_TEST(a_named_node_gets_the_command),
        NODES_TEST(an_unknown_node_is_said_to_be_unknown),
        NODES_TEST(a_named_node_redirects_nobody),
        NODES_TEST(a_slot_names_its_owner),
        NODES_TEST(any_primary_will_do),
        NODES_TEST(each_node_gets_them_in_order),
        NODES_TEST(one_error_is_the_result),
        NODES_TEST(a_node_that_is_down_fails_its_part),
        NODES_TEST(a_cancel_ends_all_parts),
        NODES_TEST(a_deadline_ends_all_parts),
        NODES_TEST(a_close_ends_all_parts),
        NODES_TEST(what_makes_no_sense_is_refused),
        SCENE_TEST(one_server_is_every_node),
    };

    return cmocka_run_group_tests_name("cluster_nodes", tests, NULL, NULL);
}
