/* SPDX-License-Identifier: MIT */
/* Nodes of a cluster that the test plays: leases, and who drives them. */
#include "fault/cluster_lease_scene.h"
#include "support/lone_caller.h"

#include <poll.h>

/* ---- leases ---- */

static void expect_text(scene_t *scene, shoal_lease_t *lease, shoal_command_t command,
                        const char *text)
{
    outcome_t outcome = lease_scene_ask(scene, lease, command);

    scene_check_text(&outcome, text);
}

static void a_lease_leads_to_the_node_of_its_first_key(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene);
    shoal_lease_t *low = lease_scene_open(scene), *high = lease_scene_open(scene);
    expect_text(scene, low, WORDS("SET", LOW, "2"), "OK");
    expect_text(scene, high, WORDS("SET", HIGH, "2"), "OK");
    expect_text(scene, low, WORDS("ECHO", "low"), "low");
    expect_text(scene, high, WORDS("ECHO", "high"), "high");
    expect_text(scene, low, WORDS("SET", HIGH, "2"), "OK"); /* it stays */
    assert_int_equal(fake_server_received(nodes[0], 2, "ECHO", "low"), 1);
    assert_int_equal(fake_server_received(nodes[1], 2, "ECHO", "high"), 1);
    assert_int_equal(fake_server_received(nodes[0], 2, "SET", HIGH), 1);
    shoal_lease_close(low);
    shoal_lease_close(high);
    WAIT_FOR(scene_stats(scene).leases_now == 0 &&
             scene_stats(scene).leases_idle_now == 2);
}

/* ... by an argument, or by the commands of its first call. */
static void a_lease_may_be_told_its_node(void **state)
{
    scene_t *scene = *state;
    const shoal_command_t unit[] = {WORDS("MULTI"), WORDS("SET", HIGH, "3"),
                                    WORDS("EXEC")};
    outcome_t *outcomes = scene_outcomes(scene, 3);
    shoal_lease_t *lease;

    open_cluster(scene);
    for (size_t i = 0; i < NODES; i++) {
        const char *key = i == 0 ? LOW : HIGH;
        assert_int_equal(shoal_lease_open_for(scene->client, key, strlen(key), &lease),
                         0);
        expect_text(scene, lease, WORDS("ECHO", key), key);
        assert_int_equal(received(i, "ECHO", key), 1);
        shoal_lease_close(lease);
    }
    shoal_call_t call = SHOAL_CALL_INIT;
    call.lease = lease = lease_scene_open(scene);
    scene_call_many(scene, unit, 3, &call, outcomes);
    scene_check(&outcomes[2], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(received(1, "MULTI", NULL), 1);
    assert_int_equal(received(0, "MULTI", NULL), 0);
    shoal_lease_close(lease);
}

/* What the connection knows cannot follow. */
static void redirects_of_a_lease_are_results(void **state)
{
    scene_t *scene = *state;

    answer(0, "WATCH", redirect_to("MOVED", 1));
    answer(0, "GET", redirect_to("ASK", 1));
    open_cluster(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("WATCH", LOW));
    scene_check_error(&outcome, "MOVED");
    outcome = lease_scene_ask(scene, lease, WORDS("GET", LOW));
    scene_check_error(&outcome, "ASK");
    assert_int_equal(received(1, "WATCH", NULL) + received(1, "GET", NULL), 0);
    shoal_lease_close(lease);
}

/* The next holder gets the connection as it was after its greeting, or another one. */
static void a_lease_that_is_returned_dirty_is_clean_for_the_next(void **state)
{
    scene_t *scene = *state;

    answer(0, "WATCH", "+OK\r\n");
    answer(0, "UNWATCH", "+OK\r\n");
    answer(0, "MULTI", "+OK\r\n");
    answer(0, "DISCARD", "+OK\r\n");
    open_cluster(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    expect_text(scene, lease, WORDS("WATCH", LOW), "OK");
    expect_text(scene, lease, WORDS("SELECT", "1"), "OK");
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    assert_int_equal(fake_server_received(nodes[0], 2, "UNWATCH", NULL), 1);
    lease = lease_scene_open(scene);
    expect_text(scene, lease, WORDS("GET", LOW), "1");
    expect_text(scene, lease, WORDS("MULTI"), "OK");
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    assert_int_equal(fake_server_received(nodes[0], 2, "DISCARD", NULL), 1);
    lease = lease_scene_open(scene);
    expect_text(scene, lease, WORDS("GET", LOW), "1");
    expect_text(scene, lease, WORDS("CLIENT", "SETNAME", "mine"), "OK");
    shoal_lease_close(lease);
    WAIT_FOR(fake_server_open_now(nodes[0]) == 1); /* nothing undoes that */
}

static void a_lease_breaks_with_its_node(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene);
    shoal_lease_t *lease = lease_scene_open(scene), *other = lease_scene_open(scene);
    expect_text(scene, lease, WORDS("GET", LOW), "1");
    lose(0);
    WAIT_FOR(scene_events(scene).lost == 2); /* the lease's connection, too */
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("GET", HIGH));
    scene_check(&outcome, SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    expect_text(scene, other, WORDS("GET", HIGH), "1");
    shoal_lease_close(lease);
    shoal_lease_close(other);
}

/* One that has carried nothing is not bound to a node that is lost. */
static void a_lease_without_state_follows_its_slot(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    open_cluster(scene);
    lose(0);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    shoal_lease_t *lease = lease_scene_open(scene);
    lease_scene_submit(scene, lease, WORDS("SET", LOW, "2"), 0, outcome, NULL);
    fake_server_prepare_rules(nodes[1]);
    say(1, 1, 6);
    fake_server_forget_rules(nodes[1]);
    scene_await(outcome);
    scene_check_text(outcome, "OK");
    assert_int_equal(received(1, "SET", LOW), 1);
    shoal_lease_close(lease);
}

/* The bound is one for all nodes: idle connections to others make way. */
static void idle_connections_make_way(void **state)
{
    scene_t *scene = *state;
    static const char *const keys[] = {LOW, HIGH};
    shoal_lease_t *leases[SHOAL_LEASE_CONNECTIONS_MAX];

    open_cluster(scene);
    for (size_t node = 0; node < NODES; node++) {
        for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++) {
            leases[i] = lease_scene_open(scene);
            expect_text(scene, leases[i], WORDS("GET", keys[node]), "1");
        }
        assert_int_equal(fake_server_open_now(nodes[node]),
                         SHOAL_LEASE_CONNECTIONS_MAX + 1);
        WAIT_FOR(fake_server_open_now(nodes[1 - node]) == 1);
        for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++)
            shoal_lease_close(leases[i]);
        WAIT_FOR(scene_stats(scene).leases_idle_now == SHOAL_LEASE_CONNECTIONS_MAX);
    }
}

