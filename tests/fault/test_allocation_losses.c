/* SPDX-License-Identifier: MIT */
/* Memory runs out at each point of losing a connection and making the next.
 * (F32: I1 to I4, I7) */
#include "support/failing/failing_trial.h"

#include <string.h>

static void prepare_one_in_flight(trial_t *trial)
{
    trial_hold_answer(trial, "ECHO", 0);
    assert_int_equal(
        shoal_options_set_outstanding_max(trial->scene->options, 400, 1, 1000000), 0);
    trial_open_ready(trial, true);
}

/* What was not written waits for the next connection. */
static void lost_with_kept_commands(trial_t *trial)
{
    const trial_command_t *held = trial_submit(trial, "ECHO", NULL);

    for (int i = 0; i < 20; i++)
        trial_submit(trial, "INCR", NULL);
    TRIAL_WAIT(trial, trial_has_come(trial, held));
    fake_server_cut(trial->scene->server, FAKE_CUT_RESET);
    trial_settle(trial);
}

static void prepare_held(trial_t *trial)
{
    trial_hold_answer(trial, "ECHO", 0);
    trial_open_ready(trial, true);
}

static void prepare_strict(trial_t *trial)
{
    assert_int_equal(
        shoal_options_set_integrity(trial->scene->options, SHOAL_INTEGRITY_STRICT), 0);
    prepare_held(trial);
}

/* Written and not answered: some are sent again, of some nothing is known. */
static void lost_with_written_commands(trial_t *trial)
{
    const shoal_call_t again = {.size = sizeof again, .flags = SHOAL_CALL_IDEMPOTENT};
    const shoal_call_t once = {.size = sizeof once, .flags = SHOAL_CALL_ONCE};
    const trial_command_t *last = trial_submit(trial, "ECHO", NULL);

    for (int i = 0; i < 5; i++) {
        trial_submit(trial, "INCR", &again);
        trial_submit(trial, "GET", &once);
        const trial_command_t *next = trial_submit(trial, "INCR", NULL);
        if (next->rc == 0) /* else the cut might come before the answer is held */
            last = next;
    }
    TRIAL_WAIT(trial, trial_has_come(trial, last));
    fake_server_cut(trial->scene->server, FAKE_CUT_RESET);
    trial_settle(trial);
}

static void lost_with_a_unit(trial_t *trial)
{
    const shoal_call_t call = {.size = sizeof call,
                               .flags = SHOAL_CALL_CONTIGUOUS | SHOAL_CALL_IDEMPOTENT};
    const shoal_command_t commands[] = {scene_words("MULTI", NULL),
                                        scene_words("INCR", "unit", NULL),
                                        scene_words("EXEC", NULL)};
    const trial_command_t *held = trial_submit(trial, "ECHO", NULL);
    outcome_series_t *series = scene_alloc(trial->scene, sizeof *series);

    *series = (outcome_series_t){scene_outcomes(trial->scene, 3), 0, 3};
    int rc = shoal_client_submit_many(trial->scene->client, commands, 3, &call,
                                      outcome_series_cb, series, NULL);
    TRIAL_WAIT(trial, trial_has_come(trial, held));
    fake_server_cut(trial->scene->server, FAKE_CUT_FIN);
    if (rc == 0)
        TRIAL_WAIT(trial, outcome_series_count(series) == 3);
    int64_t number = fake_server_number(trial->scene->server, 0, "unit");
    if (rc != 0 || series->outcomes[2].fate == SHOAL_FATE_NOT_EXECUTED)
        assert_int_equal(number, 0);
    else if (series->outcomes[2].fate == SHOAL_FATE_REPLIED)
        assert_true(number >= 1);
}

/* ---- the reply has begun ---- */

static void prepare_half_a_reply(trial_t *trial)
{
    static const char reply[] = "*3\r\n$5\r\nhello\r\n$5\r\nworld\r\n:3\r\n";

    fake_server_rule(trial->scene->server, &(fake_rule_t){.command = "XRANGE",
                                                          .times = 1,
                                                          .reply = reply,
                                                          .is_executed = true,
                                                          .is_cut = true,
                                                          .cut_bytes = 20,
                                                          .then = FAKE_FIN});
    fake_server_rule(
        trial->scene->server,
        &(fake_rule_t){.command = "XRANGE", .reply = reply, .is_executed = true});
    trial_open_ready(trial, true);
}

static void submit_range(trial_t *trial, const shoal_call_t *call)
{
    trial_command_t *range = trial_new_command(trial, "XRANGE", call);
    const char *const argv[] = {"XRANGE", range->key, "-", "+"};

    range->is_scripted = true;
    trial_submit_argv(trial, range, 4, argv, call);
}

