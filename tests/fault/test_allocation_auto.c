/* SPDX-License-Identifier: MIT */
/* Memory runs out at each point of a client's finding out what its server is, while commands
 * wait for that.  (F32: I1 to I4) */
#include "support/failing/failing_trial.h"

#include <stdio.h>

static void prepare(trial_t *trial, bool is_cluster)
{
    scene_serve(trial->scene, &(fake_config_t){.identity.is_cluster = is_cluster});
    assert_int_equal(
        shoal_options_set_topology(trial->scene->options, SHOAL_TOPOLOGY_AUTO), 0);
    fake_server_rule(trial->scene->server,
                     &(fake_rule_t){.command = "MSET", .reply = "+OK\r\n"});
}

static void prepare_one_server(trial_t *trial)
{
    prepare(trial, false);
}

static void prepare_cluster(trial_t *trial)
{
    prepare(trial, true);
}

static void open_it(trial_t *trial)
{
    trial_open_ready(trial, true);
}

/* Commands wait already. */
static void prepare_doubt(trial_t *trial, bool is_cluster)
{
    prepare(trial, is_cluster);
    fake_server_rule(trial->scene->server, &(fake_rule_t){.command = "HELLO",
                                                          .times = 1,
                                                          .is_cut = true,
                                                          .then = FAKE_HOLD});
    assert_int_equal(trial_open(trial, true), 0);
    TRIAL_WAIT(trial,
               fake_server_received(trial->scene->server, 0, "HELLO", NULL) == 1);
}

static void prepare_doubt_about_one_server(trial_t *trial)
{
    prepare_doubt(trial, false);
}

static void prepare_doubt_about_cluster(trial_t *trial)
{
    prepare_doubt(trial, true);
}

static void mset(trial_t *trial, uint32_t flags)
{
    shoal_call_t call = {.size = sizeof call, .flags = flags};
    trial_command_t *command = trial_new_command(trial, "MSET", &call);
    const char *const argv[] = {"MSET", command->key, "1", "a", "2"};

    command->is_scripted = true;
    trial_submit_argv(trial, command, 5, argv, &call);
}

static void submit_some(trial_t *trial, unsigned count, const shoal_call_t *call)
{
    while (count-- > 0)
        trial_submit(trial, "INCR", call);
}

static void commands_wait(trial_t *trial)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_lease_t *lease = NULL;
    char name[32];

    snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(trial->scene->server));
    submit_some(trial, 20, NULL);
    mset(trial, SHOAL_CALL_MAY_SPLIT);
    mset(trial, 0);
    (void)shoal_lease_open(trial->scene->client, &lease);
    call.lease = lease;
    if (lease)
        submit_some(trial, 3, &call);
    call.lease = NULL;
    call.route = SHOAL_ROUTE_NODE;
    call.route_node = name;
    trial_submit(trial, "INCR", &call);
    fake_server_release(trial->scene->server);
    trial_settle(trial);
    shoal_lease_close(lease);
    TRIAL_WAIT(trial, scene_stats(trial->scene).leases_now == 0);
}

static const failing_scenario_t scenarios[] = {
    {"one server", prepare_one_server, open_it},
    {"a cluster", prepare_cluster, open_it},
    {"commands wait for one server", prepare_doubt_about_one_server, commands_wait},
    {"commands wait for a cluster", prepare_doubt_about_cluster, commands_wait},
};

int main(void)
{
    return failing_main("fault/allocation_auto", scenarios,
                        sizeof scenarios / sizeof *scenarios);
}
