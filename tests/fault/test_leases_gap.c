/* SPDX-License-Identifier: MIT */
/* A lease that lacks a command: SELECT, MULTI or the like is given up before it is sent.
 * What was submitted behind it would run in the wrong state: it fails, and was not executed.
 * What was submitted before it gets its own answer. */
#include "support/lease_scene.h"

#include <string.h>

/* ---- scenes ---- */

static void check_behind(const outcome_t *behind)
{
    scene_check(behind, SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_non_null(strstr(behind->detail, "was given up before it was sent"));
}

/* The connection of the first lease does not get through its greeting. */
static void hold_greeting(scene_t *scene)
{
    fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                   .connection = 2,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open_ready(scene);
}

static void cancel(scene_t *scene, uint64_t ticket)
{
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
}

/* ---- where the command waits ---- */

static void test_while_the_connection_greets(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 5);
    uint64_t ticket;

    hold_greeting(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    lease_scene_submit(scene, lease, WORDS("ECHO", "ahead"), 0, &outcomes[0], NULL);
    lease_scene_submit(scene, lease, WORDS("SELECT", "5"), 0, &outcomes[1], &ticket);
    lease_scene_submit(scene, lease, WORDS("INCR", "k"), 0, &outcomes[2], NULL);
    WAIT_FOR(fake_server_received(scene->server, 2, "HELLO", NULL) == 1);
    cancel(scene, ticket);
    scene_check(&outcomes[1], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    check_behind(&outcomes[2]);
    /* So does what comes later: its caller may not have heard of it. */
    lease_scene_submit(scene, lease, WORDS("INCR", "k"), 0, &outcomes[3], NULL);
    check_behind(&outcomes[3]);
    assert_false(outcome_is_done(&outcomes[0]));
    fake_server_release(scene->server);
    scene_check_text(&outcomes[0], "ahead");
    shoal_lease_close(lease);

    /* The connection is as it was: the next holder has it. */
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    lease = lease_scene_open(scene);
    lease_scene_submit(scene, lease, WORDS("ECHO", "next"), 0, &outcomes[4], NULL);
    scene_check_text(&outcomes[4], "next");
    shoal_lease_close(lease);
    assert_int_equal(fake_server_received(scene->server, 2, "ECHO", "next"), 1);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
}

static void test_in_line(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *holders[SHOAL_LEASE_CONNECTIONS_MAX], *late;
    outcome_t *outcomes = scene_outcomes(scene, 4);

    scene_open_ready(scene);
    lease_scene_hold_all(scene, holders);
    late = lease_scene_open(scene);
    lease_scene_submit(scene, late, WORDS("ECHO", "ahead"), SHOAL_TIMEOUT_NEVER,
                       &outcomes[0], NULL);
    lease_scene_submit(scene, late, WORDS("SELECT", "5"), 20000, &outcomes[1], NULL);
    lease_scene_submit(scene, late, WORDS("INCR", "k"), 0, &outcomes[2], NULL);
    scene_check(&outcomes[1], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    check_behind(&outcomes[2]);
    lease_scene_submit(scene, late, WORDS("INCR", "k"), 0, &outcomes[3], NULL);
    check_behind(&outcomes[3]);
    assert_false(outcome_is_done(&outcomes[0]));
    shoal_lease_close(holders[7]);
    scene_check_text(&outcomes[0], "ahead");
    shoal_lease_close(late);
    for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++)
        if (i != 7)
            shoal_lease_close(holders[i]);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
}

/* The loop has nothing to do.  A slow machine makes it do less, never more. */
static void check_rest(scene_t *scene)
{
    uint64_t turns = scene_stats(scene).turns;

    waiting_sleep_us(50000);
    assert_true(scene_stats(scene).turns - turns < 500);
}

/* The second blocking command waits for the first, and what is behind it waits, too. */
static void test_behind_a_blocking_command(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 4);
    uint64_t ticket;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "BLPOP",
                                                   .reply = "*-1\r\n",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open_ready(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    for (size_t i = 0; i < 2; i++)
        lease_scene_submit(scene, lease, WORDS("BLPOP", "k", "0"), 0, &outcomes[i],
                           NULL);
    lease_scene_submit(scene, lease, WORDS("MULTI"), 0, &outcomes[2], &ticket);
    lease_scene_submit(scene, lease, WORDS("INCR", "k"), 0, &outcomes[3], NULL);
    WAIT_FOR(fake_server_received(scene->server, 2, "BLPOP", "k") == 1);
    cancel(scene, ticket);
    scene_check(&outcomes[2], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    check_behind(&outcomes[3]);
    assert_false(outcome_is_done(&outcomes[0]) || outcome_is_done(&outcomes[1]));
    check_rest(scene);
    fake_server_forget_rules(scene->server);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    fake_server_release(scene->server);
    scene_check(&outcomes[0], 0, SHOAL_FATE_REPLIED);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
}

/* What is ahead of the gap fails if the connection is lost meanwhile. */
static void test_a_loss_behind_a_gap(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = lease_scene_open_used(scene);
    outcome_t *outcomes = scene_outcomes(scene, 3);
    uint64_t ticket;

    fake_server_hold(scene->server, "BLPOP");
    for (size_t i = 0; i < 2; i++)
        lease_scene_submit(scene, lease, WORDS("BLPOP", "k", "0"), 0, &outcomes[i],
                           NULL);
    lease_scene_submit(scene, lease, WORDS("SELECT", "5"), 0, &outcomes[2], &ticket);
    WAIT_FOR(fake_server_received(scene->server, 2, "BLPOP", "k") == 1);
    cancel(scene, ticket);
    scene_check(&outcomes[2], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_check(&outcomes[1], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(fake_server_received(scene->server, 0, "BLPOP", "k"), 1);
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
}

/* ---- which commands leave one ---- */

typedef struct given_up {
    shoal_command_t unit[3]; /* or one command */
    size_t count;
    bool is_gap;
} given_up_t;

static void check_given_up(scene_t *scene, const given_up_t *what)
{
    outcome_t *outcomes = scene_outcomes(scene, 4);
    outcome_series_t *series = scene_alloc(scene, sizeof *series);
    shoal_lease_t *lease = lease_scene_open(scene);
    shoal_call_t call = SHOAL_CALL_INIT;
    uint64_t ticket;

    *series = (outcome_series_t){outcomes, 0, what->count};
    call.flags = SHOAL_CALL_CONTIGUOUS;
    assert_int_equal(shoal_lease_submit(lease, what->unit, what->count, &call,
                                        outcome_series_cb, series, &ticket),
                     0);
    lease_scene_submit(scene, lease, WORDS("INCR", "k"), SHOAL_TIMEOUT_NEVER,
                       &outcomes[3], NULL);
    WAIT_FOR(scene_stats(scene).leases_waiting_now == 1);
    cancel(scene, ticket + what->count - 1);
    WAIT_FOR(outcome_series_count(series) == what->count);
    for (size_t i = 0; i < what->count; i++)
        scene_check(&outcomes[i], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    if (what->is_gap)
        check_behind(&outcomes[3]);
    else
        cancel(scene, ticket + what->count);
    scene_await(&outcomes[3]);
    assert_int_equal(outcomes[3].status, what->is_gap ? SHOAL_ECONN : SHOAL_ECANCELLED);
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_waiting_now == 0);
}

static void test_what_leaves_a_gap(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *holders[SHOAL_LEASE_CONNECTIONS_MAX];
    scene_open_ready(scene);
    lease_scene_hold_all(scene, holders);
    const given_up_t all[] = {
        {{WORDS("GET", "k")}, 1, false},
        {{WORDS("CLIENT", "ID")}, 1, false},
        {{WORDS("SELECT", "5")}, 1, true},
        {{WORDS("WATCH", "k")}, 1, true},
        {{WORDS("UNWATCH")}, 1, true},
        {{WORDS("MULTI")}, 1, true},
        {{WORDS("EXEC")}, 1, true},
        {{WORDS("CLIENT", "TRACKING", "ON")}, 1, true},
        {{WORDS("MULTI"), WORDS("INCR", "k"), WORDS("EXEC")}, 3, false},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_given_up(scene, &all[i]);
    for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++)
        shoal_lease_close(holders[i]);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
}

/* ---- callbacks ---- */

typedef struct stubborn {
    shoal_lease_t *lease;
    unsigned left;
    outcome_t *last;
} stubborn_t;

static void on_failure(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    stubborn_t *stubborn = data;
    const char *const argv[] = {"INCR", "k"};
    const shoal_command_t command = {2, argv, NULL};

    if (stubborn->left-- > 0 && shoal_lease_submit(stubborn->lease, &command, 1, NULL,
                                                   on_failure, stubborn, NULL) == 0)
        return;
    outcome_cb(client, result, stubborn->last);
}

/* The callback of the command that is given up submits another one. */
static void test_a_callback_that_goes_on(void **state)
{
    scene_t *scene = *state;
    stubborn_t *stubborn = scene_alloc(scene, sizeof *stubborn);
    const shoal_command_t command = WORDS("SELECT", "5");
    uint64_t ticket;

    hold_greeting(scene);
    *stubborn = (stubborn_t){lease_scene_open(scene), 3, scene_outcomes(scene, 1)};
    assert_int_equal(shoal_lease_submit(stubborn->lease, &command, 1, NULL, on_failure,
                                        stubborn, &ticket),
                     0);
    WAIT_FOR(fake_server_received(scene->server, 2, "HELLO", NULL) == 1);
    cancel(scene, ticket);
    scene_await(stubborn->last);
    check_behind(stubborn->last);
    fake_server_release(scene->server);
    shoal_lease_close(stubborn->lease);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_while_the_connection_greets),
        SCENE_TEST(test_in_line),
        SCENE_TEST(test_behind_a_blocking_command),
        SCENE_TEST(test_a_loss_behind_a_gap),
        SCENE_TEST(test_what_leaves_a_gap),
        SCENE_TEST(test_a_callback_that_goes_on),
    };
    return cmocka_run_group_tests_name("fault/leases_gap", tests, NULL, NULL);
}
