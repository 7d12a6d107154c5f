/* SPDX-License-Identifier: MIT */
/* Several connections beside a server that holds one of them up, or loses it. */
#include "support/scene.h"

#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define CONNECTIONS 3

/* A key of the connection with this number at the server. */
static const char *key_of(scene_t *scene, unsigned connection)
{
    char *key = scene_alloc(scene, 16);

    for (unsigned i = 0;; i++) {
        snprintf(key, 16, "k%u", i);
        outcome_t outcome = scene_call(scene, WORDS("SET", key, "v"), NULL);
        assert_int_equal(outcome.status, 0);
        if (fake_server_executed(scene->server, connection, "SET", key) > 0)
            return key;
    }
}

/* What the tests want to know.  The first connection has the commands without a key. */
typedef struct cast {
    unsigned first, second, third; /* numbers at the server */
    const char *a, *b, *c;         /* keys of each */
} cast_t;

static cast_t open_many(scene_t *scene)
{
    cast_t cast = {0};

    assert_int_equal(shoal_options_set_connections(scene->options, CONNECTIONS), 0);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "MSET", .reply = "+OK\r\n"});
    scene_open_ready(scene);
    WAIT_FOR(scene_events(scene).ready == CONNECTIONS);
    assert_int_equal(fake_server_accepted(scene->server), CONNECTIONS);
    scene_call(scene, WORDS("ECHO", "first"), NULL);
    for (unsigned i = 1; i <= CONNECTIONS; i++)
        if (fake_server_executed(scene->server, i, "ECHO", "first") > 0)
            cast.first = i;
    cast.second = cast.first == 1 ? 2 : 1;
    cast.third = 6 - cast.first - cast.second;
    cast.a = key_of(scene, cast.first);
    cast.b = key_of(scene, cast.second);
    cast.c = key_of(scene, cast.third);
    return cast;
}

/* The rule acts on GETs of this key: nothing more is written there until the release. */
static void hold(scene_t *scene, const char *key, unsigned connection)
{
    fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                   .argument = key,
                                                   .connection = connection,
                                                   .times = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
}

static size_t received(scene_t *scene, const char *command)
{
    return fake_server_received(scene->server, 0, command, NULL);
}

static void test_one_that_hangs_holds_no_other_up(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 1);
    cast_t cast = open_many(scene);

    hold(scene, cast.b, cast.second);
    scene_submit(scene, WORDS("GET", cast.b), NULL, outcomes);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(scene_call(scene, WORDS("GET", cast.a), NULL).status, 0);
        assert_int_equal(scene_call(scene, WORDS("GET", cast.c), NULL).status, 0);
        assert_int_equal(scene_call(scene, WORDS("ECHO", "x"), NULL).status, 0);
    }
    assert_int_equal(outcomes->calls, 0);
    fake_server_release(scene->server);
    scene_check_text(outcomes, "v");
}

static void test_one_that_is_lost_holds_no_other_up(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    cast_t cast = open_many(scene);

    fake_server_refuse(scene->server, true);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "SET",
                                                   .argument = cast.b,
                                                   .is_swallowed = true,
                                                   .times = 1,
                                                   .then = FAKE_RESET});
    scene_submit(scene, WORDS("SET", cast.b, "1"), NULL, &outcomes[0]);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_submit(scene, WORDS("GET", cast.b), NULL, &outcomes[1]);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(scene_call(scene, WORDS("GET", cast.a), NULL).status, 0);
        assert_int_equal(scene_call(scene, WORDS("GET", cast.c), NULL).status, 0);
    }
    assert_int_equal(outcomes[1].calls, 0);
    assert_true(shoal_client_wait_ready(scene->client, 1000) < 0);
    fake_server_refuse(scene->server, false);
    scene_check_text(&outcomes[1], "1");
    assert_int_equal(fake_server_accepted(scene->server), CONNECTIONS + 1);
}

