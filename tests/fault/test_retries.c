/* SPDX-License-Identifier: MIT */
/* Which commands are sent again, after what, and which never.  (I3 I4 I13) */
#include "support/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define IDEMPOTENT SHOAL_CALL_IDEMPOTENT
#define ONCE SHOAL_CALL_ONCE
#define MAY_BLOCK SHOAL_CALL_MAY_BLOCK

static shoal_call_t with(uint32_t flags)
{
    return (shoal_call_t){.size = sizeof(shoal_call_t), .flags = flags};
}

/* clang-format off */
static const struct lost_case {
    const char *words[4];
    uint32_t flags;
    bool is_retried;
} lost_cases[] = {
    {{"GET", "k"},                    0,                  true},
    {{"ECHO", "k"},                   0,                  true},
    {{"GET", "k"},                    ONCE,               false},
    {{"INCR", "k"},                   0,                  false},
    {{"INCR", "k"},                   IDEMPOTENT,         true},
    {{"INCR", "k"},                   IDEMPOTENT | ONCE,  false},
    {{"SET", "k", "v"},               0,                  false},
    {{"SET", "k", "v"},               IDEMPOTENT,         true},
    {{"GETDEL", "k"},                 0,                  false},
    {{"EVAL", "return 1", "0"},       0,                  false},
    {{"EVAL", "return 1", "0"},       IDEMPOTENT,         true},
    {{"EVAL_RO", "return 1", "0"},    0,                  true},
    {{"MODULE.UNKNOWN", "k"},         0,                  false},
    {{"MODULE.UNKNOWN", "k"},         IDEMPOTENT,         true},
    {{"BLPOP", "k", "0"},             MAY_BLOCK,          false},
    {{"XREAD", "STREAMS", "k", "0"},  0,                  true},
};
/* clang-format on */

static shoal_command_t command_of(const char *const words[4])
{
    return scene_words(words[0], words[1], words[2], words[2] ? words[3] : NULL, NULL);
}

/* Answered commands refill the allowance of retries, so that no case lacks it. */
static void earn_retries(scene_t *scene)
{
    for (int i = 0; i < 15; i++)
        scene_check_works(scene);
}

/* The connection dies behind an executed command, `cut` bytes into its answer. */
static void check_lost(scene_t *scene, size_t cut)
{
    for (size_t i = 0; i < sizeof lost_cases / sizeof *lost_cases; i++) {
        const struct lost_case *c = &lost_cases[i];
        shoal_call_t call = with(c->flags);

        fake_server_forget_rules(scene->server);
        fake_server_rule(scene->server, &(fake_rule_t){.command = c->words[0],
                                                       .times = 1,
                                                       .reply = "$4\r\nlost\r\n",
                                                       .is_executed = true,
                                                       .is_cut = true,
                                                       .cut_bytes = cut,
                                                       .then = FAKE_RESET});
        fake_server_rule(scene->server, &(fake_rule_t){.command = c->words[0],
                                                       .reply = "-again\r\n",
                                                       .is_executed = true});
        size_t before = fake_server_executed(scene->server, 0, c->words[0], NULL);
        outcome_t outcome = scene_call(scene, command_of(c->words), &call);
        shoal_fate_t fate = cut ? SHOAL_FATE_REPLY_LOST : SHOAL_FATE_UNKNOWN;
        bool is_good =
            c->is_retried ? outcome.status == 0 && strcmp(outcome.text, "again") == 0 &&
                                outcome.attempts == 2
                          : outcome.status == SHOAL_ECONN && outcome.fate == fate &&
                                outcome.attempts == 1;
        size_t executed =
            fake_server_executed(scene->server, 0, c->words[0], NULL) - before;
        fake_server_forget_rules(scene->server);
        earn_retries(scene);
        if (!is_good || executed != (c->is_retried ? 2u : 1u))
            fail_msg("%s, flags %u: executed %zu times, %s", c->words[0], c->flags,
                     executed, outcome_describe(&outcome));
    }
}

