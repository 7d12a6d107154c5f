/* SPDX-License-Identifier: MIT */
/* Sentinels that the test plays name another primary: all connections lead to it. */
#include "fault/sentinel_scene.h"
#include "support/sleeper.h"

/* ---- following ---- */

static void test_an_event(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, NULL);
    WAIT_FOR(fake_server_received(sentinels[0], 0, "SUBSCRIBE", "+switch-master") == 1);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, "mymaster2");
    publish(0, NAME);
    await_taken_by(scene, others[0], "k");
    assert_int_equal(scene_events(scene).changed, 2);
}

/* Without events, whatever the reason, the poll suffices. */
static void test_no_events(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, &(fake_config_t){.identity = {.kind = FAKE_RESP2}},
                        NULL);
    assert_int_equal(fake_server_received(sentinels[0], 0, "SUBSCRIBE", NULL), 0);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    await_taken_by(scene, others[0], "k");
}

static void test_events_are_forbidden(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, "-NOPERM no\r\n");
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    await_taken_by(scene, others[0], "k");
}

/* It would hang for minutes, and what comes of it says nothing of the new primary. */
static void test_an_attempt_at_the_former_primary(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(
        shoal_options_set_connect_timeout_us(scene->options, 600000000, 600000000), 0);
    fake_server_hold(scene->server, "HELLO");
    start_sentinel(0, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    know(scene, 0);
    scene_open(scene);
    WAIT_FOR(fake_server_received(scene->server, 0, "HELLO", NULL) > 0);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    check_taken_by(scene, others[0], "k");
    fake_server_release(scene->server);
}

/* The primary is lost: nobody dials it again unasked. */
static void test_a_lost_primary(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, NULL);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).lost > 0);
    check_taken_by(scene, others[0], "k");
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_a_primary_that_becomes_a_replica(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    open_at_the_primary(scene, NULL, NULL);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INCR", .reply = "-READONLY no\r\n"});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "ROLE", .reply = REPLICA});
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome->type, SHOAL_REPLY_INTEGER);
    assert_int_equal(fake_server_number(others[0], 0, "k"), 1);
}

/* An operator removes the primary everywhere, and names another one: its epoch is 0. */
static void test_a_new_beginning(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < 3; i++) {
        start_sentinel(i, NULL, (view_t){.port = primary_port(scene), .epoch = 7});
        know(scene, i);
    }
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "first");
    for (size_t i = 0; i < 3; i++)
        say(i, (view_t){.port = other_port(0), .epoch = 0});
    await_taken_by(scene, others[0], "k");
}

/* A new client leaves a former primary that says nothing.  True: soon after the new one has
 * said what it is. */
static bool leaves_promptly(scene_t *scene)
{
    outcome_t *outcome = scene_outcomes(scene, 1);
    size_t asked = fake_server_received(others[0], 0, "ROLE", NULL);
    outcome_t next;
    uint64_t greeted_us;
    bool is_prompt;

    say(0, (view_t){.port = primary_port(scene), .epoch = 1});
    scene_open_ready(scene);
    fake_server_freeze(scene->server);
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(fake_server_holds(scene->server, "INCR"));
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(fake_server_received(others[0], 0, "ROLE", NULL) > asked);
    greeted_us = waiting_now_us();
    scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    is_prompt = sleeper_is_prompt(greeted_us + 100000, waiting_now_us(),
                                  400000 + 2 * sleeper_late_us_max());
    next = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&next, 0, SHOAL_FATE_REPLIED);
    scene_close(scene, 0);
    fake_server_release(scene->server);
    return is_prompt;
}

/* It is not waited for as long as one that answers.  One thread alone may be late for a
 * while, which the sleeper does not see; a client that waits is late in every round. */
static void test_a_silent_former_primary(void **state)
{
    enum { ROUNDS = 5 };
    scene_t *scene = *state;
    int rounds = 1;

    start_sentinel(0, NULL, (view_t){.port = primary_port(scene), .epoch = 1});
    know(scene, 0);
    (void)other_port(0);
    sleeper_start();
    while (!leaves_promptly(scene) && rounds <= ROUNDS)
        rounds++;
    sleeper_stop();
    assert_in_range(rounds, 1, ROUNDS);
    assert_int_equal(fake_server_number(others[0], 0, "k"), rounds);
}