static void test_keys_of_several_wait_for_all_answers(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 4);
    cast_t cast = open_many(scene);

    hold(scene, cast.b, cast.second);
    scene_submit(scene, WORDS("GET", cast.b), NULL, &outcomes[0]);
    scene_submit(scene, WORDS("MSET", cast.a, "1", cast.c, "1"), NULL, &outcomes[1]);
    scene_submit(scene, WORDS("STRLEN", cast.a), NULL, &outcomes[2]);
    scene_submit(scene, WORDS("STRLEN", cast.b), NULL, &outcomes[3]);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(scene_call(scene, WORDS("ECHO", "x"), NULL).status, 0);
    assert_int_equal(received(scene, "MSET"), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "STRLEN", cast.a), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "STRLEN", cast.b), 1);
    fake_server_release(scene->server);
    for (unsigned i = 0; i < 4; i++)
        scene_await(&outcomes[i]);
    assert_true(outcomes[1].order < outcomes[2].order);
    assert_int_equal(fake_server_received(scene->server, cast.first, "MSET", NULL), 1);
    assert_int_equal(scene_stats(scene).bulk, 2);
}

/* The server may still run what the lost connection carried, until its successor is greeted,
 * which ends it. */
static void test_keys_of_several_wait_for_the_successor(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    cast_t cast = open_many(scene);

    fake_server_refuse(scene->server, true);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "SET",
                                                   .argument = cast.b,
                                                   .is_swallowed = true,
                                                   .times = 1,
                                                   .then = FAKE_RESET});
    scene_submit(scene, WORDS("SET", cast.b, "1"), NULL, &outcomes[0]);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_submit(scene, WORDS("MSET", cast.a, "1", cast.b, "1"), NULL, &outcomes[1]);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(scene_call(scene, WORDS("ECHO", "x"), NULL).status, 0);
    assert_int_equal(received(scene, "MSET"), 0);
    fake_server_refuse(scene->server, false);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, cast.first, "MSET", NULL), 1);
}

static void test_keys_of_a_lost_command_wait_for_the_successor(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    cast_t cast = open_many(scene);

    fake_server_forget_rules(scene->server);
    fake_server_refuse(scene->server, true);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "MSET",
                                                   .is_swallowed = true,
                                                   .times = 1,
                                                   .then = FAKE_RESET});
    scene_submit(scene, WORDS("MSET", cast.a, "1", cast.b, "1"), NULL, &outcomes[0]);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_submit(scene, WORDS("STRLEN", cast.b), NULL, &outcomes[1]);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(scene_call(scene, WORDS("GET", cast.c), NULL).status, 0);
    assert_int_equal(received(scene, "STRLEN"), 0);
    fake_server_refuse(scene->server, false);
    scene_await(&outcomes[1]);
    assert_int_equal(outcomes[1].status, 0);
}

static void test_a_blocking_command_waits_for_all_answers(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    cast_t cast = open_many(scene);

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    hold(scene, cast.c, cast.third);
    scene_submit(scene, WORDS("GET", cast.c), NULL, &outcomes[0]);
    scene_submit(scene, WORDS("BLPOP", "q", "1"), NULL, &outcomes[1]);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(scene_call(scene, WORDS("ECHO", "x"), NULL).status, 0);
    assert_int_equal(received(scene, "BLPOP"), 0);
    fake_server_release(scene->server);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
}

static void test_nothing_waits_where_nothing_may(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    assert_int_equal(shoal_options_set_offline_mode(scene->options, SHOAL_OFFLINE_FAIL),
                     0);
    cast_t cast = open_many(scene);
    fake_server_refuse(scene->server, true);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "SET",
                                                   .argument = cast.b,
                                                   .is_swallowed = true,
                                                   .times = 1,
                                                   .then = FAKE_RESET});
    scene_submit(scene, WORDS("SET", cast.b, "1"), NULL, &outcomes[0]);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_submit(scene, WORDS("MSET", cast.a, "1", cast.c, "1"), NULL, &outcomes[1]);
    scene_check(&outcomes[1], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(scene_call(scene, WORDS("GET", cast.a), NULL).status, 0);
    assert_int_equal(received(scene, "MSET"), 0);
    fake_server_refuse(scene->server, false);
}

