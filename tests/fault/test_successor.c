/* SPDX-License-Identifier: MIT */

/* A connection that works is renewed: its successor is made before it is broken. */

#include "support/lone_caller.h"
#include <shoal/connection.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define WHY "renewed, because the program asked for it"

static void reconnect(scene_t *scene)
{
    assert_int_equal(shoal_client_reconnect(scene->client), 0);
}

static size_t commands_on(scene_t *scene, unsigned connection)
{
    return fake_server_received(scene->server, connection, "INCR", NULL);
}

static void incr(scene_t *scene)
{
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
}

/* ---- it succeeds ---- */

static void test_commands_do_not_wait_for_the_successor(void **state)
{
    scene_t *scene = *state;
    size_t held;

    scene_open_ready(scene);
    held = fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "HELLO", .connection = 2, .then = FAKE_HOLD});
    reconnect(scene);
    WAIT_FOR(fake_server_hits(scene->server, held) == 1);
    for (int i = 0; i < 10; i++)
        incr(scene);
    assert_int_equal(commands_on(scene, 1), 10);
    assert_int_equal(scene_events(scene).ready, 1);
    fake_server_release(scene->server);
    WAIT_FOR(scene_events(scene).ready == 2);
    incr(scene);
    assert_int_equal(commands_on(scene, 2), 1);
    assert_int_equal(scene_events(scene).lost, 0);
    assert_string_equal(scene_events(scene).renewed, WHY);
    assert_true(scene_is_settled(scene));
    assert_int_equal(scene_stats(scene).losses, 0);
    assert_int_equal(scene_stats(scene).connects, 2);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
}

/* Without offline queueing, too: nothing is offline. */
static void test_commands_that_may_not_wait_need_not(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    assert_int_equal(shoal_options_set_offline_mode(scene->options, SHOAL_OFFLINE_FAIL),
                     0);
    scene_open_ready(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "held",
                                                   .times = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_submit(scene, WORDS("ECHO", "held"), NULL, &outcomes[0]);
    WAIT_FOR(fake_server_received(scene->server, 1, "ECHO", "held") == 1);
    reconnect(scene);
    WAIT_FOR(fake_server_received(scene->server, 2, "HELLO", NULL) == 1);
    scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[1]);
    fake_server_release(scene->server);
    scene_check_text(&outcomes[0], "held");
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
}

/* After a second the connection is left, whatever is unanswered: the successor, which is
 * there, ends it, and goes on. */
static void test_what_is_not_answered_in_time(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3);

    scene_open_ready(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .argument = "k",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[0]);
    scene_submit(scene, WORDS("GET", "k"), NULL, &outcomes[1]);
    WAIT_FOR(fake_server_received(scene->server, 1, "INCR", "k") == 1);
    reconnect(scene);
    WAIT_FOR(fake_server_received(scene->server, 2, "HELLO", NULL) == 1);
    scene_submit(scene, WORDS("GET", "other"), NULL, &outcomes[2]);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    assert_string_equal(outcomes[0].detail, WHY);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    scene_check(&outcomes[2], 0, SHOAL_FATE_REPLIED);
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_int_equal(fake_server_accepted(scene->server), 2);
    assert_int_equal(fake_server_received(scene->server, 2, "CLIENT", "KILL"), 1);
    assert_int_equal(scene_events(scene).lost, 1);
    assert_string_equal(scene_events(scene).detail, WHY);
    assert_true(scene_is_settled(scene));
    fake_server_release(scene->server);
}

/* ... and a server that does not end it leaves a doubt. */
static void test_what_cannot_be_ended(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    scene_open_ready(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "CLIENT",
                                                   .argument = "KILL",
                                                   .reply = "-NOPERM no\r\n"});
    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(fake_server_received(scene->server, 1, "INCR", "k") == 1);
    reconnect(scene);
    scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_false(scene_is_settled(scene));
    fake_server_release(scene->server);
}

/* ---- it fails ---- */

static void test_a_successor_that_is_refused(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    fake_server_refuse(scene->server, true);
    reconnect(scene);
    WAIT_FOR(scene_events(scene).attempts_failed >= 1);
    incr(scene);
    scene_events_t events = scene_events(scene);
    assert_int_equal(events.lost, events.attempts_failed);
    fake_server_refuse(scene->server, false);
    WAIT_FOR(scene_events(scene).ready == 2); /* it is tried again */
    incr(scene);
    assert_int_equal(commands_on(scene, 1), 1);
    assert_int_equal(scene_stats(scene).losses, 0);
}

