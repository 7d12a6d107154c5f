/* SPDX-License-Identifier: MIT */
/* Leases whose connection is lost. */
#include "support/lease_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a loss ---- */

/* Written: unknown, also if it could be repeated.  Queued behind it: not executed. */
static void test_a_loss_breaks_the_lease(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = lease_scene_open_used(scene);
    outcome_t *outcomes = scene_outcomes(scene, 2);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "GET", .is_cut = true, .then = FAKE_RESET});
    lease_scene_submit(scene, lease, WORDS("GET", "k"), 0, &outcomes[0], NULL);
    scene_await(&outcomes[0]);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    lease_scene_submit(scene, lease, WORDS("INCR", "k"), 0, &outcomes[1], NULL);
    scene_await(&outcomes[1]);
    scene_check(&outcomes[1], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_non_null(strstr(outcomes[1].detail, "the lease is broken"));
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "GET", NULL), 1);
    shoal_lease_close(lease);
    scene_check_works(scene);
}

/* The server may still run what the lost connection carried.  The shared one ends it. */
static void check_doubt(scene_t *scene, bool may_kill)
{
    shoal_lease_t *lease = lease_scene_open_used(scene);
    outcome_t *outcome = scene_outcomes(scene, 1);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INCR", .is_cut = true, .then = FAKE_RESET});
    if (!may_kill)
        fake_server_rule(scene->server, &(fake_rule_t){.command = "CLIENT",
                                                       .argument = "KILL",
                                                       .reply = "-NOPERM no\r\n"});
    assert_true(scene_is_settled(scene));
    lease_scene_submit(scene, lease, WORDS("INCR", "k"), 0, outcome, NULL);
    scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    WAIT_FOR(fake_server_received(scene->server, 1, "CLIENT", "KILL") == 1);
    if (may_kill)
        WAIT_FOR(scene_is_settled(scene));
    else
        assert_false(scene_is_settled(scene));
    shoal_lease_close(lease);
}

static void test_a_lost_lease_is_ended(void **state)
{
    check_doubt(*state, true);
}

static void test_a_lost_lease_that_must_not_be_ended(void **state)
{
    check_doubt(*state, false);
}

/* An idle connection that ends is nobody's loss; nor is one that carried nothing yet. */
static void test_a_lease_that_carried_nothing_does_not_break(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                   .connection = 2,
                                                   .is_cut = true,
                                                   .then = FAKE_RESET});
    scene_open_ready(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("ECHO", "x"));
    scene_check_text(&outcome, "x");
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 0);
    lease = lease_scene_open(scene);
    outcome = lease_scene_ask(scene, lease, WORDS("ECHO", "y"));
    scene_check_text(&outcome, "y");
    shoal_lease_close(lease);
}

/* A command for a lease, as soon as it is heard that the idle connection is lost. */
typedef struct heir {
    shoal_client_t *client;
    shoal_lease_t *lease; /* NULL: not yet wanted, or asked already */
    outcome_t *outcome;
} heir_t;

static void on_loss(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    heir_t *heir = data;
    const char *const argv[] = {"ECHO", "z"};
    const shoal_command_t echo = {2, argv, NULL};
    shoal_lease_t *lease = heir->lease;

    (void)client;
    if (!lease || shoal_event_kind(event) != SHOAL_EVENT_LOST)
        return;
    heir->lease = NULL;
    if (shoal_lease_submit(lease, &echo, 1, NULL, outcome_cb, heir->outcome, NULL) < 0)
        abort();
}

static void test_a_connection_that_was_lost_serves_nobody(void **state)
{
    scene_t *scene = *state;
    heir_t *heir = scene_alloc(scene, sizeof *heir);
    shoal_lease_t *lease, *next;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    heir->outcome = &outcomes[1];
    assert_int_equal(shoal_options_set_on_event(scene->options, on_loss, heir), 0);
    lease_scene_open_stepped(scene);
    lease = lease_scene_open(scene);
    next = lease_scene_open(scene);
    lease_scene_submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[0], NULL);
    lease_scene_step_until(scene, &outcomes[0]);
    shoal_lease_close(lease);
    while (scene_stats(scene).leases_idle_now == 0)
        assert_true(shoal_client_step(scene->client, 1000000) >= 0);
    heir->lease = next;
    fake_server_cut(scene->server, FAKE_CUT_FIN);
    lease_scene_step_until(scene, &outcomes[1]);
    scene_check_text(&outcomes[1], "z");
    shoal_lease_close(next);
    lease_scene_close_stepped(scene);
}

