/* SPDX-License-Identifier: MIT */
/* Leases on a server that answers as the test wants: what they refuse, what is cleaned, and
 * the thread that they run on. */
#include "support/lease_scene.h"

#include <string.h>

/* ---- cleaning ---- */

/* An answer to a cleaning command that is not OK: nobody gets the connection. */
static void test_a_cleaning_that_is_refused(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = lease_scene_open_used(scene);
    outcome_t outcome;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "WATCH", .reply = "+OK\r\n"});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "UNWATCH", .reply = "-ERR no\r\n"});
    outcome = lease_scene_ask(scene, lease, WORDS("WATCH", "k"));
    scene_check_text(&outcome, "OK");
    shoal_lease_close(lease);
    WAIT_FOR(fake_server_received(scene->server, 2, "UNWATCH", NULL) == 1 &&
             fake_server_open_now(scene->server) == 1);

    lease = lease_scene_open(scene);
    outcome = lease_scene_ask(scene, lease, WORDS("ECHO", "second"));
    scene_check_text(&outcome, "second");
    assert_int_equal(fake_server_received(scene->server, 3, "ECHO", "second"), 1);
    shoal_lease_close(lease);
}

/* A refused WATCH changed nothing: bits change with outcomes. */
static void test_what_was_refused_needs_no_cleaning(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = lease_scene_open_used(scene);

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "WATCH", .reply = "-ERR no\r\n"});
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("WATCH", "k"));
    scene_check_error(&outcome, "ERR no");
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    assert_int_equal(fake_server_received(scene->server, 0, "UNWATCH", NULL), 0);
}

/* Its holder leaves while the connection greets: the next one gets it, and no event tells
 * of a loss. */
static void test_a_connection_is_kept_that_nobody_waits_for(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    uint64_t ticket;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                   .connection = 2,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open_ready(scene);
    lease_scene_submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, outcome, &ticket);
    WAIT_FOR(fake_server_received(scene->server, 2, "HELLO", NULL) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_await(outcome);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    fake_server_release(scene->server);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    assert_int_equal(fake_server_accepted(scene->server), 2);
    assert_int_equal(scene_events(scene).lost, 0);
}

/* A reply that nobody waited for any more: the connection is not given to the next. */
static void test_a_reply_that_is_still_due(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = lease_scene_open_used(scene);
    outcome_t *outcome = scene_outcomes(scene, 1);
    uint64_t ticket;

    fake_server_hold(scene->server, "INCR");
    lease_scene_submit(scene, lease, WORDS("INCR", "k"), 0, outcome, &ticket);
    WAIT_FOR(fake_server_received(scene->server, 2, "INCR", NULL) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_await(outcome);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
    shoal_lease_close(lease);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
    fake_server_release(scene->server);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    assert_int_equal(scene_events(scene).lost, 0); /* the client itself closed it */
    assert_int_equal(scene_stats(scene).losses, 0);
}

/* Commands of leases are outstanding once, and no longer than until their results. */
static void test_what_was_answered_takes_no_room(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease;
    outcome_t outcome;

    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 4, 4, 1024), 0);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    scene_open_ready(scene);
    lease = lease_scene_open(scene);
    for (int i = 0; i < 100; i++) {
        outcome = lease_scene_ask(scene, lease, WORDS("ECHO", "x"));
        scene_check_text(&outcome, "x");
        outcome = lease_scene_ask(scene, NULL, WORDS("BLPOP", "k", "1"));
        scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
        outcome = lease_scene_ask(scene, NULL, WORDS("ECHO", "y"));
        scene_check_text(&outcome, "y");
    }
    assert_int_equal(scene_idle_stats(scene).bytes_now, 0);
    shoal_lease_close(lease);
}

/* An error that other commands wait out surfaces: what was before it on the lease may be
 * wrong for the next attempt. */
static void test_errors_surface(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = lease_scene_open_used(scene);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INCR", .times = 1, .reply = "-LOADING\r\n"});
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("INCR", "k"));
    scene_check_error(&outcome, "LOADING");
    shoal_lease_close(lease);
}

/* ---- the loop thread ---- */