static void test_a_successor_that_is_not_answered(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(
        shoal_options_set_connect_timeout_us(scene->options, WAITING_US_MAX, 1000000),
        0);
    scene_open_ready(scene);
    /* The first connection may not have been greeted in time, either. */
    unsigned present = fake_server_accepted(scene->server);
    unsigned late = scene_events(scene).lost_timeout;
    fake_server_hold(scene->server, "HELLO");
    reconnect(scene);
    WAIT_FOR(scene_events(scene).lost_timeout > late);
    incr(scene);
    fake_server_forget_rules(scene->server);
    fake_server_release(scene->server);
    WAIT_FOR(scene_events(scene).ready == 2);
    incr(scene);
    assert_int_equal(commands_on(scene, present), 1);
    assert_int_equal(scene_stats(scene).losses, 0);
}

static void test_a_successor_whose_credentials_are_rejected(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "HELLO", .reply = "-WRONGPASS invalid password\r\n"});
    reconnect(scene);
    WAIT_FOR(scene_events(scene).lost_auth >= 2); /* again after a second */
    incr(scene);
    fake_server_forget_rules(scene->server);
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_int_equal(commands_on(scene, 1), 1);
    assert_int_equal(scene_stats(scene).losses, 0);
}

/* The successor dies behind so many bytes of the answer to this command.  The next one
 * takes nothing over before the test has looked. */
static void die_at(scene_t *scene, const char *command, size_t bytes, fake_then_t then)
{
    unsigned failed = scene_events(scene).attempts_failed, present;

    scene_open_ready(scene);
    present = fake_server_accepted(scene->server);
    fake_server_rule(scene->server, &(fake_rule_t){.command = command,
                                                   .connection = present + 1,
                                                   .is_cut = true,
                                                   .cut_bytes = bytes,
                                                   .then = then});
    fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                   .connection = present + 2,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    reconnect(scene);
    WAIT_FOR(scene_events(scene).attempts_failed > failed);
    incr(scene);
    assert_int_equal(commands_on(scene, present), 1);
    assert_int_equal(scene_stats(scene).losses, 0);
    scene_close(scene, 0);
    fake_server_forget_rules(scene->server);
}

static void test_a_successor_that_dies_at_each_byte(void **state)
{
    static const struct {
        const char *command;
        size_t bytes;
    } answers[] = {{"HELLO", 120}, {"CLIENT", 6}, {"INFO", 24}};
    scene_t *scene = *state;

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (size_t bytes = 0; bytes < answers[i].bytes; bytes++)
            die_at(scene, answers[i].command, bytes, bytes % 2 ? FAKE_FIN : FAKE_RESET);
}

/* What it says unasked before it is used is the end of it. */
static void test_a_successor_that_talks_unasked(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    scene_open_ready(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    fake_server_rule(scene->server, &(fake_rule_t){.command = FAKE_FENCE,
                                                   .connection = 2,
                                                   .after = "+unasked\r\n"});
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(commands_on(scene, 1) == 1);
    reconnect(scene);
    WAIT_FOR(scene_events(scene).lost_desync == 1);
    assert_int_equal(scene_events(scene).attempts_failed, 1);
    fake_server_release(scene->server);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    WAIT_FOR(scene_events(scene).ready == 2);
}

/* ---- the present one is lost meanwhile ---- */

static void test_the_present_one_is_lost_while_the_successor_is_greeted(void **state)
{
    scene_t *scene = *state;
    size_t held;

    scene_open_ready(scene);
    held = fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "HELLO", .connection = 2, .then = FAKE_HOLD});
    reconnect(scene);
    WAIT_FOR(fake_server_hits(scene->server, held) == 1);
    fake_server_cut_one(scene->server, 1, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).ready == 2);
    fake_server_release(scene->server);
    incr(scene);
    assert_int_equal(commands_on(scene, 3), 1);
    assert_int_equal(scene_stats(scene).losses, 1);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
}

static void test_the_present_one_is_lost_while_it_drains(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3);

    scene_open_ready(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .argument = "k",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[0]);
    WAIT_FOR(commands_on(scene, 1) == 1);
    reconnect(scene);
    WAIT_FOR(fake_server_received(scene->server, 2, FAKE_FENCE, NULL) == 1);
    scene_submit(scene, WORDS("GET", "other"), NULL, &outcomes[1]);
    fake_server_cut_one(scene->server, 1, FAKE_CUT_RESET);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(scene_stats(scene).losses, 1);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
}

