/* SPDX-License-Identifier: MIT */

/* Large arguments, which leave from the caller's memory: what the server gets, and when the
 * memory is free. */

#include "support/loan.h"
#include "support/lone_caller.h"
#include "support/process_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define LARGE_BYTES 100000
#define HUGE_BYTES                                                                     \
    12582912 /* more than the system keeps for a server that reads nothing */

static void check_echo(const shoal_result_t *result, size_t bytes)
{
    size_t got_bytes = 0;
    const char *got = shoal_reply_string(shoal_result_reply(result), &got_bytes);

    assert_int_equal(shoal_result_status(result), 0);
    assert_int_equal(got_bytes, bytes);
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != loan_byte(i))
            fail_msg("byte %zu is another", i);
}

/* Through small buffers: it leaves in many parts. */
static void serve_narrowly(scene_t *scene)
{
    scene_serve(scene, &(fake_config_t){.buffer_bytes = 8192});
}

static void check_counts(const scene_t *scene, uint64_t referred, uint64_t copied)
{
    shoal_stats_t stats = scene_stats(scene);

    assert_int_equal(stats.bytes_referred, referred);
    assert_int_equal(stats.bytes_copied, copied);
}

/* ---- blocking calls ---- */

static void echo_blocking(scene_t *scene, loan_t *loan)
{
    shoal_result_t *result = NULL;
    large_t large;

    loan_echo(&large, loan);
    assert_int_equal(
        shoal_client_call(scene->client, 2, large.argv, large.argvlen, &result), 0);
    check_echo(result, loan->bytes);
    shoal_result_release(result);
}

static void test_a_blocking_call_copies_nothing(void **state)
{
    static const size_t sizes[] = {16383, 16384, 16385, 100000, 1048576, 3000000};
    scene_t *scene = *state;
    uint64_t referred = 0;

    serve_narrowly(scene);
    scene_open_ready(scene);
    for (int round = 0; round < 30; round++) { /* from some on it drives by itself */
        loan_t *loan =
            loan_new(scene, sizes[(size_t)round % (sizeof sizes / sizeof *sizes)]);
        echo_blocking(scene, loan);
        referred += loan->bytes < SHOAL_REFERENCE_BYTES_MIN ? 0 : loan->bytes;
        check_counts(scene, referred, 0);
        free(loan->memory);
    }
    assert_true(lone_caller_drives(scene) > 0);
}

/* Its memory is the caller's again, although not all of it has left. */
static void test_a_blocking_call_is_over_before_all_is_written(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = SHOAL_CALL_INIT;
    loan_t *loan = loan_new(scene, HUGE_BYTES);
    shoal_result_t *result = NULL;
    large_t large;
    bool is_begun;

    serve_narrowly(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "stop",
                                                   .then = FAKE_STOP_READING});
    scene_open_one(scene);
    scene_call(scene, WORDS("ECHO", "stop"), NULL);
    call.timeout_us = 1000000;
    assert_int_equal(
        shoal_client_call_with(scene->client, loan_set(&large, loan), &call, &result),
        0);
    assert_int_equal(shoal_result_status(result), SHOAL_ETIMEOUT);
    /* On a machine that is very busy nothing of it was written. */
    is_begun = shoal_result_fate(result) == SHOAL_FATE_UNKNOWN;
    shoal_result_release(result);
    loan_release(loan);
    if (is_begun)
        assert_in_range(scene_stats(scene).bytes_copied, 1, HUGE_BYTES - 1);
    fake_server_release(scene->server);
    scene_check_works(scene);
    assert_int_equal(fake_server_executed(scene->server, 1, "SET", "k"), is_begun);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

/* It may come back before its result: then its arguments are copied, unless they are
 * lent. */
