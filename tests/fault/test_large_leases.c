/* SPDX-License-Identifier: MIT */

/* Large arguments of leased commands and of commands that block: they leave from the
 * caller's memory, too, and it is free when the last result is told. */

#include "support/loan.h"

#include <pthread.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define LARGE_BYTES 100000
#define HUGE_BYTES                                                                     \
    12582912 /* more than the system keeps for a server that reads nothing */

static shoal_lease_t *lease_open(scene_t *scene)
{
    shoal_lease_t *lease = NULL;

    assert_int_equal(shoal_lease_open(scene->client, &lease), 0);
    return lease;
}

/* BLPOP, whose key is the large argument. */
static shoal_command_t loan_blpop(large_t *large, const loan_t *loan)
{
    *large =
        (large_t){.argv = {"BLPOP", loan->memory, "0"}, .argvlen = {5, loan->bytes, 1}};
    return (shoal_command_t){3, large->argv, large->argvlen};
}

static void check_counts(scene_t *scene, uint64_t referred, uint64_t copied)
{
    shoal_stats_t stats = scene_idle_stats(scene);

    assert_int_equal(stats.bytes_referred, referred);
    assert_int_equal(stats.bytes_copied, copied);
    assert_int_equal(stats.bytes_now, 0);
}

/* ---- leases ---- */

static void test_a_lease_copies_nothing(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease;
    uint64_t referred = 0;
    large_t large;

    scene_serve(scene, &(fake_config_t){.buffer_bytes = 8192});
    scene_open_ready(scene);
    lease = lease_open(scene);
    for (int i = 0; i < 8; i++) {
        loan_t *loan = loan_new(scene, LARGE_BYTES);
        shoal_call_t call = loan_call(loan);
        shoal_result_t *result = NULL;
        outcome_t *outcome = scene_outcomes(scene, 1);

        /* By a blocking call, until its result; and until the release. */
        assert_int_equal(shoal_lease_call(lease, loan_set(&large, loan), NULL, &result),
                         0);
        assert_int_equal(shoal_result_status(result), 0);
        shoal_result_release(result);
        assert_int_equal(shoal_lease_submit(lease, loan_set(&large, loan), 1, &call,
                                            outcome_cb, outcome, NULL),
                         0);
        scene_await(outcome);
        scene_check(outcome, 0, SHOAL_FATE_REPLIED);
        assert_int_equal(loan->released, 1);
        referred += 2 * LARGE_BYTES;
    }
    check_counts(scene, referred, 0);
    shoal_lease_close(lease);
}

/* What waits for a connection counts against the bound, with the values. */
static void test_what_waits_for_a_connection(void **state)
{
    scene_t *scene = *state;
    loan_t *loans[2];
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_lease_t *lease;
    large_t large;

    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 4, 16, 150000),
                     0);
    scene_open_ready(scene);
    lease = lease_open(scene);
    fake_server_refuse(scene->server, true);
    for (int i = 0; i < 2; i++) {
        loans[i] = loan_new(scene, LARGE_BYTES);
        shoal_call_t call = loan_call(loans[i]);
        assert_int_equal(shoal_lease_submit(lease, loan_set(&large, loans[i]), 1, &call,
                                            outcome_cb, outcome, NULL),
                         i ? SHOAL_EFULL : 0);
    }
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    assert_int_equal(loans[0]->released, 0);
    assert_in_range(scene_stats(scene).bytes_now, LARGE_BYTES, LARGE_BYTES + 100);
    fake_server_refuse(scene->server, false);
    scene_await(outcome);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(loans[0]->released, 1);
    assert_int_equal(loans[1]->released, 0);
    loan_release(loans[1]);
    check_counts(scene, LARGE_BYTES, 0);
    shoal_lease_close(lease);
}

/* The link is lost while the value is partly written: the server never had the whole
 * command. */
