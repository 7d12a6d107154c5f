/* SPDX-License-Identifier: MIT */
/* Memory runs out at each point of what goes from thread to thread: the mailbox, blocking
 * calls, the direct path, completion queues, a fork.  (F32: I1 to I4, I14) */
#include "support/failing/failing_trial.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 10000 /* calls */

static void prepare_ready(trial_t *trial)
{
    trial_open_ready(trial, false);
}

/* ---- the mailbox ---- */

static void one_command(trial_t *trial)
{
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

static void commands_at_once(trial_t *trial)
{
    trial_submit_many(trial, "INCR", 100, NULL);
    trial_submit_many(trial, "ECHO", 200, NULL);
    trial_settle(trial);
}

static void large_command(trial_t *trial)
{
    trial_submit_large(trial, 300000);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

static void prepare_held(trial_t *trial)
{
    trial_hold_answer(trial, "ECHO", 0);
    assert_int_equal(
        shoal_options_set_outstanding_max(trial->scene->options, 4, 1, 1000000), 0);
    prepare_ready(trial);
}

static void cancelled(trial_t *trial)
{
    const trial_command_t *held = trial_submit(trial, "ECHO", NULL);
    const trial_command_t *queued = trial_submit(trial, "INCR", NULL);

    TRIAL_WAIT(trial, trial_has_come(trial, held));
    for (int i = 0; i < 2; i++) {
        const trial_command_t *command = i == 0 ? queued : held;
        int rc = command->rc == 0
                     ? shoal_client_cancel(trial->scene->client, command->ticket)
                     : 0;
        assert_true(rc == 0 || rc == SHOAL_ENOMEM || rc == SHOAL_ENOENT);
    }
    fake_server_release(trial->scene->server);
    trial_settle(trial);
}

/* Full: the third waits until the server goes on. */
static void wait_for_room(trial_t *trial)
{
    const shoal_call_t patient = {.size = sizeof patient,
                                  .flags = SHOAL_CALL_WAIT_FOR_ROOM};
    const trial_command_t *held = trial_submit(trial, "ECHO", NULL);

    TRIAL_WAIT(trial, trial_has_come(trial, held));
    for (int i = 0; i < 4; i++)
        trial_submit(trial, "INCR", NULL);
    fake_server_release(trial->scene->server);
    for (int i = 0; i < 8; i++)
        trial_submit(trial, "INCR", &patient);
    trial_settle(trial);
}

/* ---- blocking calls ---- */

static void prepare_reply(trial_t *trial)
{
    enum { COUNT = 2000 };
    char *reply = scene_alloc(trial->scene, 16 + COUNT * 8);
    int size = sprintf(reply, "*%d\r\n", COUNT);

    for (int i = 0; i < COUNT; i++)
        size += sprintf(reply + size, "$2\r\nab\r\n");
    fake_server_rule(
        trial->scene->server,
        &(fake_rule_t){.command = "XRANGE", .reply = reply, .is_executed = true});
    prepare_ready(trial);
}

static void blocking_calls(trial_t *trial)
{
    for (int i = 0; i < 5; i++) {
        trial_call(trial, "ECHO");
        trial_call(trial, "INCR");
    }
}

static void call_for_a_tree(trial_t *trial)
{
    shoal_result_t *results[3] = {NULL};
    const char *const argv[] = {"XRANGE", "k", "-", "+"};

    for (int i = 0; i < 3; i++) {
        int rc = shoal_client_call(trial->scene->client, 4, argv, NULL, &results[i]);
        assert_true(rc == SHOAL_ENOMEM || (rc == 0 && results[i]));
        if (rc == 0 && shoal_result_status(results[i]) == 0)
            assert_int_equal(shoal_reply_count(shoal_result_reply(results[i])), 2000);
    }
    for (int i = 0; i < 3; i++)
        shoal_result_release(results[i]);
}

static void prepare_string(trial_t *trial)
{
    enum { BYTES = 20000 };
    char *reply = scene_alloc(trial->scene, BYTES + 16);
    int size = sprintf(reply, "$%d\r\n", BYTES);

    memset(reply + size, 's', BYTES);
    memcpy(reply + size + BYTES, "\r\n", 3);
    fake_server_rule(
        trial->scene->server,
        &(fake_rule_t){.command = "GET", .reply = reply, .is_executed = true});
    prepare_ready(trial);
}

/* A string that stands alone has to be copied. */
static void call_for_a_string(trial_t *trial)
{
    for (int i = 0; i < 3; i++)
        trial_call(trial, "GET");
}

static uint64_t drives(const trial_t *trial)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;

    assert_int_equal(shoal_stats_get(trial->scene->client, &stats), 0);
    return stats.direct_calls;
}

/* Calls of a lone thread drive the connection themselves. */
static void prepare_direct(trial_t *trial)
{
    const char *const argv[] = {"ECHO", "alone"};

    prepare_reply(trial);
    for (int i = 0; drives(trial) == 0; i++) {
        shoal_result_t *result = NULL;
        assert_true(i < PATIENCE);
        assert_int_equal(
            shoal_client_call(trial->scene->client, 2, argv, NULL, &result), 0);
        shoal_result_release(result);
    }
}

static void direct_calls(trial_t *trial)
{
    blocking_calls(trial);
    call_for_a_tree(trial);
    blocking_calls(trial);
}

static void direct_large_call(trial_t *trial)
{
    enum { BYTES = 300000 };
    char *value = scene_alloc(trial->scene, BYTES);
    const char *const argv[] = {"SET", "large", value};
    shoal_result_t *result = NULL;

    memset(value, 'v', BYTES - 1);
    int rc = shoal_client_call(trial->scene->client, 3, argv, NULL, &result);
    assert_true(rc == 0 || (rc == SHOAL_ENOMEM && !result));
    shoal_result_release(result);
}

static void direct_call_meets_a_loss(trial_t *trial)
{
    fake_server_cut(trial->scene->server, FAKE_CUT_RESET);
    blocking_calls(trial);
}

/* ---- completion queues ---- */

static void completion_queue(trial_t *trial)
{
    enum { COUNT = 60 };
    const shoal_command_t commands[] = {scene_words("ECHO", "tagged", NULL),
                                        scene_words("XRANGE", "k", "-", "+", NULL)};
    shoal_completions_t *queue = NULL;
    shoal_completion_t batch[8];
    unsigned due = 0, taken = 0;

    if (shoal_completions_new(0, &queue) != 0)
        return;
    for (uint64_t tag = 0; tag < COUNT; tag++)
        due += shoal_completions_submit(queue, trial->scene->client, &commands[tag % 2],
                                        1, NULL, tag, NULL) == 0;
    while (taken < due) {
        int rc = shoal_completions_wait(queue, WAITING_US_MAX);
        assert_true(rc == 0 || rc == SHOAL_EINTR);
        taken += (unsigned)shoal_completions_take(queue, batch, 8);
    }
    assert_int_equal(taken, due);
    shoal_completions_free(queue);
}

/* Nobody takes anything: the results go with the queue. */
static void abandoned_queue(trial_t *trial)
{
    const shoal_command_t command = scene_words("XRANGE", "k", "-", "+", NULL);
    shoal_completions_t *queue = NULL;

    if (shoal_completions_new(0, &queue) != 0)
        return;
    for (uint64_t tag = 0; tag < 5; tag++)
        (void)shoal_completions_submit(queue, trial->scene->client, &command, 1, NULL,
                                       tag, NULL);
    shoal_completions_free(queue);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

/* ---- the end ---- */

static void closed_with_drain(trial_t *trial)
{
    shoal_client_t *client = trial->scene->client;

    for (int i = 0; i < 20; i++)
        trial_submit(trial, "INCR", NULL);
    trial->scene->client = NULL;
    assert_int_equal(shoal_client_close_and_wait(client, 20000000), 0);
    shoal_client_release(client);
    for (size_t i = 0; i < trial->count; i++)
        assert_true(trial->commands[i].rc != 0 ||
                    outcome_is_done(&trial->commands[i].outcome));
}

/* The child gives its copy up, which needs no memory, and the parent goes on. */
static void forked(trial_t *trial)
{
    trial_submit(trial, "INCR", NULL);
    pid_t child = fork();
    if (child == 0) {
        const char *const argv[] = {"INCR", "child"};
        int rc =
            shoal_client_submit(trial->scene->client, 2, argv, NULL, NULL, NULL, NULL);
        _exit(rc == SHOAL_EFORK &&
                      shoal_client_after_fork_child(trial->scene->client) == 0
                  ? 0
                  : 1);
    }
    int status = 0;
    assert_true(waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

static const failing_scenario_t scenarios[] = {
    {"one command", prepare_ready, one_command},
    {"commands at once", prepare_ready, commands_at_once},
    {"a large command", prepare_ready, large_command},
    {"cancel", prepare_held, cancelled},
    {"room is waited for", prepare_held, wait_for_room},
    {"blocking calls", prepare_ready, blocking_calls},
    {"blocking calls for trees", prepare_reply, call_for_a_tree},
    {"blocking calls for strings", prepare_string, call_for_a_string},
    {"direct calls", prepare_direct, direct_calls},
    {"a large direct call", prepare_direct, direct_large_call},
    {"a direct call meets a loss", prepare_direct, direct_call_meets_a_loss},
    {"a completion queue", prepare_reply, completion_queue},
    {"an abandoned queue", prepare_reply, abandoned_queue},
    {"close with drain", prepare_ready, closed_with_drain},
    {"a fork", prepare_ready, forked},
};

int main(void)
{
    return failing_main("fault/allocation_threads", scenarios,
                        sizeof scenarios / sizeof *scenarios);
}
