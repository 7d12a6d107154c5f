/* SPDX-License-Identifier: MIT */
/* The first words on a connection, with servers that answer in every way.  I12: no
 * command of a user precedes the end of the greeting. */
#include "support/scene.h"

#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* Index of the first entry of the ledger with this command, or its size. */
static size_t find_entry(scene_t *scene, unsigned connection, const char *command)
{
    size_t size = fake_server_ledger_size(scene->server);

    for (size_t i = 0; i < size; i++) {
        fake_entry_t entry = fake_server_ledger_at(scene->server, i);
        if (entry.connection == connection && strcmp(entry.args[0], command) == 0)
            return i;
    }
    return size;
}

static void test_resp3_is_agreed_on(void **state)
{
    scene_t *scene = *state;

    scene_open(scene);
    outcome_t nil = scene_call(scene, WORDS("GET", "missing"), NULL);
    scene_check(&nil, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(nil.type, SHOAL_REPLY_NIL);
    scene_check_works(scene);

    fake_entry_t first = fake_server_ledger_at(scene->server, 0);
    assert_string_equal(first.args[0], "HELLO");
    assert_string_equal(first.args[1], "3");
    assert_int_equal(first.argc, 2); /* no credentials, so no AUTH */
    assert_int_equal(fake_server_received(scene->server, 0, "AUTH", NULL), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "SELECT", NULL), 0);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_protocol_2_on_request(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_protocol(scene->options, 2), 0);
    scene_open(scene);
    scene_check_works(scene);
    assert_int_equal(fake_server_received(scene->server, 0, "HELLO", "3"), 0);
}

static void test_a_server_without_hello_gets_protocol_2(void **state)
{
    scene_t *scene = *state;

    scene_serve(scene, &(fake_config_t){.identity.kind = FAKE_RESP2});
    scene_open(scene);
    scene_check_works(scene);
    outcome_t nil = scene_call(scene, WORDS("GET", "missing"), NULL);
    assert_int_equal(nil.type, SHOAL_REPLY_NIL); /* $-1 */
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_noproto_is_met_with_protocol_2(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "HELLO",
                       .argument = "3",
                       .reply = "-NOPROTO unsupported protocol version\r\n"});
    scene_open(scene);
    scene_check_works(scene);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_a_server_that_hangs_up_on_hello_gets_a_bare_greeting(void **state)
{
    scene_t *scene = *state;

    scene_serve(scene, &(fake_config_t){.identity.kind = FAKE_BARE});
    scene_open(scene);
    scene_check_works(scene);
    unsigned last = fake_server_accepted(scene->server);
    assert_true(last > 1);
    assert_int_equal(fake_server_received(scene->server, last, "HELLO", NULL), 0);
    assert_int_equal(fake_server_received(scene->server, last, "CLIENT", NULL), 0);
    /* A bare greeting is a PING; it was tested once, then used. */
    size_t pings = fake_server_received(scene->server, 0, "PING", NULL);
    assert_int_equal(pings, 2);
    assert_int_equal(fake_server_user_commands(scene->server, 0), pings + 1);
}

/* clang-format off */
static const struct auth_case {
    fake_kind_t kind;
    const char *user;
    const char *command, *first; /* how the server must see it */
} auth_cases[] = {
    {FAKE_MODERN, "fish", "HELLO", "3"},
    {FAKE_MODERN, NULL,   "HELLO", "3"},
    {FAKE_RESP2,  "fish", "AUTH",  "fish"},
    {FAKE_RESP2,  NULL,   "AUTH",  "secret-canary"},
};
/* clang-format on */

static void test_credentials(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < sizeof auth_cases / sizeof *auth_cases; i++) {
        const struct auth_case *c = &auth_cases[i];
        scene_serve(scene, &(fake_config_t){.identity = {.kind = c->kind,
                                                         .user = c->user,
                                                         .password = "secret-canary"}});
        assert_int_equal(
            shoal_options_set_auth(scene->options, c->user, "secret-canary"), 0);
        scene_open(scene);
        scene_check_works(scene);
        if (fake_server_executed(scene->server, 1, c->command, c->first) != 1)
            fail_msg("case %zu: no %s %s", i, c->command, c->first);
        assert_int_equal(fake_server_accepted(scene->server), 1);
        scene_close(scene, 0);
    }
}

static void check_rejected(scene_t *scene, fake_kind_t kind)
{
    scene_serve(scene,
                &(fake_config_t){.identity = {.kind = kind, .password = "right"}});
    assert_int_equal(shoal_options_set_auth(scene->options, NULL, "secret-canary"), 0);
    scene->events = (scene_events_t){0};
    outcome_t *queued = scene_outcomes(scene, 3);
    scene_open(scene);
    for (size_t i = 0; i < 3; i++)
        scene_submit(scene, WORDS("INCR", "k"), NULL, &queued[i]);
    for (size_t i = 0; i < 3; i++) {
        scene_check(&queued[i], SHOAL_EAUTH, SHOAL_FATE_NOT_EXECUTED);
        assert_int_equal(queued[i].attempts, 0);
        assert_null(strstr(queued[i].detail, "canary"));
    }
    assert_int_equal(shoal_client_wait_ready(scene->client, WAITING_US_MAX),
                     SHOAL_EAUTH);
    scene_events_t events = scene_events(scene);
    assert_true(events.lost_auth >= 1);
    assert_int_equal(events.ready, 0);
    assert_null(strstr(events.detail, "canary"));
    assert_int_equal(fake_server_user_commands(scene->server, 0), 0);
    scene_close(scene, 0);
}

