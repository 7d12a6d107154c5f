/* SPDX-License-Identifier: MIT */
/* Commands that block, on a server that answers as the test wants. */
#include "support/lease_scene.h"

#include <string.h>

#define GRACE_US 1000000 /* for the word that a command was let go */

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
    lease_scene_submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, outcome, &ticket);
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
    lease_scene_submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, outcome, &ticket);
    WAIT_FOR(fake_server_received(scene->server, 2, "BLPOP", NULL) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
    assert_int_equal(fake_server_received(scene->server, 0, "CLIENT", "UNBLOCK"), 0);
}

/* A server that loses its role says that nothing was popped, and closes the connection, at
 * once or later: again, on another one. */
static void expect_again_after_unblock(scene_t *scene, fake_then_t then)
{
    outcome_t *outcome = scene_outcomes(scene, 1);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "BLPOP",
                       .times = 1,
                       .reply = "-UNBLOCKED force unblock from blocking operation, "
                                "instance state changed (master -> replica?)\r\n",
                       .then = then});
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "BLPOP", .reply = "*2\r\n$1\r\nk\r\n$1\r\nv\r\n"});
    if (then == FAKE_STAY)
        fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                       .connection = 3,
                                                       .is_cut = true,
                                                       .then = FAKE_HOLD});
    scene_open_ready(scene);
    scene_submit(scene, WORDS("BLPOP", "k", "0"), NULL, outcome);
    if (then == FAKE_STAY) {
        WAIT_FOR(fake_server_received(scene->server, 3, "HELLO", NULL) == 1);
        waiting_sleep_us(20000); /* no pause before a probe is as long */
        assert_int_equal(fake_server_received(scene->server, 0, "BLPOP", NULL), 1);
        fake_server_release(scene->server);
    }
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome->type, SHOAL_REPLY_ARRAY);
    assert_int_equal(fake_server_received(scene->server, 2, "BLPOP", NULL), 1);
    assert_int_equal(fake_server_received(scene->server, 0, "BLPOP", NULL), 2);
}

static void test_a_forced_unblock_is_no_end(void **state)
{
    expect_again_after_unblock(*state, FAKE_FIN);
}

static void test_a_forced_unblock_before_the_end(void **state)
{
    expect_again_after_unblock(*state, FAKE_STAY);
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
    lease_scene_submit(scene, NULL, WORDS("INCR", "k"), 0, &outcomes[0], NULL);
    lease_scene_submit(scene, NULL, WORDS("BLPOP", "k", "0"), 50000, &outcomes[1],
                       NULL);
    lease_scene_submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, &outcomes[2], &ticket);
    lease_scene_submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, &outcomes[3], NULL);
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