static void test_a_pending_call(void **state)
{
    scene_t *scene = *state;
    uint64_t referred = 0, copied = 0;

    scene_open_ready(scene);
    for (int is_lent = 0; is_lent < 2; is_lent++) {
        loan_t *loan = loan_new(scene, LARGE_BYTES);
        shoal_call_t call = is_lent ? loan_call(loan) : (shoal_call_t)SHOAL_CALL_INIT;
        shoal_pending_t *pending = NULL;
        shoal_result_t *result = NULL;
        large_t large;

        fake_server_freeze(scene->server);
        assert_int_equal(shoal_client_call_begin(scene->client, loan_echo(&large, loan),
                                                 &call, 1000, &pending, &result),
                         SHOAL_EAGAIN);
        if (!is_lent)
            loan_release(loan);
        assert_int_equal(loan->released, !is_lent);
        memset(&large, 0, sizeof large);
        fake_server_release(scene->server);
        assert_int_equal(shoal_pending_wait(pending, SHOAL_TIMEOUT_NEVER, &result), 0);
        check_echo(result, LARGE_BYTES);
        shoal_result_release(result);
        assert_int_equal(loan->released, 1);
        *(is_lent ? &referred : &copied) += LARGE_BYTES;
        check_counts(scene, referred, copied);
    }
}

/* ---- submissions ---- */

static void on_echo(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    outcome_t *outcome = data;

    check_echo(result, LARGE_BYTES);
    outcome_cb(client, result, outcome);
}

static void test_without_a_release_it_is_copied(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    loan_t *loan = loan_new(scene, LARGE_BYTES);
    large_t large;

    scene_open_ready(scene);
    assert_int_equal(shoal_client_submit_many(scene->client, loan_echo(&large, loan), 1,
                                              NULL, on_echo, outcome, NULL),
                     0);
    loan_release(loan);
    scene_await(outcome);
    check_counts(scene, 0, LARGE_BYTES);
}

/* One release for all commands of a submission, large or small. */
static void test_one_release_for_each_submission(void **state)
{
    enum { COUNT = 8 };
    scene_t *scene = *state;
    uint64_t referred = 0;

    serve_narrowly(scene);
    scene_open_ready(scene);
    for (size_t count = 1; count <= COUNT; count++) {
        outcome_t *outcomes = scene_outcomes(scene, count);
        loan_t *loan = loan_new(scene, LARGE_BYTES);
        shoal_call_t call = loan_call(loan);
        shoal_command_t commands[COUNT];
        large_t large;

        /* Large ones in every other place, from the second on. */
        for (size_t i = 0; i < count; i++)
            commands[i] = i % 2 ? *loan_set(&large, loan) : WORDS("INCR", "n");
        for (size_t i = 1; i < count; i += 2)
            referred += LARGE_BYTES;
        scene_call_many(scene, commands, count, &call, outcomes);
        for (size_t i = 0; i < count; i++)
            scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        WAIT_FOR(loan->released == 1);
        check_counts(scene, referred, 0);
    }
}

static void test_a_unit(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 4);
    loan_t *loan = loan_new(scene, LARGE_BYTES);
    shoal_call_t call = loan_call(loan);
    large_t large;

    serve_narrowly(scene);
    scene_open_ready(scene);
    call.flags = SHOAL_CALL_CONTIGUOUS;
    const shoal_command_t commands[] = {WORDS("MULTI"), *loan_set(&large, loan),
                                        *loan_set(&large, loan), WORDS("EXEC")};
    scene_call_many(scene, commands, 4, &call, outcomes);
    for (size_t i = 0; i < 4; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(loan->released, 1);
    check_counts(scene, 2 * LARGE_BYTES, 0);
}

