/* SPDX-License-Identifier: MIT */
/* How many connections a client of a cluster, which the test plays, has at most: primaries come
 * first, and leases wait in line. */
#include "fault/shard_scene.h"
#include "support/lease_scene.h"

#define LOW "bar" /* slot 5061, of node 0; KEY is node 1's */

static void open_with(scene_t *scene, unsigned connections_max)
{
    agree();
    assert_int_equal(shoal_options_set_connections_max(scene->options, connections_max),
                     0);
    open_cluster(scene, 0);
}

static unsigned open_now(void)
{
    unsigned sum = 0;

    for (size_t i = 0; i < NODES; i++)
        sum += fake_server_open_now(nodes[i]);
    return sum;
}

static void open_both(scene_t *scene, unsigned connections_max)
{
    open_with(scene, connections_max);
    check_ok(scene, WORDS("SET", LOW, "1"));
    check_ok(scene, WORDS("SET", KEY, "1"));
}

static shoal_lease_t *lease_for(scene_t *scene, const char *key)
{
    shoal_lease_t *lease;

    assert_int_equal(shoal_lease_open_for(scene->client, key, strlen(key), &lease), 0);
    return lease;
}

static void ask_ok(scene_t *scene, shoal_lease_t *lease, const char *key)
{
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("SET", key, "1"));

    scene_check_text(&outcome, "OK");
}

/* One place is left beside the two primaries. */
static void leases_wait_in_line(void **state)
{
    scene_t *scene = *state;
    outcome_t *waiting = scene_outcomes(scene, 2);

    open_both(scene, 3);
    shoal_lease_t *first = lease_for(scene, LOW), *second = lease_for(scene, LOW);
    shoal_lease_t *third = lease_for(scene, KEY);
    ask_ok(scene, first, LOW);
    lease_scene_submit(scene, second, WORDS("SET", LOW, "2"), 0, &waiting[0], NULL);
    lease_scene_submit(scene, third, WORDS("SET", KEY, "3"), 0, &waiting[1], NULL);
    WAIT_FOR(scene_stats(scene).leases_waiting_now == 2);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(open_now(), 3);
    assert_int_equal(waiting[0].calls + waiting[1].calls, 0);
    shoal_lease_close(first);
    scene_check_text(&waiting[0], "OK"); /* with the same connection */
    assert_int_equal(fake_server_accepted(nodes[0]), 2);
    assert_int_equal(waiting[1].calls, 0);
    shoal_lease_close(second);
    scene_check_text(&waiting[1], "OK"); /* with another one, whose place it gets */
    WAIT_FOR(open_now() == 3);
    assert_int_equal(fake_server_open_now(nodes[0]), 1);
    shoal_lease_close(third);
}

static void a_lease_without_a_place_times_out(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    open_both(scene, 2);
    shoal_lease_t *lease = lease_for(scene, LOW);
    lease_scene_submit(scene, lease, WORDS("SET", LOW, "2"), 30000, outcome, NULL);
    scene_check(outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_non_null(strstr(outcome->detail, "connections_max"));
    assert_int_equal(open_now(), 2);
    shoal_lease_close(lease);
}

/* The one that has no place is down; the other one works. */
static void a_primary_without_a_place_is_down(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = SHOAL_CALL_INIT;
    outcome_t outcome;

    open_with(scene, 1);
    WAIT_FOR(scene_events(scene).nodes_down == 1);
    assert_true(is_down(scene, 1));
    check_ok(scene, WORDS("SET", LOW, "1"));
    call.timeout_us = 30000;
    outcome = scene_call(scene, WORDS("SET", KEY, "1"), &call);
    scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    if (!strstr(outcome.detail, "connections_max"))
        fail_msg("%s", outcome.detail);
    check_ok(scene, WORDS("SET", LOW, "1"));
    assert_int_equal(open_now(), 1);
}

static void give_all_to_the_first(void)
{
    view[0].last = 16383;
    view[1].first = 1;
    view[1].last = 0;
    agree();
}

/* The second node gets its slots back: the client needs a connection to it. */
static void give_half_to_the_second(scene_t *scene, unsigned epoch)
{
    plan();
    for (size_t i = 0; i < NODES; i++)
        view[i].epoch = epoch;
    agree();
    fake_server_rule(
        nodes[0], &(fake_rule_t){.command = "SET",
                                 .argument = KEY,
                                 .times = 1,
                                 .reply = script_redirect("MOVED", SLOT,
                                                          fake_server_port(nodes[1]))});
    check_ok(scene, WORDS("SET", KEY, "1"));
}

static void idle_leases_give_their_places(void **state)
{
    scene_t *scene = *state;

    give_all_to_the_first();
    assert_int_equal(shoal_options_set_connections_max(scene->options, 3), 0);
    open_cluster(scene, 0);
    shoal_lease_t *first = lease_for(scene, LOW), *second = lease_for(scene, LOW);
    ask_ok(scene, first, LOW);
    ask_ok(scene, second, LOW);
    shoal_lease_close(first);
    shoal_lease_close(second);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 2);
    assert_int_equal(open_now(), 3);
    give_half_to_the_second(scene, 9);
    WAIT_FOR(open_now() == 3 && fake_server_open_now(nodes[1]) == 1);
    assert_int_equal(scene_events(scene).nodes_down, 0);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
}