/* An UNBLOCK for the first must not hit the second: it is sent when the first is over. */
static void test_one_blocking_command_at_a_time(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = lease_scene_open_used(scene);
    outcome_t *outcomes = scene_outcomes(scene, 4);

    fake_server_rule(scene->server, &(fake_rule_t){.command = "BLPOP",
                                                   .argument = "a",
                                                   .reply = "*-1\r\n",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    lease_scene_submit(scene, lease, WORDS("BLPOP", "a", "0"), 0, &outcomes[0], NULL);
    lease_scene_submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[1], NULL);
    lease_scene_submit(scene, lease, WORDS("BLPOP", "b", "0"), 0, &outcomes[2], NULL);
    lease_scene_submit(scene, lease, WORDS("BLPOP", "c", "0"), 1000, &outcomes[3],
                       NULL);
    scene_await(&outcomes[3]); /* its deadline holds meanwhile */
    scene_check(&outcomes[3], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    WAIT_FOR(fake_server_received(scene->server, 2, "ECHO", "x") == 1);
    assert_int_equal(fake_server_received(scene->server, 2, "BLPOP", "a"), 1);
    assert_int_equal(fake_server_received(scene->server, 2, "BLPOP", "b"), 0);
    fake_server_release(scene->server);
    for (int i = 0; i < 3; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_received(scene->server, 2, "BLPOP", "c"), 0);
    shoal_lease_close(lease);
}

/* The first one was answered, but its UNBLOCK was not: it could hit the second yet. */
static void test_an_unblock_that_is_late(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = lease_scene_open_used(scene), *other;
    size_t rounds = 0;
    outcome_t *outcomes;
    uint64_t ticket, cancelled_us;

    other = lease_scene_open(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "CLIENT",
                                                   .argument = "UNBLOCK",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "BLPOP", .argument = "b", .reply = "*-1\r\n"});
    do { /* until the cancel comes before the answer */
        fake_server_rule(scene->server, &(fake_rule_t){.command = "BLPOP",
                                                       .argument = "a",
                                                       .times = 1,
                                                       .reply = "*-1\r\n",
                                                       .delay_us = 20000u << rounds});
        outcomes = scene_outcomes(scene, 2);
        lease_scene_submit(scene, lease, WORDS("BLPOP", "a", "0"), 0, &outcomes[0],
                           &ticket);
        lease_scene_submit(scene, lease, WORDS("BLPOP", "b", "0"), 0, &outcomes[1],
                           NULL);
        rounds++;
        WAIT_FOR(fake_server_received(scene->server, 2, "BLPOP", "a") == rounds);
        cancelled_us = waiting_now_us();
        assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
        scene_await(&outcomes[0]);
    } while (outcomes[0].status == 0);
    /* It is not known if the answer came too late for the library. */
    bool is_known = waiting_now_us() - cancelled_us < GRACE_US ||
                    outcomes[0].fate != SHOAL_FATE_UNKNOWN;
    scene_check(&outcomes[0], SHOAL_ECANCELLED,
                is_known ? SHOAL_FATE_NOT_EXECUTED : SHOAL_FATE_UNKNOWN);
    outcome_t outcome = lease_scene_ask(scene, other, WORDS("ECHO", "x"));
    scene_check_text(&outcome, "x");
    assert_int_equal(fake_server_received(scene->server, 2, "BLPOP", "b"), rounds - 1);
    fake_server_release(scene->server);
    scene_await(&outcomes[1]);
    /* After a second the library does not wait for the answer any more. */
    if (outcomes[1].status != 0)
        scene_check(&outcomes[1], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    shoal_lease_close(other);
    shoal_lease_close(lease);
}

/* The server loses its role while the command is being let go: it is not sent again. */
static void test_a_forced_unblock_after_a_cancel(void **state)
{
    scene_t *scene = *state;
    static const char *const errors[] = {
        "-UNBLOCKED force unblock from blocking operation, instance state changed\r\n",
        "-READONLY You can't write against a read only replica.\r\n"};
    outcome_t *outcomes = scene_outcomes(scene, 2);
    uint64_t ticket;

    for (size_t i = 0; i < 2; i++)
        fake_server_rule(scene->server, &(fake_rule_t){.command = "BLPOP",
                                                       .times = 1,
                                                       .reply = errors[i],
                                                       .is_cut = true,
                                                       .then = FAKE_HOLD});
    scene_open_ready(scene);
    for (size_t i = 0; i < 2; i++) {
        lease_scene_submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, &outcomes[i],
                           &ticket);
        WAIT_FOR(fake_server_received(scene->server, 0, "BLPOP", NULL) == i + 1);
        assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
        WAIT_FOR(fake_server_received(scene->server, 1, "CLIENT", "UNBLOCK") > i ||
                 outcome_is_done(&outcomes[i]));
        fake_server_release(scene->server);
        scene_await(&outcomes[i]);
    }
    /* If nobody stalled for a second, the errors say that nothing was popped. */
    for (size_t i = 0; i < 2; i++)
        if (outcomes[i].fate != SHOAL_FATE_UNKNOWN)
            scene_check(&outcomes[i], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(fake_server_received(scene->server, 0, "BLPOP", NULL), 2);
}

/* The server was not at the command yet, or its answer is on its way: asked again. */
static void test_an_unblock_that_finds_nothing(void **state)
{
    scene_t *scene = *state;
    size_t asked = 0, before;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .is_swallowed = true});
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "CLIENT", .argument = "UNBLOCK", .reply = ":0\r\n"});
    scene_open_ready(scene);
    for (int i = 0; i < 20 && asked < 2; i++) { /* less: the machine stood still */
        outcome_t *outcome = scene_outcomes(scene, 1);
        uint64_t ticket;
        before = fake_server_received(scene->server, 0, "BLPOP", NULL);
        lease_scene_submit(scene, NULL, WORDS("BLPOP", "k", "0"), 0, outcome, &ticket);
        WAIT_FOR(fake_server_received(scene->server, 0, "BLPOP", NULL) == before + 1);
        before = fake_server_received(scene->server, 1, "CLIENT", "UNBLOCK");
        assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
        scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
        asked = fake_server_received(scene->server, 1, "CLIENT", "UNBLOCK") - before;
    }
    assert_true(asked >= 2);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
}

