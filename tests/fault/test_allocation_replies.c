/* SPDX-License-Identifier: MIT */
/* Memory runs out at each point of a reply: on its way into a tree, a sink, a queue, or
 * a copy that a caller keeps.  (F32: I1 to I4) */
#include "support/failing/failing_trial.h"

#include <stdio.h>
#include <string.h>

#define BIG_BYTES 200000

static void rule(trial_t *trial, const char *command, const char *reply)
{
    fake_server_rule(
        trial->scene->server,
        &(fake_rule_t){.command = command, .reply = reply, .is_executed = true});
}

/* ---- trees ---- */

static void prepare_ready(trial_t *trial)
{
    trial_open_ready(trial, true);
}

static void scripted(trial_t *trial, const char *name)
{
    trial_submit(trial, "INCR", NULL);
    trial_submit(trial, name, NULL)->is_scripted = true;
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

static void get_reply(trial_t *trial)
{
    scripted(trial, "GET");
}

/* An array that is announced as larger than is believed at once. */
static void prepare_array(trial_t *trial)
{
    enum { COUNT = 40000 };
    char *reply = scene_alloc(trial->scene, 16 + COUNT * 4);
    int size = sprintf(reply, "*%d\r\n", COUNT);

    for (int i = 0; i < COUNT; i++)
        size += sprintf(reply + size, ":%d\r\n", i % 10);
    rule(trial, "LRANGE", reply);
    prepare_ready(trial);
}

static void array_reply(trial_t *trial)
{
    trial_command_t *range = trial_new_command(trial, "LRANGE", NULL);
    const char *const argv[] = {"LRANGE", range->key, "0", "-1"};

    range->is_scripted = true;
    trial_submit_argv(trial, range, 4, argv, NULL);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
    assert_true(!range->outcome.has_reply || range->outcome.type == SHOAL_REPLY_ARRAY);
}

#define LONG_BYTES 3000

/* [["a", 1, 1.5], [["hello", "000...0007"]]]: the last is a block of its own. */
static void prepare_nested(trial_t *trial)
{
    char *nested = scene_alloc(trial->scene, LONG_BYTES + 100);

    sprintf(nested,
            "*2\r\n*3\r\n$1\r\na\r\n:1\r\n,1.5\r\n*1\r\n"
            "*2\r\n$5\r\nhello\r\n$%d\r\n%0*d\r\n",
            LONG_BYTES, LONG_BYTES, 7);
    rule(trial, "XRANGE", nested);
    rule(trial, "HGETALL", "%2\r\n$1\r\na\r\n$3\r\none\r\n$1\r\nb\r\n$3\r\ntwo\r\n");
    rule(trial, "SMEMBERS", "~2\r\n$1\r\na\r\n$1\r\nb\r\n");
    prepare_ready(trial);
}

static void prepare_strict_nested(trial_t *trial)
{
    assert_int_equal(
        shoal_options_set_integrity(trial->scene->options, SHOAL_INTEGRITY_STRICT), 0);
    prepare_nested(trial);
}

static void nested_replies(trial_t *trial)
{
    static const char *const names[] = {"HGETALL", "SMEMBERS", "XRANGE"};
    static const shoal_reply_type_t types[] = {SHOAL_REPLY_MAP, SHOAL_REPLY_SET,
                                               SHOAL_REPLY_ARRAY};

    for (size_t i = 0; i < 3; i++) {
        trial_command_t *command = trial_new_command(trial, names[i], NULL);
        const char *const argv[] = {names[i], command->key, "-", "+"};
        command->is_scripted = true;
        trial_submit_argv(trial, command, i == 2 ? 4 : 2, argv, NULL);
        trial_submit(trial, "INCR", NULL);
        trial_settle(trial);
        assert_true(!command->outcome.has_reply || command->outcome.type == types[i]);
    }
}

static void prepare_big_bulk(trial_t *trial)
{
    char *reply = scene_alloc(trial->scene, BIG_BYTES + 32);
    int size = sprintf(reply, "$%d\r\n", BIG_BYTES);

    scene_serve(trial->scene, &(fake_config_t){.chunk_bytes = 30000});
    memset(reply + size, 'b', BIG_BYTES);
    memcpy(reply + size + BIG_BYTES, "\r\n", 3);
    rule(trial, "GET", reply);
    prepare_ready(trial);
}

/* A result callback that keeps the reply, twice over. */
typedef struct keeper {
    outcome_t outcome;
    const shoal_reply_t *kept;
} keeper_t;

static void on_keep(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    keeper_t *keeper = data;

    if (shoal_result_reply(result))
        keeper->kept = shoal_reply_retain(shoal_result_reply(result));
    outcome_cb(client, result, &keeper->outcome);
}

static void check_nested(const shoal_reply_t *reply)
{
    size_t bytes = 0;
    const shoal_reply_t *pair = shoal_reply_at(shoal_reply_at(reply, 1), 0);

    assert_memory_equal(shoal_reply_string(shoal_reply_at(pair, 0), &bytes), "hello",
                        5);
    const char *text = shoal_reply_string(shoal_reply_at(pair, 1), &bytes);
    assert_int_equal(bytes, LONG_BYTES);
    assert_int_equal(text[0], '0');
    assert_int_equal(text[LONG_BYTES - 1], '7');
}

/* They outlive those that came later. */
static void retained_replies(trial_t *trial)
{
    enum { COUNT = 6 };
    const char *const range[] = {"XRANGE", "k", "-", "+"};
    const char *const echo[] = {"ECHO", "kept"};
    keeper_t *keepers = scene_alloc(trial->scene, COUNT * sizeof *keepers);

    for (int i = 0; i < COUNT; i++) {
        int rc =
            shoal_client_submit(trial->scene->client, i % 2 ? 4 : 2,
                                i % 2 ? range : echo, NULL, on_keep, &keepers[i], NULL);
        if (rc == 0)
            TRIAL_WAIT(trial, outcome_is_done(&keepers[i].outcome));
        assert_int_equal(keepers[i].outcome.calls, rc == 0);
    }
    for (int i = 0; i < COUNT; i++) {
        if (keepers[i].kept && i % 2)
            check_nested(keepers[i].kept);
        else if (keepers[i].kept)
            assert_memory_equal(shoal_reply_string(keepers[i].kept, NULL), "kept", 4);
        shoal_reply_release(keepers[i].kept);
    }
}

/* ---- sinks ---- */

static void sink_replies(trial_t *trial)
{
    trial_basin_t *basin = scene_alloc(trial->scene, 3 * sizeof *basin);

    for (int i = 0; i < 3; i++) {
        const shoal_call_t call = {
            .size = sizeof call, .sink = &trial_sink, .sink_data = &basin[i]};
        trial_command_t *command = trial_new_command(trial, "XRANGE", NULL);
        const char *const argv[] = {"XRANGE", command->key, "-", "+"};
        command->is_scripted = true;
        trial_submit_argv(trial, command, 4, argv, &call);
    }
    trial_settle(trial);
    for (int i = 0; i < 3; i++) {
        bool is_whole =
            trial->commands[i].rc == 0 && trial->commands[i].outcome.status == 0;
        assert_int_equal(basin[i].depth, 0);
        assert_int_equal(basin[i].leaves, is_whole ? 5 : 0);
    }
}

/* ---- completion queues ---- */

static void completion_queue(trial_t *trial)
{
    enum { COUNT = 90 };
    const shoal_command_t commands[] = {scene_words("ECHO", "tagged", NULL),
                                        scene_words("XRANGE", "k", "-", "+", NULL)};
    shoal_completions_t *queue = NULL;
    const shoal_reply_t *kept = NULL;
    shoal_completion_t batch[8];
    unsigned due = 0, taken = 0;

    if (shoal_completions_new(0, &queue) != 0)
        return;
    for (uint64_t tag = 0; tag < COUNT; tag++)
        due += shoal_completions_submit(queue, trial->scene->client, &commands[tag % 2],
                                        1, NULL, tag, NULL) == 0;
    uint64_t since_us = waiting_now_us();
    while (taken < due) {
        size_t count = shoal_completions_take(queue, batch, 8);
        for (size_t i = 0; i < count; i++) {
            const shoal_reply_t *reply = shoal_result_reply(batch[i].result);
            if (reply && batch[i].tag % 2)
                check_nested(reply);
            if (reply && !kept)
                kept = shoal_reply_retain(reply);
            assert_true(reply || shoal_result_status(batch[i].result) != 0);
        }
        taken += (unsigned)count;
        trial_pause(trial, since_us, "all results came");
    }
    assert_int_equal(taken, due);
    shoal_reply_release(kept);
    shoal_completions_free(queue);
}

static const failing_scenario_t scenarios[] = {
    {"a large array", prepare_array, array_reply},
    {"map, set and nested arrays", prepare_nested, nested_replies},
    {"a big string in pieces", prepare_big_bulk, get_reply},
    {"replies that are kept", prepare_nested, retained_replies},
    {"sinks", prepare_nested, sink_replies},
    {"a completion queue", prepare_nested, completion_queue},
    {"strict: map, set and nested arrays", prepare_strict_nested, nested_replies},
    {"strict: replies that are kept", prepare_strict_nested, retained_replies},
    {"strict: sinks", prepare_strict_nested, sink_replies},
    {"strict: a completion queue", prepare_strict_nested, completion_queue},
};

int main(void)
{
    return failing_main("fault/allocation_replies", scenarios,
                        sizeof scenarios / sizeof *scenarios);
}
