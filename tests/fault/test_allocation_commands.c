/* SPDX-License-Identifier: MIT */
/* Memory runs out at each point of what a connected client does.  (F32: I1 to I4) */
#include "support/failing/failing_trial.h"

#include <shoal/format.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIG_BYTES 200000

/* ---- commands in ---- */

static void one_command(trial_t *trial)
{
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

static void large_command(trial_t *trial)
{
    trial_submit(trial, "INCR", NULL);
    trial_submit_large(trial, BIG_BYTES);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

static void many_commands(trial_t *trial)
{
    for (int i = 0; i < 300; i++)
        trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

static void commands_at_once(trial_t *trial)
{
    trial_submit(trial, "INCR", NULL);
    trial_submit_many(trial, "INCR", 100, NULL);
    trial_settle(trial);
}

static void formatted_command(trial_t *trial)
{
    trial_command_t *command = trial_new_command(trial, "ECHO", NULL);

    command->rc = shoal_client_submitf(trial->scene->client, outcome_cb,
                                       &command->outcome, "ECHO %s", command->key);
    assert_true(command->rc == 0 || command->rc == SHOAL_ENOMEM);
    trial_settle(trial);
}

/* The members' fates are one: that of EXEC. */
static void unit(trial_t *trial)
{
    const shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_CONTIGUOUS};
    const shoal_command_t commands[] = {
        scene_words("MULTI", NULL), scene_words("INCR", "unit", NULL),
        scene_words("INCR", "unit", NULL), scene_words("EXEC", NULL)};
    outcome_series_t *series = scene_alloc(trial->scene, sizeof *series);

    *series = (outcome_series_t){scene_outcomes(trial->scene, 4), 0, 4};
    int rc = shoal_client_submit_many(trial->scene->client, commands, 4, &call,
                                      outcome_series_cb, series, NULL);
    assert_true(rc == 0 || rc == SHOAL_ENOMEM);
    if (rc == 0)
        TRIAL_WAIT(trial, outcome_series_count(series) == 4);
    size_t executed = fake_server_executed(trial->scene->server, 0, "EXEC", NULL);
    if (rc != 0 || series->outcomes[3].fate == SHOAL_FATE_NOT_EXECUTED)
        assert_int_equal(executed, 0);
    else if (series->outcomes[3].fate == SHOAL_FATE_REPLIED)
        assert_int_equal(executed, 1);
    assert_int_equal(fake_server_number(trial->scene->server, 0, "unit"), 2 * executed);
}

static void prepare_ready(trial_t *trial)
{
    trial_open_ready(trial, true);
}

/* Replies wait for the proof that they are right. */
static void prepare_strict(trial_t *trial)
{
    assert_int_equal(
        shoal_options_set_integrity(trial->scene->options, SHOAL_INTEGRITY_STRICT), 0);
    prepare_ready(trial);
}

/* ---- giving up ---- */

static void prepare_held(trial_t *trial)
{
    trial_hold_answer(trial, "ECHO", 0);
    assert_int_equal(
        shoal_options_set_outstanding_max(trial->scene->options, 400, 2, 1000000), 0);
    prepare_ready(trial);
}

static void cancelled(trial_t *trial)
{
    trial_command_t *held = trial_submit(trial, "ECHO", NULL);
    trial_command_t *written = trial_submit(trial, "INCR", NULL);
    trial_command_t *queued = trial_submit(trial, "INCR", NULL);
    trial_command_t *last = trial_submit(trial, "INCR", NULL);

    TRIAL_WAIT(trial, trial_has_come(trial, held));
    if (written->rc == 0)
        (void)shoal_client_cancel(trial->scene->client, written->ticket);
    if (queued->rc == 0)
        (void)shoal_client_cancel(trial->scene->client, queued->ticket);
    if (held->rc == 0)
        (void)shoal_client_cancel(trial->scene->client, held->ticket);
    fake_server_release(trial->scene->server);
    if (last->rc == 0)
        trial_settle(trial);
}

static void expired(trial_t *trial)
{
    const shoal_call_t soon = {.size = sizeof soon, .timeout_us = 2000000};
    trial_command_t *held = trial_submit(trial, "ECHO", NULL);

    for (int i = 0; i < 5; i++)
        trial_submit(trial, "INCR", &soon);
    TRIAL_WAIT(trial, trial_has_come(trial, held));
    failing_calls_jump(2000000);
    trial_pause(trial, waiting_now_us(), "");
    fake_server_release(trial->scene->server);
    trial_settle(trial);
}

/* ---- what the server says besides ---- */

static void prepare_loading(trial_t *trial)
{
    static const char *const names[] = {"INCR", "SET"};

    for (size_t i = 0; i < 2; i++)
        fake_server_rule(
            trial->scene->server,
            &(fake_rule_t){.command = names[i],
                           .times = 3 - (unsigned)i,
                           .reply = "-LOADING the dataset is loading\r\n"});
    prepare_ready(trial);
}

static void loading(trial_t *trial)
{
    for (int i = 0; i < 4; i++)
        trial_submit(trial, "INCR", NULL)->is_scripted = true;
    trial_settle(trial);
}

/* Larger than what the log keeps, so that it needs memory to be sent again. */
static void large_and_loading(trial_t *trial)
{
    enum { BYTES = 400000 };
    char *value = scene_alloc(trial->scene, BYTES);
    trial_command_t *set = trial_new_command(trial, "SET", NULL);
    const char *const argv[] = {"SET", set->key, value};

    set->is_scripted = true;
    memset(value, 'v', BYTES - 1);
    trial_submit_argv(trial, set, 3, argv, NULL);
    trial_settle(trial);
}

static void prepare_asides(trial_t *trial)
{
    fake_server_rule(trial->scene->server,
                     &(fake_rule_t){.command = "ECHO",
                                    .before =
                                        ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n"
                                        "|1\r\n$3\r\nttl\r\n:3600\r\n"});
    prepare_ready(trial);
}

static void asides(trial_t *trial)
{
    for (int i = 0; i < 3; i++)
        trial_submit(trial, "ECHO", NULL);
    trial_settle(trial);
}

static void prepare_idle(trial_t *trial)
{
    assert_int_equal(shoal_options_set_ping_idle_us(trial->scene->options, 1000000), 0);
    prepare_ready(trial);
}

static void idle(trial_t *trial)
{
    size_t before = fake_server_received(trial->scene->server, 0, "PING", NULL);

    failing_calls_jump(1000000);
    TRIAL_WAIT(trial,
               fake_server_received(trial->scene->server, 0, "PING", NULL) > before);
}

static void statistics(trial_t *trial)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;

    trial_submit(trial, "INCR", NULL);
    assert_int_equal(shoal_stats_get(trial->scene->client, &stats), 0);
    trial_settle(trial);
}

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

/* Keys of several connections, of one of them, and none. */
static void prepare_connections(trial_t *trial)
{
    fake_server_rule(trial->scene->server,
                     &(fake_rule_t){.command = "MSET", .reply = "+OK\r\n"});
    assert_int_equal(shoal_options_set_connections(trial->scene->options, 3), 0);
    trial_open_ready(trial, true);
}

static void connections(trial_t *trial)
{
    for (int i = 0; i < 3; i++) {
        trial_command_t *mset = trial_new_command(trial, "MSET", NULL);
        const char *const argv[] = {"MSET", mset->key, "1", "a", "2", "b", "3"};
        mset->is_scripted = true;
        trial_submit_many(trial, "INCR", 20, NULL);
        trial_submit_argv(trial, mset, 7, argv, NULL);
        trial_submit(trial, "ECHO", NULL);
    }
    trial_settle(trial);
}

static bool has_owners(const trial_t *trial)
{
    shoal_topology_snapshot_t *topology = NULL;
    bool has = shoal_topology_get(trial->scene->client, &topology) == 0 &&
               shoal_topology_owner(topology, 0) != NULL;

    shoal_topology_release(topology);
    return has;
}

/* A cluster of one node, which owns all slots; the client knows that. */
static void prepare_cluster(trial_t *trial)
{
    char *slots = scene_alloc(trial->scene, 128);
    int port = fake_server_port(trial->scene->server);

    snprintf(slots, 128,
             "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n"
             "$4\r\nnod0\r\n",
             port);
    fake_server_rule(
        trial->scene->server,
        &(fake_rule_t){.command = "CLUSTER", .argument = "SLOTS", .reply = slots});
    fake_server_rule(trial->scene->server,
                     &(fake_rule_t){.command = "MSET", .reply = "+OK\r\n"});
    assert_int_equal(
        shoal_options_set_topology(trial->scene->options, SHOAL_TOPOLOGY_CLUSTER), 0);
    trial_open_ready(trial, true);
    TRIAL_WAIT(trial, has_owners(trial));
}

static void split_command(trial_t *trial)
{
    const shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_MAY_SPLIT};

    for (int i = 0; i < 2; i++) {
        trial_command_t *mset = trial_new_command(trial, "MSET", &call);
        const char *const argv[] = {"MSET", mset->key, "1", "a", "2", "b", "3"};
        mset->is_scripted = true;
        trial_submit_argv(trial, mset, 7, argv, &call);
    }
    trial_settle(trial);
}