/* What the server is to write is in the socket.  Any thread may wait for it. */
static void await_written(fake_server_t *server)
{
    uint64_t since_us = waiting_now_us();

    while (!fake_server_is_done(server) && waiting_now_us() - since_us < WAITING_US_MAX)
        waiting_sleep_us(200);
}

/* The former primary answers its next command, and the new one: the client finds both. */
static void answer_while_busy(shoal_client_t *client, const shoal_result_t *result,
                              void *data)
{
    scene_t *scene = data;

    (void)client, (void)result;
    fake_server_send(scene->server, ":2\r\n");
    await_written(scene->server);
    fake_server_release(others[0]);
    await_written(others[0]);
}

/* The former primary is not silent: the program is. */
static void answer_and_be_busy(shoal_client_t *client, const shoal_result_t *result,
                               void *data)
{
    scene_t *scene = data;

    (void)client, (void)result;
    fake_server_send(scene->server, ":3\r\n");
    await_written(scene->server);
    waiting_sleep_us(150000);
}

static void incr(scene_t *scene, const char *key, shoal_result_cb on_result, void *data)
{
    const char *words[] = {"INCR", key};

    assert_int_equal(
        shoal_client_submit(scene->client, 2, words, NULL, on_result, data, NULL), 0);
}

static void test_a_former_primary_that_answers_a_busy_program(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    assert_int_equal(
        shoal_options_set_integrity(scene->options, SHOAL_INTEGRITY_SHAPES), 0);
    open_at_the_primary(scene, NULL, NULL);
    assert_int_equal(fake_server_open_now(scene->server), 1);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INCR", .is_swallowed = true});
    (void)other_port(0);
    fake_server_hold(others[0], "ROLE");
    incr(scene, "a", answer_while_busy, scene);
    incr(scene, "b", answer_and_be_busy, scene);
    incr(scene, "c", outcome_cb, outcome);
    WAIT_FOR(fake_server_received(scene->server, 0, "INCR", "c") == 1);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(fake_server_received(others[0], 0, "ROLE", NULL) > 0);
    fake_server_send(scene->server, ":1\r\n");
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome->integer, 3);
    check_taken_by(scene, others[0], "k");
}

/* They name another primary, and take it back before that one has answered. */
static void test_there_and_back(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, NULL);
    (void)other_port(0);
    fake_server_hold(others[0], "HELLO");
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(fake_server_received(others[0], 0, "HELLO", NULL) == 1);
    say(0, (view_t){.port = primary_port(scene), .epoch = 3});
    publish(0, NAME);
    WAIT_FOR(scene_events(scene).changed == 3);
    check_taken_by(scene, scene->server, "k");
    assert_int_equal(scene_events(scene).ready, 1);
    /* The only renewal there is is the program's. */
    WAIT_FOR((assert_int_equal(shoal_client_reconnect(scene->client), 0),
              scene_events(scene).ready >= 2));
    assert_string_equal(scene_events(scene).renewed,
                        "renewed, because the program asked for it");
    fake_server_release(others[0]);
}

/* The answers of most are there before that of one which knew what was proved. */
static void test_a_new_beginning_that_one_tells_later(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < 3; i++) {
        start_sentinel(i, NULL, (view_t){.port = primary_port(scene), .epoch = 0});
        know(scene, i);
    }
    scene_open_ready(scene);
    check_taken_by(scene, scene->server, "first");
    for (size_t i = 0; i < 3; i++)
        WAIT_FOR(fake_server_received(sentinels[i], 0, "SENTINEL", "MASTER") > 0);
    for (size_t i = 0; i < 3; i++)
        say(i, (view_t){.port = other_port(0), .epoch = 0, .delay_us = i * 50000});
    await_taken_by(scene, others[0], "k");
}

/* ---- connections ---- */