static void test_wrong_password_fails_what_is_queued(void **state)
{
    check_rejected(*state, FAKE_MODERN);
    check_rejected(*state, FAKE_RESP2);
}

static void test_a_password_that_is_missing(void **state)
{
    scene_t *scene = *state;

    scene_serve(scene, &(fake_config_t){.identity = {.password = "right"}});
    outcome_t *queued = scene_outcomes(scene, 1);
    scene_open(scene);
    scene_submit(scene, WORDS("INCR", "k"), NULL, queued);
    scene_check(queued, SHOAL_EAUTH, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(fake_server_user_commands(scene->server, 0), 0);
}

static void test_the_database_is_selected_before_anything_else(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_database(scene->options, 7), 0);
    scene_open_ready(scene);
    for (unsigned connection = 1; connection <= 5; connection++) {
        outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
        scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
        assert_int_equal(outcome.integer, connection);
        size_t selected = find_entry(scene, connection, "SELECT");
        assert_true(selected < find_entry(scene, connection, "INCR"));
        assert_int_equal(fake_server_received(scene->server, connection, "SELECT", "7"),
                         1);
        fake_server_cut(scene->server, connection % 2 ? FAKE_CUT_RESET : FAKE_CUT_FIN);
        WAIT_FOR(scene_events(scene).ready == connection + 1);
    }
    assert_int_equal(fake_server_number(scene->server, 7, "k"), 5);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), 0);
}

static void test_a_database_that_cannot_be_selected(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    assert_int_equal(shoal_options_set_database(scene->options, 99), 0);
    scene_open(scene);
    scene_submit(scene, WORDS("INCR", "k"),
                 &(shoal_call_t){.size = sizeof(shoal_call_t), .timeout_us = 300000},
                 outcome);
    scene_await(outcome);
    assert_true(outcome->status < 0);
    assert_int_equal(outcome->fate, SHOAL_FATE_NOT_EXECUTED);
    WAIT_FOR(scene_events(scene).lost >= 1);
    assert_int_equal(scene_events(scene).ready, 0);
    assert_int_equal(fake_server_user_commands(scene->server, 0), 0);
}

static void test_errors_on_names_are_tolerated(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "CLIENT",
                                    .reply =
                                        "-ERR Unknown subcommand or wrong number of "
                                        "arguments\r\n"});
    assert_int_equal(shoal_options_set_client_name(scene->options, "fish"), 0);
    scene_open_ready(scene);
    scene_check_works(scene);
    assert_true(fake_server_received(scene->server, 1, "CLIENT", "SETNAME") == 1);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_the_name_is_given(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_client_name(scene->options, "fish"), 0);
    scene_open_ready(scene);
    size_t named = find_entry(scene, 1, "CLIENT");
    bool is_named = false;
    for (; named < fake_server_ledger_size(scene->server); named++) {
        fake_entry_t entry = fake_server_ledger_at(scene->server, named);
        is_named = is_named || (strcmp(entry.args[1], "SETNAME") == 0 &&
                                strcmp(entry.args[2], "fish") == 0);
    }
    assert_true(is_named);
}

/* The late answer of a greeting, written by an earlier connection's server, must not
 * meet the commands that follow. */
