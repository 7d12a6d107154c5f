/* SPDX-License-Identifier: MIT */
/* Memory runs out at each point of what leases, and blocking commands, do.  (F32: I1 to I4) */
#include "support/failing/failing_trial.h"

/* What cannot be opened is not tried again. */
static shoal_lease_t *lease_open(trial_t *trial)
{
    shoal_lease_t *lease = NULL;
    int rc = shoal_lease_open(trial->scene->client, &lease);

    assert_true(rc == SHOAL_ENOMEM ? lease == NULL : rc == 0);
    return lease;
}

static void on_lease(trial_t *trial, shoal_lease_t *lease)
{
    shoal_call_t call = SHOAL_CALL_INIT;

    if (!lease)
        return;
    call.lease = lease;
    trial_submit(trial, "INCR", &call);
    trial_submit_many(trial, "INCR", 20, &call);
    trial_submit(trial, "INCR", &call);
}

static void one_lease(trial_t *trial)
{
    shoal_lease_t *lease = lease_open(trial);

    on_lease(trial, lease);
    trial_settle(trial);
    shoal_lease_close(lease);
    TRIAL_WAIT(trial, scene_stats(trial->scene).leases_now == 0);
}

static void some_leases(trial_t *trial)
{
    for (int i = 0; i < 4; i++) {
        shoal_lease_t *lease = lease_open(trial);
        on_lease(trial, lease);
        trial_submit(trial, "INCR", NULL);
        shoal_lease_close(lease);
    }
    trial_settle(trial);
    TRIAL_WAIT(trial, scene_stats(trial->scene).leases_now == 0);
}

/* It leaves a WATCH behind, which is undone. */
static void a_dirty_lease(trial_t *trial)
{
    shoal_lease_t *lease = lease_open(trial);
    shoal_call_t call = SHOAL_CALL_INIT;

    call.lease = lease;
    if (lease)
        trial_submit(trial, "WATCH", &call)->is_scripted = true;
    trial_settle(trial);
    shoal_lease_close(lease);
    TRIAL_WAIT(trial, scene_stats(trial->scene).leases_now == 0);
}

static void prepare_watch(trial_t *trial)
{
    fake_server_rule(trial->scene->server,
                     &(fake_rule_t){.command = "WATCH", .reply = "+OK\r\n"});
    fake_server_rule(trial->scene->server,
                     &(fake_rule_t){.command = "UNWATCH", .reply = "+OK\r\n"});
    trial_open_ready(trial, true);
}

static void prepare_blocking(trial_t *trial)
{
    fake_server_rule(trial->scene->server,
                     &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    trial_open_ready(trial, true);
}

static void blocking(trial_t *trial)
{
    for (int i = 0; i < 3; i++) {
        trial_command_t *command = trial_new_command(trial, "BLPOP", NULL);
        const char *const argv[] = {"BLPOP", command->key, "1"};
        command->is_scripted = true;
        trial_submit(trial, "INCR", NULL);
        trial_submit_argv(trial, command, 3, argv, NULL);
    }
    trial_settle(trial);
    TRIAL_WAIT(trial, scene_stats(trial->scene).leases_now == 0);
}

static const failing_scenario_t scenarios[] = {
    {"a lease", NULL, one_lease},
    {"some leases", NULL, some_leases},
    {"a lease to be cleaned", prepare_watch, a_dirty_lease},
    {"blocking commands", prepare_blocking, blocking},
};

int main(void)
{
    return failing_main("fault/allocation_leases", scenarios,
                        sizeof scenarios / sizeof *scenarios);
}