/* Leases that are in use keep theirs; the next that is given back goes to the primary, although
 * another lease waits. */
static void a_primary_comes_before_the_line(void **state)
{
    scene_t *scene = *state;
    outcome_t *waiting = scene_outcomes(scene, 2);

    give_all_to_the_first();
    assert_int_equal(shoal_options_set_connections_max(scene->options, 2), 0);
    open_cluster(scene, 0);
    shoal_lease_t *first = lease_for(scene, LOW), *second = lease_for(scene, LOW);
    ask_ok(scene, first, LOW);
    lease_scene_submit(scene, second, WORDS("SET", LOW, "2"), 0, &waiting[0], NULL);
    WAIT_FOR(scene_stats(scene).leases_waiting_now == 1);
    plan();
    for (size_t i = 0; i < NODES; i++)
        view[i].epoch = 9;
    agree();
    fake_server_rule(
        nodes[0], &(fake_rule_t){.command = "SET",
                                 .argument = KEY,
                                 .reply = script_redirect("MOVED", SLOT,
                                                          fake_server_port(nodes[1]))});
    scene_submit(scene, WORDS("SET", KEY, "1"), NULL, &waiting[1]);
    WAIT_FOR(scene_events(scene).nodes_down == 1);
    assert_int_equal(waiting[0].calls + waiting[1].calls, 0);
    shoal_lease_close(first);
    scene_check_text(&waiting[1], "OK");
    WAIT_FOR(!is_down(scene, 1));
    assert_int_equal(waiting[0].calls, 0);
    assert_int_equal(open_now(), 2);
    shoal_lease_close(second);
}

/* A replica that is read from gives its place to a primary; reads go to the owner then. */
static void replicas_give_their_places(void **state)
{
    static const char linked[] = "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:6379\r\n"
                                 "$9\r\nconnected\r\n:0\r\n";
    scene_t *scene = *state;

    give_all_to_the_first();
    fake_server_rule(nodes[2], &(fake_rule_t){.command = "ROLE", .reply = linked});
    fake_server_rule(nodes[2],
                     &(fake_rule_t){.command = "READONLY", .reply = "+OK\r\n"});
    assert_int_equal(shoal_options_set_connections_max(scene->options, 2), 0);
    assert_int_equal(
        shoal_options_set_read_from(scene->options, SHOAL_READ_REPLICA_PREFERRED), 0);
    open_cluster(scene, 0);
    for (int i = 0; i < 10000 && fake_server_received(nodes[2], 0, "GET", NULL) == 0;
         i++)
        check_ok(scene, WORDS("GET", LOW));
    assert_int_equal(fake_server_open_now(nodes[2]), 1);
    give_half_to_the_second(scene, 9);
    check_ok(scene, WORDS("GET", LOW));
    WAIT_FOR(fake_server_open_now(nodes[2]) == 0);
    assert_int_equal(open_now(), 2);
    check_ok(scene, WORDS("GET", LOW));
    assert_int_equal(scene_events(scene).nodes_down, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(leases_wait_in_line),
        TEST(a_lease_without_a_place_times_out),
        TEST(a_primary_without_a_place_is_down),
        TEST(idle_leases_give_their_places),
        TEST(a_primary_comes_before_the_line),
        TEST(replicas_give_their_places),
    };
    return cmocka_run_group_tests_name("fault/cluster_places", tests, NULL, NULL);
}
