/* SPDX-License-Identifier: MIT */
/* A deadline that passed says which stage took the time, and why.  Which text belongs to
 * which stage is core/overdue's and core/pipe/pipe_overdue's unit tests. */
#include "support/scene.h"

#include <shoal/integrity.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

static const shoal_call_t hasty = {.size = sizeof hasty, .timeout_us = 50000};

static void expect_offline(scene_t *scene, const char *cause)
{
    char beginning[64];
    outcome_t outcome;

    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    outcome = scene_call(scene, WORDS("INCR", "k"), &hasty);
    scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_true(outcome.is_offline);
    snprintf(beginning, sizeof beginning, "no connection to 127.0.0.1:%d for ",
             fake_server_port(scene->server));
    if (strncmp(outcome.detail, beginning, strlen(beginning)) != 0 ||
        !strstr(outcome.detail, cause) || !strstr(outcome.detail, " attempt") ||
        !strstr(outcome.detail, "; the command was never sent"))
        fail_msg("%s", outcome.detail);
}

static void test_nothing_listens(void **state)
{
    scene_t *scene = *state;

    fake_server_refuse(scene->server, true);
    scene_open(scene);
    expect_offline(scene, "s: Connection refused (");
}

static void test_strict_without_the_right_to_echo(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = FAKE_FENCE,
                                    .reply = "-NOPERM this user has no permissions to "
                                             "run the 'echo' command\r\n"});
    assert_int_equal(
        shoal_options_set_integrity(scene->options, SHOAL_INTEGRITY_STRICT), 0);
    scene_open(scene);
    expect_offline(scene, "ECHO: NOPERM this user");
}

static void test_too_many_clients(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = FAKE_ON_ACCEPT,
                                    .reply = "-ERR max number of clients reached\r\n",
                                    .then = FAKE_FIN});
    scene_open(scene);
    expect_offline(scene, "ERR max number of clients reached");
}

/* The server hangs up on HELLO.  The client tests whether it answers a greeting without
 * HELLO: that connection was never ready, and is one more attempt that failed. */
static void test_an_outage_goes_on_while_hello_is_doubted(void **state)
{
    scene_t *scene = *state;
    shoal_stats_t stats;

    scene_serve(scene, &(fake_config_t){.identity.kind = FAKE_BARE});
    fake_server_rule(scene->server, &(fake_rule_t){.command = "PING",
                                                   .connection = 4,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    assert_int_equal(
        shoal_options_set_connect_timeout_us(scene->options, 60000000, 60000000), 0);
    scene_open(scene);
    WAIT_FOR(fake_server_received(scene->server, 4, "PING", NULL) == 1);
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), &hasty);
    scene_check(&outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    if (!strstr(outcome.detail, " (3 attempts); the command was never sent"))
        fail_msg("%s", outcome.detail);
    stats = scene_stats(scene);
    assert_int_equal(stats.attempts_failed, 3);
    assert_int_equal(stats.settled + stats.unsettled, 0);
    fake_server_release(scene->server);
    scene_check_works(scene);
    stats = scene_stats(scene);
    assert_int_equal(stats.settled + stats.unsettled, stats.connects);
}

/* What is told agrees with the fate, however far the command came. */
static void test_a_server_that_does_not_answer(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    fake_server_freeze(scene->server);
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), &hasty);
    assert_int_equal(outcome.status, SHOAL_ETIMEOUT);
    assert_false(outcome.is_offline);
    if (outcome.fate == SHOAL_FATE_UNKNOWN)
        assert_non_null(strstr(outcome.detail, "ago and not answered"));
    else
        assert_non_null(strstr(outcome.detail, "; the command was never sent"));
}

/* Its callback lasts until it is told to end. */
static void hold_the_loop(shoal_client_t *client, const shoal_result_t *result,
                          void *data)
{
    _Atomic int *step = data;
    (void)client;
    (void)result;
    *step = 1;
    while (*step != 2)
        waiting_sleep_us(200);
}

static void test_the_loop_thread_is_busy(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t short_call = {.size = sizeof short_call, .timeout_us = 1000};
    const char *const argv[] = {"PING"};
    _Atomic int *step = scene_alloc(scene, sizeof *step);
    outcome_t *outcome = scene_outcomes(scene, 1);

    scene_open_ready(scene);
    assert_int_equal(shoal_client_submit(scene->client, 1, argv, NULL, hold_the_loop,
                                         (void *)step, NULL),
                     0);
    WAIT_FOR(*step == 1);
    scene_submit(scene, WORDS("INCR", "k"), &short_call, outcome);
    for (uint64_t end_us = waiting_now_us() + 2000; waiting_now_us() < end_us;)
        waiting_sleep_us(200);
    *step = 2;
    scene_await(outcome);
    scene_check(outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_non_null(strstr(outcome->detail, "the loop thread was busy and did not take "
                                            "the command over within "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_nothing_listens),
        SCENE_TEST(test_strict_without_the_right_to_echo),
        SCENE_TEST(test_too_many_clients),
        SCENE_TEST(test_an_outage_goes_on_while_hello_is_doubted),
        SCENE_TEST(test_a_server_that_does_not_answer),
        SCENE_TEST(test_the_loop_thread_is_busy),
    };
    return cmocka_run_group_tests_name("fault/overdue", tests, NULL, NULL);
}