/* The first attempt fails before its commands are there: they wait for the next. */
static void test_an_attempt_that_fails_at_once(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    char aside[256];

    scene_serve(scene, &(fake_config_t){.is_unix = true});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    scene_open_ready(scene);
    snprintf(aside, sizeof aside, "%s.aside", fake_server_path(scene->server));
    assert_int_equal(rename(fake_server_path(scene->server), aside), 0);
    shoal_lease_t *lease = lease_scene_open(scene);
    lease_scene_submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[0], NULL);
    lease_scene_submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, &outcomes[1], NULL);
    WAIT_FOR(scene_events(scene).attempts_failed >= 2);
    assert_int_equal(rename(aside, fake_server_path(scene->server)), 0);
    scene_check_text(&outcomes[0], "x");
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    shoal_lease_close(lease);
}

/* A connection that is to be closed is not given to the next holder. */
static void test_a_reconnect_spares_the_next_holder(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    lease_scene_open_stepped(scene);
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INCR", .connection = 2, .is_swallowed = true});
    shoal_lease_t *lease = lease_scene_open(scene);
    lease_scene_submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[0], NULL);
    lease_scene_step_until(scene, &outcomes[0]);
    shoal_lease_close(lease);
    while (scene_stats(scene).leases_idle_now == 0)
        assert_true(shoal_client_step(scene->client, 1000000) >= 0);

    lease = lease_scene_open(scene);
    assert_int_equal(shoal_client_reconnect(scene->client), 0);
    lease_scene_submit(scene, lease, WORDS("INCR", "k"), 0, &outcomes[1], NULL);
    lease_scene_step_until(scene, &outcomes[1]);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 2, "INCR", NULL), 0);
    shoal_lease_close(lease);
    while (scene_stats(scene).leases_now > 0)
        assert_true(shoal_client_step(scene->client, 1000000) >= 0);
    lease_scene_close_stepped(scene);
}

/* A command of the lease, and the end of the lease, in its own callback. */
typedef struct chain {
    shoal_lease_t *lease;
    unsigned left;
    outcome_t *outcome;
} chain_t;

static void on_link(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    chain_t *chain = data;
    const char *const argv[] = {"INCR", "chain"};
    const shoal_command_t command = {2, argv, NULL};

    if (chain->left-- > 0 && shoal_result_status(result) == 0) {
        if (shoal_lease_submit(chain->lease, &command, 1, NULL, on_link, chain, NULL) ==
            0)
            return;
    }
    shoal_lease_close(chain->lease);
    outcome_cb(client, result, chain->outcome);
}

/* A callback that will not believe that its lease is broken. */
static void test_a_broken_lease_fails_again_and_again(void **state)
{
    scene_t *scene = *state;
    chain_t *chain = scene_alloc(scene, sizeof *chain);
    const shoal_command_t command = WORDS("GET", "k");

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "GET", .is_cut = true, .then = FAKE_RESET});
    *chain = (chain_t){lease_scene_open_used(scene), 0, scene_outcomes(scene, 1)};
    assert_int_equal(
        shoal_lease_submit(chain->lease, &command, 1, NULL, on_link, chain, NULL), 0);
    scene_await(chain->outcome);
    assert_int_equal(chain->outcome->status, SHOAL_ECONN);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    scene_check_works(scene);
}

/* A broken lease waits for no connection. */
static void test_a_broken_lease_stands_in_no_line(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *holders[SHOAL_LEASE_CONNECTIONS_MAX];
    shoal_lease_t *lease = lease_scene_open_used(scene), *waiting;
    outcome_t *outcomes = scene_outcomes(scene, 3);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "GET", .is_cut = true, .then = FAKE_RESET});
    lease_scene_submit(scene, lease, WORDS("GET", "k"), 0, &outcomes[0], NULL);
    scene_await(&outcomes[0]);
    lease_scene_hold_all(scene, holders);
    waiting = lease_scene_open(scene);
    lease_scene_submit(scene, waiting, WORDS("ECHO", "x"), 0, &outcomes[1], NULL);
    lease_scene_submit(scene, lease, WORDS("INCR", "k"), 0, &outcomes[2], NULL);
    scene_check(&outcomes[2], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_false(outcome_is_done(&outcomes[1]));
    shoal_lease_close(lease);
    shoal_lease_close(waiting);
    for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++)
        shoal_lease_close(holders[i]);
    scene_check_text(&outcomes[1], "x");
    WAIT_FOR(scene_stats(scene).leases_now == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_loss_breaks_the_lease),
        SCENE_TEST(test_a_lost_lease_is_ended),
        SCENE_TEST(test_a_lost_lease_that_must_not_be_ended),
        SCENE_TEST(test_a_lease_that_carried_nothing_does_not_break),
        SCENE_TEST(test_a_connection_that_was_lost_serves_nobody),
        SCENE_TEST(test_an_attempt_that_fails_at_once),
        SCENE_TEST(test_a_reconnect_spares_the_next_holder),
        SCENE_TEST(test_a_broken_lease_fails_again_and_again),
        SCENE_TEST(test_a_broken_lease_stands_in_no_line),
    };
    return cmocka_run_group_tests_name("fault/leases_lost", tests, NULL, NULL);
}