/* A submission that is refused has no release. */
static void test_what_is_refused_is_not_released(void **state)
{
    scene_t *scene = *state;
    loan_t *loan = loan_new(scene, LARGE_BYTES);
    shoal_call_t call = loan_call(loan);
    large_t large;

    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 4, 16, 150000),
                     0);
    scene_open_ready(scene);
    fake_server_freeze(scene->server);
    loan_set(&large, loan);

    const shoal_command_t three[] = {large.command, large.command};
    assert_int_equal(
        shoal_client_submit_many(scene->client, three, 2, &call, NULL, NULL, NULL),
        SHOAL_ETOOBIG);
    large.argv[0] = "SUBSCRIBE";
    large.argvlen[0] = 9;
    assert_int_equal(shoal_client_submit_many(scene->client, &large.command, 1, &call,
                                              NULL, NULL, NULL),
                     SHOAL_EREFUSED);
    loan_set(&large, loan);
    loan_t *first = loan_new(scene, LARGE_BYTES);
    shoal_call_t first_call = loan_call(first);
    large_t first_large;
    assert_int_equal(shoal_client_submit_many(scene->client,
                                              loan_set(&first_large, first), 1,
                                              &first_call, NULL, NULL, NULL),
                     0);
    /* Bytes that are lent count against the bound. */
    assert_int_equal(shoal_client_submit_many(scene->client, &large.command, 1, &call,
                                              NULL, NULL, NULL),
                     SHOAL_EFULL);
    assert_int_equal(loan->released, 0);
    assert_int_equal(scene_stats(scene).refused, 3);
    fake_server_release(scene->server);
    WAIT_FOR(first->released == 1);
    assert_int_equal(loan->released, 0);
    loan_release(loan);
}

static void test_a_completion_queue(void **state)
{
    scene_t *scene = *state;
    shoal_completions_t *completions = NULL;
    shoal_completion_t done;
    loan_t *loan = loan_new(scene, LARGE_BYTES);
    shoal_call_t call = loan_call(loan);
    large_t large;

    scene_open_ready(scene);
    assert_int_equal(shoal_completions_new(0, &completions), 0);
    assert_int_equal(shoal_completions_submit(completions, scene->client,
                                              loan_echo(&large, loan), 1, &call, 77,
                                              NULL),
                     0);
    while (shoal_completions_take(completions, &done, 1) == 0)
        assert_int_equal(shoal_completions_wait(completions, SHOAL_TIMEOUT_NEVER), 0);
    assert_int_equal(done.tag, 77);
    check_echo(done.result, LARGE_BYTES);
    assert_int_equal(loan->released, 1);
    check_counts(scene, LARGE_BYTES, 0);
    shoal_completions_free(completions);
}

/* ---- partly written ---- */

/* A value of which the server took a part only. */
static uint64_t submit_partly(scene_t *scene, loan_t *loan, outcome_t *outcome)
{
    shoal_call_t call = loan_call(loan);
    uint64_t before, ticket;
    large_t large;

    serve_narrowly(scene);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "stop",
                                                   .times = 1,
                                                   .then = FAKE_STOP_READING});
    scene_open_one(scene);
    scene_call(scene, WORDS("ECHO", "stop"), NULL);
    before = scene_stats(scene).bytes_out;
    ticket = scene_submit(scene, *loan_set(&large, loan), &call, outcome);
    WAIT_FOR(scene_stats(scene).bytes_out >= before + 1000);
    assert_int_equal(loan->released, 0);
    return ticket;
}

