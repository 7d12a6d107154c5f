/* SPDX-License-Identifier: MIT */
/* Leases, and blocking commands, on a server that answers as the test wants. */
#include "support/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

static shoal_lease_t *lease_open(scene_t *scene)
{
    shoal_lease_t *lease = NULL;

    assert_int_equal(shoal_lease_open(scene->client, &lease), 0);
    return lease;
}

static outcome_t ask(scene_t *scene, shoal_lease_t *lease, shoal_command_t command)
{
    shoal_call_t call = SHOAL_CALL_INIT;

    call.lease = lease;
    return scene_call(scene, command, &call);
}

static void submit(scene_t *scene, shoal_lease_t *lease, shoal_command_t command,
                   uint64_t timeout_us, outcome_t *outcome, uint64_t *ret_ticket)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    uint64_t ticket;

    call.lease = lease;
    call.timeout_us = timeout_us;
    ticket = scene_submit(scene, command, &call, outcome);
    if (ret_ticket)
        *ret_ticket = ticket;
}

static void finish(scene_t *scene, const outcome_t *outcome)
{
    while (!outcome_is_done(outcome))
        assert_true(shoal_client_step(scene->client, 1000000) >= 0);
}

/* Begin with a lease that has carried a command: its connection is number 2. */
static shoal_lease_t *open_used(scene_t *scene)
{
    shoal_lease_t *lease;

    scene_open_ready(scene);
    lease = lease_open(scene);
    outcome_t outcome = ask(scene, lease, WORDS("ECHO", "first"));
    scene_check_text(&outcome, "first");
    assert_int_equal(fake_server_received(scene->server, 2, "ECHO", "first"), 1);
    return lease;
}

/* ---- cleaning ---- */

/* An answer to a cleaning command that is not OK: nobody gets the connection. */
static void test_a_cleaning_that_is_refused(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = open_used(scene);
    outcome_t outcome;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "WATCH", .reply = "+OK\r\n"});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "UNWATCH", .reply = "-ERR no\r\n"});
    outcome = ask(scene, lease, WORDS("WATCH", "k"));
    scene_check_text(&outcome, "OK");
    shoal_lease_close(lease);
    WAIT_FOR(fake_server_received(scene->server, 2, "UNWATCH", NULL) == 1 &&
             fake_server_open_now(scene->server) == 1);

    lease = lease_open(scene);
    outcome = ask(scene, lease, WORDS("ECHO", "second"));
    scene_check_text(&outcome, "second");
    assert_int_equal(fake_server_received(scene->server, 3, "ECHO", "second"), 1);
    shoal_lease_close(lease);
}

/* A refused WATCH changed nothing: bits change with outcomes. */
static void test_what_was_refused_needs_no_cleaning(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = open_used(scene);

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "WATCH", .reply = "-ERR no\r\n"});
    outcome_t outcome = ask(scene, lease, WORDS("WATCH", "k"));
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
    submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, outcome, &ticket);
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
    shoal_lease_t *lease = open_used(scene);
    outcome_t *outcome = scene_outcomes(scene, 1);
    uint64_t ticket;

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INCR", .is_cut = true, .then = FAKE_HOLD});
    submit(scene, lease, WORDS("INCR", "k"), 0, outcome, &ticket);
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

/* ---- a loss ---- */

/* Written: unknown, also if it could be repeated.  Queued behind it: not executed. */
static void test_a_loss_breaks_the_lease(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = open_used(scene);
    outcome_t *outcomes = scene_outcomes(scene, 2);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "GET", .is_cut = true, .then = FAKE_RESET});
    submit(scene, lease, WORDS("GET", "k"), 0, &outcomes[0], NULL);
    scene_await(&outcomes[0]);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    submit(scene, lease, WORDS("INCR", "k"), 0, &outcomes[1], NULL);
    scene_await(&outcomes[1]);
    scene_check(&outcomes[1], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_non_null(strstr(outcomes[1].detail, "the lease is broken"));
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "GET", NULL), 1);
    shoal_lease_close(lease);
    scene_check_works(scene);
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
    shoal_lease_t *lease = lease_open(scene);
    outcome_t outcome = ask(scene, lease, WORDS("ECHO", "x"));
    scene_check_text(&outcome, "x");
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 0);
    lease = lease_open(scene);
    outcome = ask(scene, lease, WORDS("ECHO", "y"));
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
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    lease = lease_open(scene);
    next = lease_open(scene);
    submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[0], NULL);
    finish(scene, &outcomes[0]);
    shoal_lease_close(lease);
    while (scene_stats(scene).leases_idle_now == 0)
        assert_true(shoal_client_step(scene->client, 1000000) >= 0);
    heir->lease = next;
    fake_server_cut(scene->server, FAKE_CUT_FIN);
    finish(scene, &outcomes[1]);
    scene_check_text(&outcomes[1], "z");
    shoal_lease_close(next);
    assert_int_equal(shoal_client_close_and_wait(scene->client, 0), 0);
    shoal_client_release(scene->client);
    scene->client = NULL;
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
    lease = lease_open(scene);
    for (int i = 0; i < 100; i++) {
        outcome = ask(scene, lease, WORDS("ECHO", "x"));
        scene_check_text(&outcome, "x");
        outcome = ask(scene, NULL, WORDS("BLPOP", "k", "1"));
        scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
        outcome = ask(scene, NULL, WORDS("ECHO", "y"));
        scene_check_text(&outcome, "y");
    }
    assert_int_equal(scene_idle_stats(scene).bytes_now, 0);
    shoal_lease_close(lease);
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
    shoal_lease_t *lease = lease_open(scene);
    submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[0], NULL);
    submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, &outcomes[1], NULL);
    WAIT_FOR(scene_events(scene).attempts_failed >= 2);
    assert_int_equal(rename(aside, fake_server_path(scene->server)), 0);
    scene_check_text(&outcomes[0], "x");
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    shoal_lease_close(lease);
}