static void test_a_link_is_lost_within_a_value(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    loan_t *loan = loan_new(scene, HUGE_BYTES);
    shoal_call_t call = loan_call(loan);
    shoal_lease_t *lease;
    uint64_t before;
    large_t large;

    scene_serve(scene, &(fake_config_t){.buffer_bytes = 8192});
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "stop",
                                                   .times = 1,
                                                   .then = FAKE_STOP_READING});
    scene_open_ready(scene);
    lease = lease_open(scene);
    call.lease = lease;
    shoal_call_t stop = SHOAL_CALL_INIT;
    stop.lease = lease;
    scene_call(scene, WORDS("ECHO", "stop"), &stop);
    before = scene_stats(scene).bytes_out;
    scene_submit(scene, *loan_set(&large, loan), &call, outcome);
    WAIT_FOR(scene_stats(scene).bytes_out >= before + 1000);
    assert_int_equal(loan->released, 0);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    scene_await(outcome);
    scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(loan->released, 1);
    assert_int_equal(fake_server_received(scene->server, 0, "SET", "k"), 0);
    shoal_lease_close(lease);
    scene_check_works(scene);
}

/* ---- commands that block ---- */

/* Given up before they have a connection, and when the server holds them. */
static void test_a_blocking_command_is_given_up(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3);
    uint64_t tickets[2];
    large_t large;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .times = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .is_swallowed = true});
    scene_open_ready(scene);
    scene_submit(scene, WORDS("INCR", "n"), NULL, &outcomes[2]);
    WAIT_FOR(fake_server_received(scene->server, 0, "INCR", NULL) == 1);
    for (int i = 0; i < 2; i++) {
        loan_t *loan = loan_new(scene, LARGE_BYTES);
        shoal_call_t call = loan_call(loan);
        tickets[i] = scene_submit(scene, loan_blpop(&large, loan), &call, &outcomes[i]);
        if (i == 1) {
            fake_server_release(scene->server); /* the first command is answered */
            WAIT_FOR(fake_server_received(scene->server, 2, "BLPOP", NULL) == 1);
        }
        assert_int_equal(loan->released, 0);
        assert_int_equal(shoal_client_cancel(scene->client, tickets[i]), 0);
        scene_await(&outcomes[i]);
        scene_check(&outcomes[i], SHOAL_ECANCELLED,
                    i ? SHOAL_FATE_UNKNOWN : SHOAL_FATE_NOT_EXECUTED);
        assert_int_equal(loan->released, 1);
    }
    scene_await(&outcomes[2]);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    check_counts(scene, 2 * LARGE_BYTES, 0);
}

/* ---- a loop that the program runs, and that is busy ---- */

typedef struct caller {
    shoal_lease_t *lease;
    loan_t *loan;
    outcome_t outcome;
    unsigned released; /* when the call came back */
} caller_t;

static void *call_on_lease(void *data)
{
    caller_t *caller = data;
    shoal_call_t call = loan_call(caller->loan);
    shoal_result_t *result = NULL;
    large_t large;

    call.timeout_us = 50000;
    if (shoal_lease_call(caller->lease, loan_set(&large, caller->loan), &call,
                         &result) == 0)
        outcome_read(&caller->outcome, result);
    caller->released = caller->loan->released;
    shoal_result_release(result);
    return NULL;
}

/* Its caller takes it back, with the memory. */
static void test_a_leased_call_is_taken_back(void **state)
{
    scene_t *scene = *state;
    caller_t *caller = scene_alloc(scene, sizeof *caller);
    pthread_t thread;

    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    while (scene_events(scene).ready == 0)
        assert_true(shoal_client_step(scene->client, 1000) >= 0);
    caller->lease = lease_open(scene);
    caller->loan = loan_new(scene, LARGE_BYTES);
    assert_int_equal(pthread_create(&thread, NULL, call_on_lease, caller), 0);
    pthread_join(thread, NULL);
    assert_int_equal(caller->outcome.status, SHOAL_ETIMEOUT);
    assert_int_equal(caller->outcome.fate, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(caller->released, 1);
    assert_int_equal(scene_stats(scene).bytes_now, 0);
    shoal_lease_close(caller->lease);
    while (scene_stats(scene).leases_now > 0)
        assert_true(shoal_client_step(scene->client, 1000) >= 0);
    assert_int_equal(fake_server_received(scene->server, 0, "SET", NULL), 0);
    assert_int_equal(shoal_client_close_and_wait(scene->client, 0), 0);
    shoal_client_release(scene->client);
    scene->client = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_lease_copies_nothing),
        SCENE_TEST(test_what_waits_for_a_connection),
        SCENE_TEST(test_a_link_is_lost_within_a_value),
        SCENE_TEST(test_a_blocking_command_is_given_up),
        SCENE_TEST(test_a_leased_call_is_taken_back),
    };
    return cmocka_run_group_tests_name("fault/large_leases", tests, NULL, NULL);
}