/* What a refused call had of its own is given back, too. */
static void command_for_a_node(trial_t *trial)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    char name[32];

    snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(trial->scene->server));
    call.route = SHOAL_ROUTE_NODE;
    call.route_node = name;
    trial_submit(trial, "INCR", &call);
    trial_settle(trial);
}

static const failing_scenario_t scenarios[] = {
    {"one command", NULL, one_command},
    {"a large command", NULL, large_command},
    {"many commands", NULL, many_commands},
    {"commands at once", NULL, commands_at_once},
    {"a formatted command", NULL, formatted_command},
    {"a unit", NULL, unit},
    {"cancel, written and queued", prepare_held, cancelled},
    {"deadlines, written and queued", prepare_held, expired},
    {"LOADING, sent again", prepare_loading, loading},
    {"LOADING, a large command sent again", prepare_loading, large_and_loading},
    {"push and attribute", prepare_asides, asides},
    {"a PING in idleness", prepare_idle, idle},
    {"statistics", NULL, statistics},
    {"several connections", prepare_connections, connections},
    {"a command for a node", prepare_cluster, command_for_a_node},
    {"a command that is split", prepare_cluster, split_command},
    {"close with drain", NULL, closed_with_drain},
    {"strict: many commands", prepare_strict, many_commands},
    {"strict: a unit", prepare_strict, unit},
};

int main(void)
{
    return failing_main("fault/allocation_commands", scenarios,
                        sizeof scenarios / sizeof *scenarios);
}