/* An error that other commands wait out surfaces: what was before it on the lease may be
 * wrong for the next attempt. */
static void test_errors_surface(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = open_used(scene);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INCR", .times = 1, .reply = "-LOADING\r\n"});
    outcome_t outcome = ask(scene, lease, WORDS("INCR", "k"));
    scene_check_error(&outcome, "LOADING");
    shoal_lease_close(lease);
}

/* ---- blocking commands that are given up ---- */

static void hold_blpop(scene_t *scene)
{
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "BLPOP", .times = 1, .is_swallowed = true});
    scene_open_ready(scene);
}

/* The server does not let it go: nothing is known, and the connection goes. */
static void test_silence_after_unblock(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    uint64_t ticket;

    hold_blpop(scene);
    submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, outcome, &ticket);
    WAIT_FOR(fake_server_received(scene->server, 2, "BLPOP", NULL) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    WAIT_FOR(fake_server_received(scene->server, 1, "CLIENT", "UNBLOCK") == 1);
    (void)shoal_client_cancel(scene->client, ticket); /* asks no second time */
    scene_await(outcome);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
    assert_int_equal(fake_server_received(scene->server, 0, "CLIENT", "UNBLOCK"), 1);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
}

/* The shared connection leads to another process, where the id may be a stranger's. */
static void test_unblock_is_for_the_same_process_only(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    uint64_t ticket;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INFO",
                                    .connection = 2,
                                    .reply = "$14\r\nrun_id:other\r\n\r\n"});
    hold_blpop(scene);
    submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, outcome, &ticket);
    WAIT_FOR(fake_server_received(scene->server, 2, "BLPOP", NULL) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
    assert_int_equal(fake_server_received(scene->server, 0, "CLIENT", "UNBLOCK"), 0);
}

/* A server that loses its role says that nothing was popped: again, elsewhere. */
static void test_a_forced_unblock_is_no_end(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "BLPOP",
                       .times = 1,
                       .reply = "-UNBLOCKED force unblock from blocking operation, "
                                "instance state changed (master -> replica?)\r\n",
                       .then = FAKE_FIN});
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "BLPOP", .reply = "*2\r\n$1\r\nk\r\n$1\r\nv\r\n"});
    scene_open_ready(scene);
    outcome_t outcome = scene_call(scene, WORDS("BLPOP", "k", "0"), NULL);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(outcome.type, SHOAL_REPLY_ARRAY);
    assert_int_equal(fake_server_received(scene->server, 0, "BLPOP", NULL), 2);
}

/* It waits for its caller's earlier commands, and is given up meanwhile. */
static void test_behind_earlier_commands(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 4);
    uint64_t ticket;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .times = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    scene_open_ready(scene);
    submit(scene, NULL, WORDS("INCR", "k"), 0, &outcomes[0], NULL);
    submit(scene, NULL, WORDS("BLPOP", "k", "0"), 50000, &outcomes[1], NULL);
    submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, &outcomes[2], &ticket);
    submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, &outcomes[3], NULL);
    scene_await(&outcomes[1]);
    scene_check(&outcomes[1], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_non_null(strstr(outcomes[1].detail, "earlier commands"));
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_await(&outcomes[2]);
    scene_check(&outcomes[2], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(fake_server_received(scene->server, 0, "BLPOP", NULL), 0);
    assert_int_equal(fake_server_accepted(scene->server), 1);
    fake_server_release(scene->server);
    scene_await(&outcomes[3]);
    scene_check(&outcomes[3], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 0, "BLPOP", NULL), 1);
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
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    shoal_lease_t *lease = lease_open(scene);
    submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[0], &ticket);
    assert_true(ticket & SHOAL_TICKET_OF_LOOP);
    assert_int_equal(shoal_client_submit(scene->client, 3, blpop, NULL, outcome_cb,
                                         &outcomes[1], &ticket),
                     0);
    finish(scene, &outcomes[0]);
    finish(scene, &outcomes[1]);
    scene_check_text(&outcomes[0], "x");
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    submit(scene, lease, WORDS("ECHO", "y"), 0, &outcomes[2], &ticket);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_check(&outcomes[2], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    shoal_lease_close(lease);
    while (scene_stats(scene).leases_now > 0)
        assert_true(shoal_client_step(scene->client, 1000000) >= 0);
    assert_int_equal(shoal_client_close_and_wait(scene->client, 0), 0);
    shoal_client_release(scene->client);
    scene->client = NULL;
}