static void test_a_stepped_client_leases_too(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 4);
    const char *const blpop[] = {"BLPOP", "k", "0"};
    uint64_t ticket;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    lease_scene_open_stepped(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    lease_scene_submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[0], &ticket);
    assert_true(ticket & SHOAL_TICKET_OF_LOOP);
    assert_int_equal(shoal_client_submit(scene->client, 3, blpop, NULL, outcome_cb,
                                         &outcomes[1], &ticket),
                     0);
    lease_scene_step_until(scene, &outcomes[0]);
    lease_scene_step_until(scene, &outcomes[1]);
    scene_check_text(&outcomes[0], "x");
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    lease_scene_submit(scene, lease, WORDS("ECHO", "y"), 0, &outcomes[2], &ticket);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_check(&outcomes[2], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
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

static void test_callbacks_use_and_close_their_lease(void **state)
{
    scene_t *scene = *state;
    chain_t *chain = scene_alloc(scene, sizeof *chain);
    const shoal_command_t command = WORDS("INCR", "chain");

    scene_open_ready(scene);
    *chain = (chain_t){lease_scene_open(scene), 20, scene_outcomes(scene, 1)};
    assert_int_equal(
        shoal_lease_submit(chain->lease, &command, 1, NULL, on_link, chain, NULL), 0);
    scene_await(chain->outcome);
    assert_int_equal(chain->outcome->integer, 21);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    assert_int_equal(fake_server_received(scene->server, 2, "INCR", NULL), 21);
}

/* Commands between MULTI and EXEC, one by one, the last of them never written. */
static void test_a_deadline_in_line(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *holders[SHOAL_LEASE_CONNECTIONS_MAX], *late;
    outcome_t *outcomes = scene_outcomes(scene, 5);
    shoal_call_t call = SHOAL_CALL_INIT;
    outcome_series_t *series = scene_alloc(scene, sizeof *series);
    uint64_t ticket;

    scene_open_ready(scene);
    lease_scene_hold_all(scene, holders);
    late = lease_scene_open(scene);
    lease_scene_submit(scene, late, WORDS("INCR", "k"), 20000, &outcomes[0], NULL);
    scene_await(&outcomes[0]);
    scene_check(&outcomes[0], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_non_null(strstr(outcomes[0].detail, "waited for a connection of its own"));

    /* A unit that waits goes as a whole. */
    const shoal_command_t unit[] = {WORDS("MULTI"), WORDS("INCR", "k"), WORDS("EXEC")};
    *series = (outcome_series_t){&outcomes[1], 0, 3};
    call.flags = SHOAL_CALL_CONTIGUOUS;
    assert_int_equal(
        shoal_lease_submit(late, unit, 3, &call, outcome_series_cb, series, &ticket),
        0);
    assert_int_equal(shoal_client_cancel(scene->client, ticket + 1), 0);
    WAIT_FOR(outcome_series_count(series) == 3);
    for (int i = 1; i < 4; i++)
        scene_check(&outcomes[i], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
    shoal_lease_close(late);
    for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++)
        shoal_lease_close(holders[i]);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
}

static void test_a_lease_of_another_client(void **state)
{
    scene_t *scene = *state;
    shoal_client_t *other;
    shoal_lease_t *lease;
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_error_t error = SHOAL_ERROR_INIT;
    const shoal_command_t ping = WORDS("PING");

    scene_open_ready(scene);
    assert_int_equal(shoal_client_open(scene->options, &other, NULL), 0);
    assert_int_equal(shoal_lease_open(other, &lease), 0);
    call.lease = lease;
    call.error = &error;
    assert_int_equal(
        shoal_client_submit_many(scene->client, &ping, 1, &call, NULL, NULL, NULL),
        SHOAL_EINVAL);
    assert_string_equal(error.text, "the lease is one of another client");
    shoal_lease_close(lease);
    assert_int_equal(shoal_client_close_and_wait(other, 0), 0);
    shoal_client_release(other);
}

static void test_what_a_lease_refuses(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease;
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_error_t error = SHOAL_ERROR_INIT;
    const shoal_command_t commands[] = {WORDS("AUTH", "p"), WORDS("SUBSCRIBE", "c")};
    static const char *const texts[] = {
        "AUTH: the library itself governs the connection with it",
        "SUBSCRIBE: its replies are not exactly one"};

    scene_open_ready(scene);
    lease = lease_scene_open(scene);
    call.error = &error;
    for (size_t i = 0; i < 2; i++) {
        error.text[0] = '\0';
        assert_int_equal(
            shoal_lease_submit(lease, &commands[i], 1, &call, NULL, NULL, NULL),
            SHOAL_EREFUSED);
        assert_string_equal(error.text, texts[i]);
    }
    shoal_lease_close(lease);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_cleaning_that_is_refused),
        SCENE_TEST(test_what_was_refused_needs_no_cleaning),
        SCENE_TEST(test_a_connection_is_kept_that_nobody_waits_for),
        SCENE_TEST(test_a_reply_that_is_still_due),
        SCENE_TEST(test_what_was_answered_takes_no_room),
        SCENE_TEST(test_errors_surface),
        SCENE_TEST(test_a_stepped_client_leases_too),
        SCENE_TEST(test_callbacks_use_and_close_their_lease),
        SCENE_TEST(test_a_deadline_in_line),
        SCENE_TEST(test_a_lease_of_another_client),
        SCENE_TEST(test_what_a_lease_refuses),
    };
    return cmocka_run_group_tests_name("fault/leases", tests, NULL, NULL);
}