static void test_cancelled_when_partly_written(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    loan_t *loan = loan_new(scene, HUGE_BYTES);
    uint64_t ticket = submit_partly(scene, loan, outcome);

    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_await(outcome);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
    assert_int_equal(loan->released, 1);
    fake_server_release(scene->server);
    scene_check_works(scene);
    assert_int_equal(fake_server_executed(scene->server, 1, "SET", "k"), 1);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_lost_when_partly_written(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    loan_t *loan = loan_new(scene, HUGE_BYTES);

    submit_partly(scene, loan, outcome);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    scene_await(outcome);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(loan->released, 1);
    assert_int_equal(fake_server_executed(scene->server, 2, "SET", "k"), 1);
    check_counts(scene, HUGE_BYTES, 0);
}

static void test_closed_when_partly_written(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    loan_t *loan = loan_new(scene, HUGE_BYTES);

    submit_partly(scene, loan, outcome);
    scene_close(scene, 0);
    scene_check(outcome, SHOAL_ESHUTDOWN, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(loan->released, 1);
}

/* Nothing is given back in the child: the memory there is a copy. */
static void test_nothing_is_released_in_a_child(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    loan_t *loan;
    shoal_call_t call;
    large_t large;
    int status = -1;

    if (process_is_sanitized())
        skip(); /* locks stay as another thread left them: support/lone_fork.h */
    loan = loan_new(scene, LARGE_BYTES);
    call = loan_call(loan);
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    scene_submit(scene, *loan_set(&large, loan), &call, outcome);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        shoal_client_after_fork_child(scene->client);
        shoal_client_release(scene->client);
        _exit((int)loan->released);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    while (!outcome_is_done(outcome))
        assert_true(shoal_client_step(scene->client, 1000) >= 0);
    assert_int_equal(loan->released, 1);
}

/* ---- a loop that is the program's ---- */

typedef struct caller {
    scene_t *scene;
    loan_t *loan;
    shoal_call_t call;
    shoal_command_t command;
    large_t large;
    outcome_t outcome;
    pthread_t thread;
} caller_t;

static void *call_blocking(void *data)
{
    caller_t *caller = data;
    shoal_result_t *result = NULL;

    if (shoal_client_call_with(caller->scene->client,
                               loan_set(&caller->large, caller->loan), &caller->call,
                               &result) == 0)
        outcome_read(&caller->outcome, result);
    shoal_result_release(result);
    if (!caller->call.on_release)
        loan_release(caller->loan);
    return NULL;
}

/* The caller comes back without the loop, which then works with a copy, or with memory that
 * is still lent. */
static void check_busy_loop(scene_t *scene, bool is_lent, bool is_taken_over)
{
    caller_t *caller = scene_alloc(scene, sizeof *caller);
    loan_t *loan = loan_new(scene, LARGE_BYTES);
    uint64_t commands = scene_stats(scene).commands;

    caller->scene = scene;
    caller->loan = loan;
    caller->call = is_lent ? loan_call(loan) : (shoal_call_t)SHOAL_CALL_INIT;
    caller->call.timeout_us = 50000;
    if (is_taken_over) {
        caller->call.timeout_us = 2000000; /* the step comes before */
        fake_server_freeze(scene->server);
    }
    assert_int_equal(pthread_create(&caller->thread, NULL, call_blocking, caller), 0);
    WAIT_FOR(scene_stats(scene).commands == commands + 1);
    if (is_taken_over)
        assert_true(shoal_client_step(scene->client, 0) >= 0);
    pthread_join(caller->thread, NULL);
    assert_int_equal(caller->outcome.status, SHOAL_ETIMEOUT);
    assert_int_equal(caller->outcome.fate,
                     is_taken_over ? SHOAL_FATE_UNKNOWN : SHOAL_FATE_NOT_EXECUTED);
    if (is_taken_over)
        fake_server_release(scene->server);
    for (outcome_t *outcome = NULL; !outcome || !outcome_is_done(outcome);) {
        if (!outcome) {
            outcome = scene_outcomes(scene, 1);
            scene_submit(scene, WORDS("ECHO", "works"), NULL, outcome);
        }
        assert_true(shoal_client_step(scene->client, 1000) >= 0);
    }
    assert_int_equal(loan->released, 1);
}

static void test_callers_of_a_busy_loop(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    while (scene_events(scene).ready == 0)
        assert_true(shoal_client_step(scene->client, 1000) >= 0);
    for (int i = 0; i < 4; i++)
        check_busy_loop(scene, i & 1, i & 2);
    check_counts(scene, 2 * LARGE_BYTES, 2 * LARGE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_blocking_call_copies_nothing),
        SCENE_TEST(test_a_blocking_call_is_over_before_all_is_written),
        SCENE_TEST(test_a_pending_call),
        SCENE_TEST(test_without_a_release_it_is_copied),
        SCENE_TEST(test_one_release_for_each_submission),
        SCENE_TEST(test_a_unit),
        SCENE_TEST(test_what_is_refused_is_not_released),
        SCENE_TEST(test_a_completion_queue),
        SCENE_TEST(test_cancelled_when_partly_written),
        SCENE_TEST(test_lost_when_partly_written),
        SCENE_TEST(test_closed_when_partly_written),
        SCENE_TEST(test_nothing_is_released_in_a_child),
        SCENE_TEST(test_callers_of_a_busy_loop),
    };
    return cmocka_run_group_tests_name("fault/large_values", tests, NULL, NULL);
}
