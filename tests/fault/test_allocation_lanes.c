/* SPDX-License-Identifier: MIT */
/* Memory runs out at each point of what the bulk lane does.  (F32: I1 to I4) */
#include "support/failing/failing_trial.h"

#define BIG_BYTES 200000

static const shoal_call_t bulk = {.size = sizeof bulk, .flags = SHOAL_CALL_BULK};

static void allow_lane(trial_t *trial)
{
    assert_int_equal(shoal_options_set_bulk_lane(trial->scene->options, true), 0);
    trial_open_ready(trial, true);
}

/* The first bulk command has it opened. */
static void open_lane(trial_t *trial)
{
    allow_lane(trial);
    trial_submit(trial, "INCR", &bulk);
    TRIAL_WAIT(trial, trial->ready == 2);
    trial_submit(trial, "INCR", &bulk);
    trial_settle(trial);
    assert_true(scene_stats(trial->scene).bulk > 0);
}

static void opening(trial_t *trial)
{
    for (int i = 0; i < 3; i++) {
        trial_submit(trial, "INCR", &bulk);
        trial_submit(trial, "INCR", NULL);
        trial_settle(trial);
    }
}

static void bulk_commands(trial_t *trial)
{
    for (int i = 0; i < 4; i++) {
        trial_submit(trial, "INCR", NULL);
        trial_submit_many(trial, "INCR", 20, &bulk);
        trial_submit(trial, "INCR", &bulk);
    }
    trial_settle(trial);
}

static void large_command(trial_t *trial)
{
    trial_submit_large(trial, BIG_BYTES);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

/* They wait for the reply on the ordinary connection, and some are given up. */
static void in_the_pen(trial_t *trial)
{
    trial_command_t *held, *waiting[8];

    trial_hold_answer(trial, "ECHO", 0);
    held = trial_submit(trial, "ECHO", NULL);
    TRIAL_WAIT(trial, trial_has_come(trial, held));
    for (size_t i = 0; i < 8; i++)
        waiting[i] = trial_submit(trial, "INCR", &bulk);
    for (size_t i = 0; i < 8; i += 3)
        if (waiting[i]->rc == 0)
            (void)shoal_client_cancel(trial->scene->client, waiting[i]->ticket);
    fake_server_release(trial->scene->server);
    trial_settle(trial);
}

/* The next connection leads to another server process: what is left of the lane goes to the
 * ordinary connection. */
static void lost(trial_t *trial)
{
    fake_server_rule(
        trial->scene->server,
        &(fake_rule_t){.command = "INFO", .reply = "$13\r\nrun_id:beef\r\n\r\n"});
    fake_server_rule(trial->scene->server, &(fake_rule_t){.command = "ECHO",
                                                          .connection = 1,
                                                          .is_cut = true,
                                                          .then = FAKE_RESET});
    trial_submit(trial, "ECHO", NULL);
    for (int i = 0; i < 8; i++)
        trial_submit(trial, "INCR", &bulk);
    trial_settle(trial);
}

static const failing_scenario_t scenarios[] = {
    {"the lane is opened", allow_lane, opening},
    {"bulk commands", open_lane, bulk_commands},
    {"a large command by the lane", open_lane, large_command},
    {"bulk commands that wait", open_lane, in_the_pen},
    {"bulk commands without their lane", open_lane, lost},
};

int main(void)
{
    return failing_main("fault/allocation_lanes", scenarios,
                        sizeof scenarios / sizeof *scenarios);
}