static void lost_within_a_reply(trial_t *trial)
{
    const shoal_call_t once = {.size = sizeof once, .flags = SHOAL_CALL_ONCE};

    submit_range(trial, &once);
    submit_range(trial, NULL);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

static void lost_within_a_reply_to_a_sink(trial_t *trial)
{
    trial_basin_t *basin = scene_alloc(trial->scene, sizeof *basin);
    const shoal_call_t call = {
        .size = sizeof call, .sink = &trial_sink, .sink_data = basin};
    const trial_command_t *range = &trial->commands[trial->count];

    submit_range(trial, &call);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
    bool is_whole = range->rc == 0 && range->outcome.status == 0;
    assert_int_equal(basin->depth, 0);
    assert_int_equal(basin->leaves, is_whole ? 3 : 0);
}

/* ---- other ways to lose it ---- */

static void prepare_demotion(trial_t *trial)
{
    fake_server_rule(trial->scene->server,
                     &(fake_rule_t){.command = "INCR",
                                    .times = 2,
                                    .reply = "-READONLY You can't write against a read "
                                             "only replica.\r\n"});
    trial_open_ready(trial, true);
}

static void renewed(trial_t *trial)
{
    for (int i = 0; i < 4; i++)
        trial_submit(trial, "INCR", NULL)->is_scripted = true;
    trial_settle(trial);
}

static void prepare_ready(trial_t *trial)
{
    trial_open_ready(trial, true);
}

static void refused_for_a_while(trial_t *trial)
{
    unsigned lost = trial->lost;

    fake_server_refuse(trial->scene->server, true);
    fake_server_cut(trial->scene->server, FAKE_CUT_RESET);
    TRIAL_WAIT(trial, trial->lost > lost);
    for (int i = 0; i < 5; i++)
        trial_submit(trial, "INCR", NULL);
    TRIAL_WAIT(trial, trial->lost > lost + 2);
    fake_server_refuse(trial->scene->server, false);
    trial_settle(trial);
}

static void prepare_offline_fails(trial_t *trial)
{
    assert_int_equal(
        shoal_options_set_offline_mode(trial->scene->options, SHOAL_OFFLINE_FAIL), 0);
    trial_hold_answer(trial, "ECHO", 0);
    trial_open_ready(trial, true);
}

/* The next command finds a connection, or it would fail like the others. */
static void lost_while_nothing_waits(trial_t *trial)
{
    unsigned lost = trial->lost;

    lost_with_written_commands(trial);
    TRIAL_WAIT(trial, trial->lost > lost && trial->is_up);
}

static void prepare_silence(trial_t *trial)
{
    assert_int_equal(shoal_options_set_stall_timeout_us(trial->scene->options, 2000000),
                     0);
    trial_hold_answer(trial, "ECHO", 0);
    trial_open_ready(trial, true);
}

static void silent(trial_t *trial)
{
    unsigned lost = trial->lost;
    const trial_command_t *held = trial_submit(trial, "ECHO", NULL);

    trial_submit(trial, "INCR", NULL);
    TRIAL_WAIT(trial, trial_has_come(trial, held));
    if (held->rc == 0 && trial->lost == lost)
        failing_calls_jump(2000000);
    trial_settle(trial);
}

static void prepare_closing(trial_t *trial)
{
    trial_hold_answer(trial, "ECHO", 0);
    trial_open_ready(trial, true);
}

/* Closed with commands in each state. */
static void closed_at_once(trial_t *trial)
{
    shoal_client_t *client = trial->scene->client;
    const trial_command_t *held = trial_submit(trial, "ECHO", NULL);

    TRIAL_WAIT(trial, trial_has_come(trial, held));
    for (int i = 0; i < 20; i++)
        trial_submit(trial, "INCR", NULL);
    trial->scene->client = NULL;
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

static const failing_scenario_t scenarios[] = {
    {"lost with kept commands", prepare_one_in_flight, lost_with_kept_commands},
    {"lost with written commands", prepare_held, lost_with_written_commands},
    {"strict: lost with written commands", prepare_strict, lost_with_written_commands},
    {"lost with a unit", prepare_held, lost_with_a_unit},
    {"strict: lost with a unit", prepare_strict, lost_with_a_unit},
    {"lost within a reply", prepare_half_a_reply, lost_within_a_reply},
    {"lost within a reply to a sink", prepare_half_a_reply,
     lost_within_a_reply_to_a_sink},
    {"renewed for READONLY", prepare_demotion, renewed},
    {"refused for a while", prepare_ready, refused_for_a_while},
    {"nothing waits for a connection", prepare_offline_fails, lost_while_nothing_waits},
    {"a silent server", prepare_silence, silent},
    {"closed at once", prepare_closing, closed_at_once},
};

int main(void)
{
    return failing_main("fault/allocation_losses", scenarios,
                        sizeof scenarios / sizeof *scenarios);
}