/* A connection that is to be closed is not given to the next holder. */
static void test_a_reconnect_spares_the_next_holder(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INCR", .connection = 2, .is_swallowed = true});
    shoal_lease_t *lease = lease_open(scene);
    submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[0], NULL);
    finish(scene, &outcomes[0]);
    shoal_lease_close(lease);
    while (scene_stats(scene).leases_idle_now == 0)
        assert_true(shoal_client_step(scene->client, 1000000) >= 0);

    lease = lease_open(scene);
    assert_int_equal(shoal_client_reconnect(scene->client), 0);
    submit(scene, lease, WORDS("INCR", "k"), 0, &outcomes[1], NULL);
    finish(scene, &outcomes[1]);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 2, "INCR", NULL), 0);
    shoal_lease_close(lease);
    while (scene_stats(scene).leases_now > 0)
        assert_true(shoal_client_step(scene->client, 1000000) >= 0);
    assert_int_equal(shoal_client_close_and_wait(scene->client, 0), 0);
    shoal_client_release(scene->client);
    scene->client = NULL;
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
    *chain = (chain_t){lease_open(scene), 20, scene_outcomes(scene, 1)};
    assert_int_equal(
        shoal_lease_submit(chain->lease, &command, 1, NULL, on_link, chain, NULL), 0);
    scene_await(chain->outcome);
    assert_int_equal(chain->outcome->integer, 21);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    assert_int_equal(fake_server_received(scene->server, 2, "INCR", NULL), 21);
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
    *chain = (chain_t){open_used(scene), 0, scene_outcomes(scene, 1)};
    assert_int_equal(
        shoal_lease_submit(chain->lease, &command, 1, NULL, on_link, chain, NULL), 0);
    scene_await(chain->outcome);
    assert_int_equal(chain->outcome->status, SHOAL_ECONN);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    scene_check_works(scene);
}

/* Take all connections. */
static void hold_all(scene_t *scene, shoal_lease_t **holders)
{
    for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++) {
        holders[i] = lease_open(scene);
        outcome_t outcome = ask(scene, holders[i], WORDS("PING"));
        scene_check_text(&outcome, "PONG");
    }
}

/* A broken lease waits for no connection. */
static void test_a_broken_lease_stands_in_no_line(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *holders[SHOAL_LEASE_CONNECTIONS_MAX];
    shoal_lease_t *lease = open_used(scene), *waiting;
    outcome_t *outcomes = scene_outcomes(scene, 3);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "GET", .is_cut = true, .then = FAKE_RESET});
    submit(scene, lease, WORDS("GET", "k"), 0, &outcomes[0], NULL);
    scene_await(&outcomes[0]);
    hold_all(scene, holders);
    waiting = lease_open(scene);
    submit(scene, waiting, WORDS("ECHO", "x"), 0, &outcomes[1], NULL);
    submit(scene, lease, WORDS("INCR", "k"), 0, &outcomes[2], NULL);
    scene_check(&outcomes[2], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_false(outcome_is_done(&outcomes[1]));
    shoal_lease_close(lease);
    shoal_lease_close(waiting);
    for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++)
        shoal_lease_close(holders[i]);
    scene_check_text(&outcomes[1], "x");
    WAIT_FOR(scene_stats(scene).leases_now == 0);
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
    hold_all(scene, holders);
    late = lease_open(scene);
    submit(scene, late, WORDS("INCR", "k"), 20000, &outcomes[0], NULL);
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
    lease = lease_open(scene);
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
        SCENE_TEST(test_a_loss_breaks_the_lease),
        SCENE_TEST(test_a_lease_that_carried_nothing_does_not_break),
        SCENE_TEST(test_a_connection_that_was_lost_serves_nobody),
        SCENE_TEST(test_what_was_answered_takes_no_room),
        SCENE_TEST(test_an_attempt_that_fails_at_once),
        SCENE_TEST(test_errors_surface),
        SCENE_TEST(test_silence_after_unblock),
        SCENE_TEST(test_unblock_is_for_the_same_process_only),
        SCENE_TEST(test_a_forced_unblock_is_no_end),
        SCENE_TEST(test_behind_earlier_commands),
        SCENE_TEST(test_a_stepped_client_leases_too),
        SCENE_TEST(test_a_reconnect_spares_the_next_holder),
        SCENE_TEST(test_callbacks_use_and_close_their_lease),
        SCENE_TEST(test_a_broken_lease_fails_again_and_again),
        SCENE_TEST(test_a_broken_lease_stands_in_no_line),
        SCENE_TEST(test_a_deadline_in_line),
        SCENE_TEST(test_a_lease_of_another_client),
        SCENE_TEST(test_what_a_lease_refuses),
    };
    return cmocka_run_group_tests_name("fault/leases", tests, NULL, NULL);
}