/* ---- who drives ---- */

#define CALLS 200

/* A thread that is alone sends and reads itself: no other thread takes part. */
static void a_lone_caller_drives(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene);
    lone_caller_become_direct(scene);
    shoal_stats_t before = scene_stats(scene);
    for (int i = 0; i < CALLS; i++) {
        shoal_command_t command = WORDS("GET", i % 2 == 0 ? LOW : HIGH);
        shoal_result_t *result = NULL;
        assert_int_equal(shoal_client_call(scene->client, command.argc, command.argv,
                                           command.argvlen, &result),
                         0);
        assert_int_equal(shoal_result_status(result), 0);
        shoal_result_release(result);
    }
    shoal_stats_t after = scene_stats(scene);
    print_message("%d calls: %d drove, %d hand-overs, %d wake-ups of callers\n", CALLS,
                  (int)(after.direct_calls - before.direct_calls),
                  (int)(after.handovers - before.handovers),
                  (int)(after.caller_wakeups - before.caller_wakeups));
    /* The library's thread may look after something meanwhile. */
    assert_true(after.direct_calls - before.direct_calls > CALLS / 2);
    assert_true(after.handovers - before.handovers < CALLS / 2);
    assert_true(after.caller_wakeups - before.caller_wakeups < CALLS / 2);
}

/* One descriptor for all connections, those of leases too. */
static void a_borrowed_client_has_one_descriptor(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    answer(1, "BLPOP", POPPED);
    for (size_t i = 0; i < NODES; i++)
        say(i, 0, 5);
    assert_int_equal(shoal_options_set_address(scene->options, "127.0.0.1",
                                               fake_server_port(nodes[0])),
                     0);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_CLUSTER),
                     0);
    lease_scene_open_stepped(scene);
    lease_scene_submit(scene, NULL, WORDS("BLPOP", HIGH, "0"), 0, outcome, NULL);
    while (!outcome_is_done(outcome)) {
        assert_true(shoal_client_step(scene->client, 0) >= 0);
        struct pollfd ready = {.fd = shoal_client_fd(scene->client), .events = POLLIN};
        if (!outcome_is_done(outcome) && shoal_client_wait_us(scene->client) != 0)
            assert_int_equal(poll(&ready, 1, 20000), 1);
    }
    expect_popped(outcome);
    lease_scene_close_stepped(scene);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lease_leads_to_the_node_of_its_first_key),
        TEST(a_lease_may_be_told_its_node),
        TEST(redirects_of_a_lease_are_results),
        TEST(a_lease_that_is_returned_dirty_is_clean_for_the_next),
        TEST(a_lease_breaks_with_its_node),
        TEST(a_lease_without_state_follows_its_slot),
        TEST(idle_connections_make_way),
        TEST(a_lone_caller_drives),
        TEST(a_borrowed_client_has_one_descriptor),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_leases", tests, NULL, NULL);
}