static void check_late_answer(scene_t *scene, const char *command, const char *argument)
{
    scene_serve(scene, &(fake_config_t){.identity = {.password = "secret"}});
    scene->events = (scene_events_t){0};
    fake_server_rule(scene->server, &(fake_rule_t){.command = command,
                                                   .argument = argument,
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open(scene);
    scene_check_works(scene); /* on the second connection, if the server is fast */
    unsigned accepted = fake_server_accepted(scene->server);
    assert_int_equal(fake_server_user_commands(scene->server, 1), 0);
    assert_true(scene_events(scene).lost_timeout >= 1);
    assert_int_equal(scene_events(scene).lost, scene_events(scene).lost_timeout);
    fake_server_release(scene->server);
    for (size_t i = 0; i < 50; i++)
        scene_check_works(scene);
    assert_int_equal(fake_server_accepted(scene->server), accepted);
    assert_int_equal(fake_server_user_commands(scene->server, 1), 0);
    scene_close(scene, 0);
}

static void test_a_late_answer_kills_the_connection(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_auth(scene->options, NULL, "secret"), 0);
    assert_int_equal(shoal_options_set_database(scene->options, 3), 0);
    assert_int_equal(shoal_options_set_client_name(scene->options, "fish"), 0);
    assert_int_equal(
        shoal_options_set_connect_timeout_us(scene->options, 5000000, 300000), 0);
    check_late_answer(scene, "HELLO", NULL);
    check_late_answer(scene, "SELECT", NULL);
    check_late_answer(scene, "CLIENT", "SETNAME");
    check_late_answer(scene, "CLIENT", "SETINFO");
}

static void test_max_clients_before_any_request(void **state)
{
    scene_t *scene = *state;

    size_t rule = fake_server_rule(
        scene->server, &(fake_rule_t){.command = FAKE_ON_ACCEPT,
                                      .times = 3,
                                      .reply = "-ERR max number of clients reached\r\n",
                                      .then = FAKE_FIN});
    scene_open(scene);
    WAIT_FOR(scene_events(scene).lost >= 1);
    assert_non_null(strstr(scene_events(scene).detail, "max number of clients"));
    scene_check_works(scene);
    assert_int_equal(fake_server_hits(scene->server, rule), 3);
    assert_int_equal(fake_server_user_commands(scene->server, 0), 1);
}

static void test_accept_then_close(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_attempts_max(scene->options, 20), 0);
    for (fake_then_t then = FAKE_FIN; then <= FAKE_RESET; then++) {
        unsigned before = fake_server_accepted(scene->server);
        fake_server_rule(
            scene->server,
            &(fake_rule_t){.command = FAKE_ON_ACCEPT, .times = 4, .then = then});
        scene_open(scene);
        scene_check_works(scene);
        assert_true(fake_server_accepted(scene->server) >= before + 5);
        assert_true(scene_events(scene).lost >= 4);
        scene_close(scene, 0);
    }
}

static const char *const garbage[] = {
    "HTTP/1.1 400 Bad Request\r\n\r\n",
    "\r\n",
    ":1\r\n",
    "$5\r\nhello\r\n",
    "*-2\r\n",
    "%1\r\n+proto\r\n>1\r\n+x\r\n",
    "\x16\x03\x01\x02\r\n",
    "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n",
};

static void test_garbage_for_an_answer(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        scene_serve(scene, NULL);
        scene->events = (scene_events_t){0};
        fake_server_rule(
            scene->server,
            &(fake_rule_t){.command = "HELLO", .connection = 1, .reply = garbage[i]});
        scene_open(scene);
        scene_check_works(scene);
        if (fake_server_accepted(scene->server) != 2 ||
            fake_server_user_commands(scene->server, 1) != 0 ||
            scene_events(scene).lost != 1)
            fail_msg("garbage %zu was taken for an answer", i);
        scene_close(scene, 0);
    }
}

/* A server that is loading will be as good as any other: same protocol, later. */
static void test_loading_during_the_greeting(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "HELLO",
                       .times = 2,
                       .reply = "-LOADING Redis is loading the dataset in memory\r\n"});
    scene_open(scene);
    scene_check_works(scene);
    unsigned last = fake_server_accepted(scene->server);
    assert_int_equal(fake_server_executed(scene->server, last, "HELLO", "3"), 1);
}

/* Cut after every byte that the server says during the greeting. */
static void test_cut_after_every_byte_of_the_answer(void **state)
{
    scene_t *scene = *state;

    for (size_t cut = 1; cut < 150; cut += 7) {
        scene_serve(scene, NULL);
        fake_server_rule(scene->server,
                         &(fake_rule_t){.command = "HELLO",
                                        .connection = 1,
                                        .is_cut = true,
                                        .cut_bytes = cut,
                                        .then = cut % 2 ? FAKE_FIN : FAKE_RESET});
        scene_open(scene);
        scene_check_works(scene);
        assert_int_equal(fake_server_user_commands(scene->server, 1), 0);
        scene_close(scene, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_resp3_is_agreed_on),
        SCENE_TEST(test_protocol_2_on_request),
        SCENE_TEST(test_a_server_without_hello_gets_protocol_2),
        SCENE_TEST(test_noproto_is_met_with_protocol_2),
        SCENE_TEST(test_a_server_that_hangs_up_on_hello_gets_a_bare_greeting),
        SCENE_TEST(test_credentials),
        SCENE_TEST(test_wrong_password_fails_what_is_queued),
        SCENE_TEST(test_a_password_that_is_missing),
        SCENE_TEST(test_the_database_is_selected_before_anything_else),
        SCENE_TEST(test_a_database_that_cannot_be_selected),
        SCENE_TEST(test_errors_on_names_are_tolerated),
        SCENE_TEST(test_the_name_is_given),
        SCENE_TEST(test_a_late_answer_kills_the_connection),
        SCENE_TEST(test_max_clients_before_any_request),
        SCENE_TEST(test_accept_then_close),
        SCENE_TEST(test_garbage_for_an_answer),
        SCENE_TEST(test_loading_during_the_greeting),
        SCENE_TEST(test_cut_after_every_byte_of_the_answer),
    };
    return cmocka_run_group_tests_name("fault/greeting", tests, NULL, NULL);
}