/* ---- what else happens meanwhile ---- */

static void test_a_unit_stays_together(void **state)
{
    enum { COMMANDS = 300 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3 * COMMANDS);
    outcome_series_t *series = scene_alloc(scene, COMMANDS * sizeof *series);
    shoal_call_t together = SHOAL_CALL_INIT;

    together.flags = SHOAL_CALL_CONTIGUOUS;
    scene_open_ready(scene);
    for (int i = 0; i < COMMANDS; i++) {
        const shoal_command_t unit[] = {WORDS("MULTI"), WORDS("INCR", "k"),
                                        WORDS("EXEC")};
        series[i] = (outcome_series_t){&outcomes[3 * i], 0, 3};
        assert_int_equal(shoal_client_submit_many(scene->client, unit, 3, &together,
                                                  outcome_series_cb, &series[i], NULL),
                         0);
        if (i == COMMANDS / 2)
            reconnect(scene);
    }
    for (int i = 0; i < 3 * COMMANDS; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), COMMANDS);
}

/* Both connections are renewed. */
static void test_the_bulk_lane(void **state)
{
    scene_t *scene = *state;
    shoal_call_t bulk = SHOAL_CALL_INIT;
    outcome_t outcome;

    bulk.flags = SHOAL_CALL_BULK;
    scene_open_ready(scene);
    outcome = scene_call(scene, WORDS("SET", "k", "v"), &bulk);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    WAIT_FOR(scene_events(scene).ready == 2);
    reconnect(scene);
    WAIT_FOR(scene_events(scene).ready == 4);
    outcome = scene_call(scene, WORDS("GET", "k"), &bulk);
    scene_check_text(&outcome, "v");
    assert_int_equal(scene_events(scene).lost, 0);
}

static void test_closing_meanwhile(void **state)
{
    scene_t *scene = *state;
    size_t held;

    scene_open_ready(scene);
    held = fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "HELLO", .connection = 2, .then = FAKE_HOLD});
    reconnect(scene);
    WAIT_FOR(fake_server_hits(scene->server, held) == 1);
    scene_close(scene, 1000000);
    fake_server_release(scene->server);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
}

/* A thread that waits in a blocking call drives the loop, and the successor with it. */
static void test_a_direct_caller(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    reconnect(scene);
    while (scene_events(scene).ready < 2)
        lone_caller_echo(scene, "x");
    lone_caller_become_direct(scene);
    assert_int_equal(scene_events(scene).lost, 0);
}

static void test_a_borrowed_client(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    while (scene_events(scene).ready < 1)
        assert_int_equal(shoal_client_step(scene->client, 1000000), 0);
    reconnect(scene);
    while (scene_events(scene).ready < 2)
        assert_int_equal(shoal_client_step(scene->client, 1000000), 0);
    assert_int_equal(scene_events(scene).lost, 0);
    assert_int_equal(shoal_client_close(scene->client, 0, NULL, NULL), 0);
    while (shoal_client_step(scene->client, SHOAL_TIMEOUT_NEVER) == 0)
        continue;
    shoal_client_release(scene->client);
    scene->client = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_commands_do_not_wait_for_the_successor),
        SCENE_TEST(test_commands_that_may_not_wait_need_not),
        SCENE_TEST(test_what_is_not_answered_in_time),
        SCENE_TEST(test_what_cannot_be_ended),
        SCENE_TEST(test_a_successor_that_is_refused),
        SCENE_TEST(test_a_successor_that_is_not_answered),
        SCENE_TEST(test_a_successor_whose_credentials_are_rejected),
        SCENE_TEST(test_a_successor_that_dies_at_each_byte),
        SCENE_TEST(test_a_successor_that_talks_unasked),
        SCENE_TEST(test_the_present_one_is_lost_while_the_successor_is_greeted),
        SCENE_TEST(test_the_present_one_is_lost_while_it_drains),
        SCENE_TEST(test_a_unit_stays_together),
        SCENE_TEST(test_the_bulk_lane),
        SCENE_TEST(test_closing_meanwhile),
        SCENE_TEST(test_a_direct_caller),
        SCENE_TEST(test_a_borrowed_client),
    };
    return cmocka_run_group_tests_name("successor", tests, NULL, NULL);
}