/* Where the ledger has this command first; connection 0: on any. */
static size_t find(scene_t *scene, unsigned connection, const char *command)
{
    size_t size = fake_server_ledger_size(scene->server), at = 0;

    for (; at < size; at++) {
        fake_entry_t entry = fake_server_ledger_at(scene->server, at);
        if (strcmp(entry.args[0], command) == 0 &&
            (connection == 0 || entry.connection == connection))
            break;
    }
    assert_true(at < size);
    return at;
}

/* One connection meets another process: the others follow it there, and keys of several wait
 * for that. */
static void test_all_follow_to_another_server(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    cast_t cast = open_many(scene);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INFO", .reply = "$13\r\nrun_id:beef\r\n\r\n"});
    hold(scene, cast.c, cast.third); /* it is renewed when that is answered */
    scene_submit(scene, WORDS("GET", cast.c), NULL, &outcomes[0]);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                   .argument = cast.b,
                                                   .connection = cast.second,
                                                   .is_cut = true,
                                                   .then = FAKE_RESET});
    assert_int_equal(scene_call(scene, WORDS("GET", cast.b), NULL).status, 0);
    WAIT_FOR(fake_server_accepted(scene->server) >= CONNECTIONS + 2);
    scene_submit(scene, WORDS("MSET", cast.a, "1", cast.b, "1"), NULL, &outcomes[1]);
    fake_server_release(scene->server);
    scene_check_text(&outcomes[0], "v");
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_accepted(scene->server), 2 * CONNECTIONS);
    assert_true(find(scene, 0, "MSET") > find(scene, 2 * CONNECTIONS, "INFO"));
    assert_string_equal(scene_events(scene).renewed,
                        "renewed, because another connection of the client leads to "
                        "another server process");
}

/* The successor of one meets another process, and then the others meet the first one: all are
 * together when that successor was replaced, after a pause. */
static void test_keys_of_several_wait_until_all_are_together(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    cast_t cast = open_many(scene);
    unsigned astray = CONNECTIONS + 1, last = 2 * CONNECTIONS + 1;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INFO",
                                    .connection = astray,
                                    .reply = "$13\r\nrun_id:beef\r\n\r\n"});
    fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                   .argument = cast.b,
                                                   .connection = cast.second,
                                                   .is_cut = true,
                                                   .then = FAKE_RESET});
    assert_int_equal(scene_call(scene, WORDS("GET", cast.b), NULL).status, 0);
    WAIT_FOR(scene_events(scene).ready >= 2 * CONNECTIONS);
    scene_submit(scene, WORDS("MSET", cast.a, "1", cast.b, "1"), NULL, outcome);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_accepted(scene->server), last);
    assert_true(find(scene, 0, "MSET") > find(scene, last, "INFO"));
}

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    (void)leaf, (void)data;
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    (void)type, (void)count, (void)data;
}

static void on_end(void *data)
{
    (void)data;
}

/* A command on a leased connection of its own, in a call that goes to another home. */
static void test_a_leased_command_of_a_call_has_one_attempt(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    const shoal_sink_t sink = {on_leaf, on_begin, on_end, on_end};
    shoal_call_t together = SHOAL_CALL_INIT;
    cast_t cast = open_many(scene);
    const char *keys[] = {cast.a, cast.b, cast.c};

    together.sink =
        &sink; /* so the commands take one connection, the leased one aside */
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        const shoal_command_t commands[] = {WORDS("GET", keys[i]),
                                            WORDS("BLPOP", "q", "1")};
        scene_call_many(scene, commands, 2, &together, outcomes);
        assert_int_equal(outcomes[1].status, 0);
        assert_int_equal(outcomes[0].attempts, 1);
        assert_int_equal(outcomes[1].attempts, 1);
    }
}

/* The successor of one meets another process, and another one is lost and is not greeted: the
 * two that are there do not wait for it to be together, and the loop sleeps meanwhile. */