/* Every way to use the connections of a client leads to the primary. */
static void test_all_connections_follow(void **state)
{
    scene_t *scene = *state;
    shoal_call_t bulk = SHOAL_CALL_INIT, leased = SHOAL_CALL_INIT;
    shoal_lease_t *lease = NULL;

    bulk.flags = SHOAL_CALL_BULK;
    assert_int_equal(shoal_options_set_connections(scene->options, 3), 0);
    open_at_the_primary(scene, NULL, NULL);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(scene_events(scene).changed == 2);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
    for (int i = 0; i < 40; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        check_taken_by(scene, others[0], key);
    }
    outcome_t outcome = scene_call(scene, WORDS("INCR", "bulk"), &bulk);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(shoal_lease_open(scene->client, &lease), 0);
    leased.lease = lease;
    outcome = scene_call(scene, WORDS("INCR", "leased"), &leased);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    shoal_lease_close(lease);
    assert_int_equal(fake_server_number(others[0], 0, "bulk"), 1);
    assert_int_equal(fake_server_number(others[0], 0, "leased"), 1);
}

static outcome_t ask_on(scene_t *scene, shoal_lease_t *lease, shoal_command_t command)
{
    shoal_call_t call = SHOAL_CALL_INIT;

    call.lease = lease;
    return scene_call(scene, command, &call);
}

/* A lease that has carried a command. */
static shoal_lease_t *open_lease(scene_t *scene, shoal_command_t command)
{
    shoal_lease_t *lease = NULL;
    outcome_t outcome;

    assert_int_equal(shoal_lease_open(scene->client, &lease), 0);
    outcome = ask_on(scene, lease, command);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    return lease;
}

static void check_leases_lead_to(scene_t *scene, fake_server_t *server)
{
    shoal_lease_t *lease = open_lease(scene, WORDS("INCR", "leased"));

    shoal_lease_close(lease);
    assert_int_equal(fake_server_number(server, 0, "leased"), 1);
}

/* Leased connections that are idle when the primary is exchanged, ... */
static void test_pooled_leases_follow(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, NULL);
    shoal_lease_close(open_lease(scene, WORDS("PING")));
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(scene_events(scene).changed == 2);
    check_leases_lead_to(scene, others[0]);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
}

/* ... that somebody holds, ... */
static void test_held_leases_are_not_pooled(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease;

    open_at_the_primary(scene, NULL, NULL);
    lease = open_lease(scene, WORDS("PING"));
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(scene_events(scene).changed == 2);
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    check_leases_lead_to(scene, others[0]);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
}

/* ... and that are being cleaned for the next one. */
static void test_leases_under_way_are_not_pooled(void **state)
{
    scene_t *scene = *state;

    open_at_the_primary(scene, NULL, NULL);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "WATCH", .reply = "+OK\r\n"});
    fake_server_rule(scene->server, &(fake_rule_t){.command = "UNWATCH",
                                                   .reply = "+OK\r\n",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    shoal_lease_close(open_lease(scene, WORDS("WATCH", "k")));
    WAIT_FOR(fake_server_received(scene->server, 0, "UNWATCH", NULL) == 1);
    say(0, (view_t){.port = other_port(0), .epoch = 2});
    publish(0, NAME);
    WAIT_FOR(scene_events(scene).changed == 2);
    fake_server_release(scene->server);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
    check_leases_lead_to(scene, others[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_event),
        TEST(test_no_events),
        TEST(test_events_are_forbidden),
        TEST(test_an_attempt_at_the_former_primary),
        TEST(test_a_lost_primary),
        TEST(test_a_primary_that_becomes_a_replica),
        TEST(test_a_new_beginning),
        TEST(test_a_new_beginning_that_one_tells_later),
        TEST(test_a_silent_former_primary),
        TEST(test_a_former_primary_that_answers_a_busy_program),
        TEST(test_there_and_back),
        TEST(test_all_connections_follow),
        TEST(test_pooled_leases_follow),
        TEST(test_held_leases_are_not_pooled),
        TEST(test_leases_under_way_are_not_pooled),
    };
    return cmocka_run_group_tests_name("fault/sentinel_follow", tests, NULL, NULL);
}