static void test_lost_before_the_reply(void **state)
{
    scene_open_ready(*state);
    check_lost(*state, 0);
}

static void test_lost_within_the_reply(void **state)
{
    scene_open_ready(*state);
    check_lost(*state, 6);
}

static void test_attempts_are_bounded(void **state)
{
    scene_t *scene = *state;

    for (int attempts_max = 1; attempts_max <= 4; attempts_max++) {
        scene_serve(scene, NULL);
        assert_int_equal(shoal_options_set_attempts_max(scene->options, attempts_max),
                         0);
        fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                       .is_executed = true,
                                                       .is_cut = true,
                                                       .then = FAKE_RESET});
        scene_open_ready(scene);
        outcome_t outcome = scene_call(scene, WORDS("GET", "k"), NULL);
        scene_check(&outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
        assert_int_equal(outcome.attempts, attempts_max);
        assert_int_equal(fake_server_executed(scene->server, 0, "GET", NULL),
                         attempts_max);
        scene_check_works(scene);
        scene_close(scene, 0);
    }
}

/* However many fail, the retries are a small part of the load. */
static void test_retries_are_budgeted(void **state)
{
    enum { COUNT = 40 };
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                   .is_executed = true,
                                                   .is_cut = true,
                                                   .then = FAKE_RESET});
    scene_open_ready(scene);
    for (int i = 0; i < COUNT; i++) {
        outcome_t outcome = scene_call(scene, WORDS("GET", "k"), NULL);
        scene_check(&outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    }
    size_t executed = fake_server_executed(scene->server, 0, "GET", NULL);
    assert_true(executed >= COUNT);
    assert_true(executed <= COUNT + 10); /* without a budget: 3 * COUNT */
}

/* An attempt that may have been executed is not forgotten by a later one that was
 * not. */
static void test_maybe_is_sticky(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = with(IDEMPOTENT);
    outcome_t *outcome = scene_outcomes(scene, 1);

    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_RESET});
    for (unsigned connection = 2; connection < 50; connection++)
        fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                       .connection = connection,
                                                       .is_cut = true,
                                                       .then = FAKE_HOLD});
    scene_open_ready(scene);
    uint64_t ticket = scene_submit(scene, WORDS("INCR", "k"), &call, outcome);
    WAIT_FOR(fake_server_received(scene->server, 2, "HELLO", NULL) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
    assert_int_equal(outcome->attempts, 1);
    assert_int_equal(fake_server_executed(scene->server, 0, "INCR", NULL), 1);
}

typedef enum error_answer { SURFACE, AGAIN, REDIAL } error_answer_t;