static void test_those_that_are_there_meet_without_the_lost_one(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    cast_t cast = open_many(scene);

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INFO",
                                    .connection = CONNECTIONS + 1,
                                    .reply = "$13\r\nrun_id:beef\r\n\r\n"});
    fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                   .argument = cast.b,
                                                   .connection = cast.second,
                                                   .is_cut = true,
                                                   .then = FAKE_RESET});
    assert_int_equal(scene_call(scene, WORDS("GET", cast.b), NULL).status, 0);
    WAIT_FOR(scene_events(scene).ready >= 2 * CONNECTIONS);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                   .connection = 2 * CONNECTIONS + 1,
                                                   .then = FAKE_HOLD});
    fake_server_cut_one(scene->server, 2 * CONNECTIONS, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).ready == 2 * CONNECTIONS + 1);
    assert_int_equal(fake_server_accepted(scene->server), 2 * CONNECTIONS + 2);
    assert_true(scene_stats(scene).turns < 50000);
    fake_server_release(scene->server);
    scene_submit(scene, WORDS("MSET", cast.a, "1", cast.b, "1"), NULL, outcome);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
}

/* While the homes differ, the first one may lead where the lane does: what is behind a command
 * of the lane stays there. */
static void test_the_lane_keeps_its_order_while_homes_differ(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3);
    shoal_call_t bulk = SHOAL_CALL_INIT;
    unsigned lane = CONNECTIONS + 1, astray = CONNECTIONS + 2;

    bulk.flags = SHOAL_CALL_BULK;
    assert_int_equal(shoal_options_set_bulk_lane(scene->options, true), 0);
    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 100, 1, 1048576),
                     0);
    cast_t cast = open_many(scene);
    assert_int_equal(scene_call(scene, WORDS("SET", cast.a, "v"), &bulk).status, 0);
    WAIT_FOR(scene_events(scene).ready == lane);
    WAIT_FOR((scene_call(scene, WORDS("SET", cast.a, "v"), &bulk),
              fake_server_received(scene->server, lane, "SET", cast.a) > 0));
    size_t held = fake_server_rule(scene->server, &(fake_rule_t){.command = "SET",
                                                                 .connection = lane,
                                                                 .is_cut = true,
                                                                 .then = FAKE_HOLD});
    scene_submit(scene, WORDS("SET", cast.a, "1"), &bulk, &outcomes[0]);
    scene_submit(scene, WORDS("GET", cast.a), NULL, &outcomes[1]);
    WAIT_FOR(fake_server_hits(scene->server, held) > 0);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INFO",
                                    .connection = astray,
                                    .reply = "$13\r\nrun_id:beef\r\n\r\n"});
    fake_server_cut_one(scene->server, cast.second, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).ready >= astray + CONNECTIONS - 1);
    scene_submit(scene, WORDS("ECHO", "x"), NULL, &outcomes[2]);
    scene_check_text(&outcomes[2], "x");
    assert_int_equal(fake_server_received(scene->server, 0, "GET", cast.a), 0);
    fake_server_release(scene->server);
    scene_check_text(&outcomes[1], "1");
    assert_int_equal(fake_server_received(scene->server, lane, "GET", cast.a), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_one_that_hangs_holds_no_other_up),
        SCENE_TEST(test_one_that_is_lost_holds_no_other_up),
        SCENE_TEST(test_keys_of_several_wait_for_all_answers),
        SCENE_TEST(test_keys_of_several_wait_for_the_successor),
        SCENE_TEST(test_keys_of_a_lost_command_wait_for_the_successor),
        SCENE_TEST(test_a_blocking_command_waits_for_all_answers),
        SCENE_TEST(test_a_leased_command_of_a_call_has_one_attempt),
        SCENE_TEST(test_nothing_waits_where_nothing_may),
        SCENE_TEST(test_all_follow_to_another_server),
        SCENE_TEST(test_keys_of_several_wait_until_all_are_together),
        SCENE_TEST(test_those_that_are_there_meet_without_the_lost_one),
        SCENE_TEST(test_the_lane_keeps_its_order_while_homes_differ),
    };
    return cmocka_run_group_tests_name("fault/homes", tests, NULL, NULL);
}
