/* SPDX-License-Identifier: MIT */
/* Commands while there is no connection: they wait for it, or fail at once. */
#include "support/scene.h"

#include <stdio.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* The server goes away, and the client knows. */
static void take_down(scene_t *scene)
{
    unsigned lost = scene_events(scene).lost;

    fake_server_refuse(scene->server, true);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).lost > lost);
}

static void bring_back(scene_t *scene)
{
    unsigned ready = scene_events(scene).ready;

    fake_server_refuse(scene->server, false);
    WAIT_FOR(scene_events(scene).ready > ready);
}

static void test_queue_keeps_order(void **state)
{
    enum { COUNT = 200 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, COUNT);

    scene_open_ready(scene);
    for (int round = 0; round < 5; round++) {
        take_down(scene);
        for (size_t i = 0; i < COUNT; i++) {
            outcomes[i] = (outcome_t){0};
            scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]);
        }
        assert_int_equal(scene_stats(scene).completed, round * COUNT);
        bring_back(scene);
        for (size_t i = 0; i < COUNT; i++) {
            scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
            assert_int_equal(outcomes[i].integer, round * COUNT + (int)i + 1);
        }
    }
    assert_int_equal(fake_server_number(scene->server, 0, "k"), 5 * COUNT);
}

static void test_queue_before_the_first_connection(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    fake_server_refuse(scene->server, true);
    scene_open(scene);
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(scene_events(scene).lost >= 3);
    assert_false(outcome_is_done(outcome));
    fake_server_refuse(scene->server, false);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome->attempts, 1);
}

static void test_queue_until_the_deadline(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_call_t call = {.size = sizeof call, .timeout_us = 50000};

    fake_server_refuse(scene->server, true);
    scene_open(scene);
    scene_submit(scene, WORDS("INCR", "k"), &call, outcome);
    scene_check(outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    fake_server_refuse(scene->server, false);
    scene_check_works(scene);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
}

static void test_fail_while_down(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_offline_mode(scene->options, SHOAL_OFFLINE_FAIL),
                     0);
    scene_open_ready(scene);
    for (int round = 0; round < 3; round++) {
        scene_check_works(scene);
        take_down(scene);
        for (int i = 0; i < 20; i++) {
            outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
            scene_check(&outcome, SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
            assert_int_equal(outcome.attempts, 0);
        }
        bring_back(scene);
    }
    scene_check_works(scene);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
}

/* Even what may be repeated is not kept. */
static void test_fail_what_the_loss_finds_queued(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3);

    assert_int_equal(shoal_options_set_offline_mode(scene->options, SHOAL_OFFLINE_FAIL),
                     0);
    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 10, 1, 1000000),
                     0);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .times = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open_ready(scene);
    scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[0]);
    scene_submit(scene, WORDS("GET", "k"), NULL, &outcomes[1]);
    scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[2]);
    WAIT_FOR(fake_server_received(scene->server, 0, "INCR", NULL) == 1);
    take_down(scene);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_check(&outcomes[1], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    scene_check(&outcomes[2], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    bring_back(scene);
    scene_check_works(scene);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 1);
    assert_int_equal(fake_server_received(scene->server, 0, "GET", NULL), 0);
}

/* A name that means nothing is a failed attempt like any other, and says so. */
static void test_a_host_that_does_not_exist(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_call_t call = {.size = sizeof call, .timeout_us = 300000};

    assert_int_equal(shoal_options_set_address(scene->options, "no.such.invalid", 6379),
                     0);
    scene_open(scene);
    scene_submit(scene, WORDS("INCR", "k"), &call, outcome);
    scene_check(outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    WAIT_FOR(scene_events(scene).lost >= 1);
    assert_int_equal(scene_events(scene).connected, 0);
}

static void test_a_socket_that_does_not_exist(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(
        shoal_options_set_unix_path(scene->options, "/tmp/shoal-no-such-socket"), 0);
    assert_int_equal(shoal_options_set_offline_mode(scene->options, SHOAL_OFFLINE_FAIL),
                     0);
    scene_open(scene);
    WAIT_FOR(scene_events(scene).lost >= 2);
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(shoal_client_wait_ready(scene->client, 20000), SHOAL_ETIMEOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_queue_keeps_order),
        SCENE_TEST(test_queue_before_the_first_connection),
        SCENE_TEST(test_queue_until_the_deadline),
        SCENE_TEST(test_fail_while_down),
        SCENE_TEST(test_fail_what_the_loss_finds_queued),
        SCENE_TEST(test_a_host_that_does_not_exist),
        SCENE_TEST(test_a_socket_that_does_not_exist),
    };
    return cmocka_run_group_tests_name("fault/offline", tests, NULL, NULL);
}