/* clang-format off */
static const struct error_case { /* each with a client of its own */
    const char *error;
    const char *words[4];
    uint32_t flags;
    error_answer_t answer;
} error_cases[] = {
    {"-LOADING Redis is loading\r\n",     {"GET", "k"},            0,    AGAIN},
    {"-LOADING Redis is loading\r\n",     {"INCR", "k"},           0,    AGAIN},
    {"-LOADING Redis is loading\r\n",     {"SET", "k", "v"},       0,    AGAIN},
    {"-TRYAGAIN Multiple keys\r\n",       {"INCR", "k"},           0,    AGAIN},
    {"-CLUSTERDOWN Hash slot\r\n",        {"INCR", "k"},           0,    AGAIN},
    {"-MASTERDOWN Link with\r\n",         {"GET", "k"},            0,    AGAIN},
    {"-LOADING Redis is loading\r\n",     {"INCR", "k"},           ONCE, SURFACE},
    {"-LOADING Redis is loading\r\n",     {"EVAL", "x", "0"},      0,    SURFACE},
    {"-TRYAGAIN Multiple keys\r\n",       {"FCALL", "x", "0"},     0,    SURFACE},
    {"-LOADING Redis is loading\r\n",     {"MODULE.UNKNOWN", "k"}, 0,    SURFACE},
    {"-READONLY You can't write\r\n",     {"INCR", "k"},           0,    REDIAL},
    {"-READONLY You can't write\r\n",     {"INCR", "k"},           ONCE, SURFACE},
    {"-READONLY You can't write\r\n",     {"EVAL", "x", "0"},      0,    SURFACE},
    {"-NOAUTH Authentication\r\n",        {"INCR", "k"},           0,    REDIAL},
    {"-BUSY Redis is busy\r\n",           {"INCR", "k"},           0,    SURFACE},
    {"-OOM command not allowed\r\n",      {"INCR", "k"},           0,    SURFACE},
    {"-MISCONF Redis is\r\n",             {"INCR", "k"},           0,    SURFACE},
    {"-NOREPLICAS Not enough\r\n",        {"INCR", "k"},           0,    SURFACE},
    {"-NOPERM this user\r\n",             {"INCR", "k"},           0,    SURFACE},
    {"-WRONGTYPE Operation\r\n",          {"GET", "k"},            0,    SURFACE},
    {"-MOVED 1 10.255.255.1:6379\r\n",    {"EVAL", "x", "0"},      0,    SURFACE},
    {"-ERR unknown\r\n",                  {"GET", "k"},            0,    SURFACE},
    {"-LOADINGX Redis\r\n",               {"GET", "k"},            0,    SURFACE},
    {"-loading Redis\r\n",                {"GET", "k"},            0,    SURFACE},
};
/* clang-format on */

static void check_error(scene_t *scene, const struct error_case *c)
{
    shoal_call_t call = with(c->flags);

    scene_open_ready(scene);
    unsigned accepted = fake_server_accepted(scene->server);
    size_t rule = fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = c->words[0], .times = 1, .reply = c->error});
    fake_server_rule(scene->server, &(fake_rule_t){.command = c->words[0],
                                                   .reply = "-again\r\n",
                                                   .is_executed = true});
    outcome_t outcome = scene_call(scene, command_of(c->words), &call);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(fake_server_hits(scene->server, rule), 1);
    /* What was refused for a while is no attempt, unless it cost a connection. */
    unsigned attempts = strncmp(c->error, "-NOAUTH", 7) == 0 ? 2 : 1;
    bool is_good =
        c->answer == SURFACE
            ? outcome.type == SHOAL_REPLY_ERROR && outcome.attempts == 1 &&
                  strncmp(outcome.text, c->error + 1, outcome.bytes) == 0
            : strcmp(outcome.text, "again") == 0 && outcome.attempts == attempts;
    unsigned dialed = fake_server_accepted(scene->server) - accepted;
    if (!is_good || dialed != (c->answer == REDIAL))
        fail_msg("%.20s for %s, flags %u: %u new connections, %s", c->error,
                 c->words[0], c->flags, dialed, outcome_describe(&outcome));
    fake_server_forget_rules(scene->server);
    scene_check_works(scene);
    scene_close(scene, 0);
}

static void test_error_replies(void **state)
{
    scene_t *scene = *state;

    scene_serve(scene, &(fake_config_t){.identity = {.password = "secret"}});
    assert_int_equal(shoal_options_set_auth(scene->options, NULL, "secret"), 0);
    for (size_t i = 0; i < sizeof error_cases / sizeof *error_cases; i++)
        check_error(scene, &error_cases[i]);
}

/* Without credentials of ours NOAUTH is no surprise. */
static void test_noauth_without_credentials(void **state)
{
    check_error(*state, &(struct error_case){
                            "-NOAUTH Authentication\r\n", {"INCR", "k"}, 0, SURFACE});
}