/* The first attempt may have popped something, whatever the server says of the last. */
static void test_an_unblock_after_a_loss(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    const shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_IDEMPOTENT};

    fake_server_rule(scene->server, &(fake_rule_t){.command = "BLPOP",
                                                   .times = 1,
                                                   .is_swallowed = true,
                                                   .then = FAKE_RESET});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP",
                                    .reply = "-UNBLOCKED client unblocked\r\n",
                                    .is_cut = true,
                                    .then = FAKE_HOLD});
    scene_open_ready(scene);
    uint64_t ticket = scene_submit(scene, WORDS("BLPOP", "k", "0"), &call, outcome);
    WAIT_FOR(fake_server_received(scene->server, 0, "BLPOP", NULL) == 2);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    WAIT_FOR(fake_server_received(scene->server, 1, "CLIENT", "UNBLOCK") > 0 ||
             outcome_is_done(outcome));
    fake_server_release(scene->server);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
}

/* The server was not at it yet, so that UNBLOCK would hit another one: the connection is
 * closed, and nothing waits behind a command that blocks for nobody. */
static void test_given_up_behind_another_command(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = lease_scene_open_used(scene);
    outcome_t *outcomes = scene_outcomes(scene, 3);
    uint64_t ticket;

    fake_server_hold(scene->server, "INCR");
    lease_scene_submit(scene, lease, WORDS("INCR", "k"), 0, &outcomes[0], NULL);
    lease_scene_submit(scene, lease, WORDS("BLPOP", "k", "0"), 0, &outcomes[1],
                       &ticket);
    WAIT_FOR(fake_server_received(scene->server, 2, "BLPOP", NULL) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_check(&outcomes[1], SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
    lease_scene_submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[2], NULL);
    scene_check(&outcomes[2], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(fake_server_received(scene->server, 0, "CLIENT", "UNBLOCK"), 0);
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_silence_after_unblock),
        SCENE_TEST(test_unblock_is_for_the_same_process_only),
        SCENE_TEST(test_a_forced_unblock_is_no_end),
        SCENE_TEST(test_a_forced_unblock_before_the_end),
        SCENE_TEST(test_behind_earlier_commands),
        SCENE_TEST(test_one_blocking_command_at_a_time),
        SCENE_TEST(test_an_unblock_that_is_late),
        SCENE_TEST(test_a_forced_unblock_after_a_cancel),
        SCENE_TEST(test_an_unblock_that_finds_nothing),
        SCENE_TEST(test_an_unblock_after_a_loss),
        SCENE_TEST(test_given_up_behind_another_command),
    };
    return cmocka_run_group_tests_name("fault/leases_blocking", tests, NULL, NULL);
}