static void test_an_error_that_never_goes_away(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INCR", .reply = "-LOADING still\r\n"});
    scene_open_ready(scene);
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    if (outcome.status == 0) {
        scene_check_error(&outcome, "LOADING");
        assert_int_equal(outcome.attempts, 1);
    } else { /* the loop's thread did not run just before the deadline */
        scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
        assert_non_null(strstr(outcome.detail, "LOADING still"));
        assert_non_null(strstr(outcome.detail, "the loop thread was busy"));
    }
    assert_true(fake_server_received(scene->server, 0, "INCR", NULL) > 3);
}

/* A primary that becomes a replica, and a primary again: however long it takes, and however
 * many wait for it.  (I13: they ask seldom.) */
static void test_a_switch_of_roles_is_waited_for(void **state)
{
    enum { COUNT = 200 };
    static const char *const errors[] = {"-READONLY no\r\n", "-MASTERDOWN no\r\n"};
    scene_t *scene = *state;

    for (size_t way = 0; way < 2; way++) {
        outcome_t *outcomes = scene_outcomes(scene, COUNT);

        scene_serve(scene, NULL);
        fake_server_rule(scene->server,
                         &(fake_rule_t){.command = "INCR", .reply = errors[way]});
        scene_open_ready(scene);
        for (size_t i = 0; i < COUNT; i++)
            scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]);
        WAIT_FOR(fake_server_received(scene->server, 0, "INCR", NULL) > 6);
        assert_true(fake_server_received(scene->server, 0, "INCR", NULL) < 2 * COUNT);
        fake_server_forget_rules(scene->server);
        for (size_t i = 0; i < COUNT; i++) {
            scene_await(&outcomes[i]);
            scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
            assert_int_equal(outcomes[i].type, SHOAL_REPLY_INTEGER);
            assert_int_equal(outcomes[i].attempts, 1);
        }
        assert_int_equal(fake_server_executed(scene->server, 0, "INCR", NULL), COUNT);
        scene_close(scene, 0);
    }
}

/* What stands below the top level is data. */
static void test_nested_errors_are_data(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "LRANGE",
                                    .reply = "*2\r\n-LOADING no\r\n-READONLY no\r\n"});
    scene_open_ready(scene);
    outcome_t outcome = scene_call(scene, WORDS("LRANGE", "k", "0", "-1"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome.type, SHOAL_REPLY_ARRAY);
    assert_int_equal(fake_server_received(scene->server, 0, "LRANGE", NULL), 1);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

/* Commands that wait for their retry hold nobody up, and can be given up. */
static void test_waiting_for_a_retry(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 20);
    shoal_call_t call = with(0);

    call.timeout_us = 500000;
    assert_int_equal(shoal_options_set_attempts_max(scene->options, 100), 0);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INCR", .reply = "-LOADING still\r\n"});
    scene_open_ready(scene);
    for (size_t i = 0; i < 20; i++)
        scene_submit(scene, WORDS("INCR", "k"), &call, &outcomes[i]);
    for (size_t i = 0; i < 20; i++)
        scene_check_works(scene);
    for (size_t i = 0; i < 20; i++) {
        scene_await(&outcomes[i]);
        bool is_surfaced = outcomes[i].status == 0;
        if (!is_surfaced)
            assert_int_equal(outcomes[i].status, SHOAL_ETIMEOUT);
    }
    assert_int_equal(fake_server_executed(scene->server, 0, "INCR", NULL), 0);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_lost_before_the_reply),
        SCENE_TEST(test_lost_within_the_reply),
        SCENE_TEST(test_attempts_are_bounded),
        SCENE_TEST(test_retries_are_budgeted),
        SCENE_TEST(test_maybe_is_sticky),
        SCENE_TEST(test_error_replies),
        SCENE_TEST(test_noauth_without_credentials),
        SCENE_TEST(test_an_error_that_never_goes_away),
        SCENE_TEST(test_a_switch_of_roles_is_waited_for),
        SCENE_TEST(test_nested_errors_are_data),
        SCENE_TEST(test_waiting_for_a_retry),
    };
    return cmocka_run_group_tests_name("fault/retries", tests, NULL, NULL);
}
