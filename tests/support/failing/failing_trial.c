/* SPDX-License-Identifier: MIT */
#include "support/failing/failing_trial.h"

#include "support/process_state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define BURST 20          /* failures in a row */
#define CLEAN_RUNS 2      /* runs in a row without a failure, which end a sweep */
#define OPENINGS_MAX 1000 /* more than one opening has allocations */

/* ---- the client ---- */

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    trial_t *trial = data;
    (void)client;

    switch (shoal_event_kind(event)) {
    case SHOAL_EVENT_READY:
        trial->ready++;
        trial->is_up = true;
        break;
    case SHOAL_EVENT_LOST:
    case SHOAL_EVENT_ATTEMPT_FAILED:
        snprintf(trial->detail, sizeof trial->detail, "%s", shoal_event_detail(event));
        assert_true(trial->detail[0] != '\0'); /* there is always a cause */
        trial->desyncs += shoal_event_status(event) == SHOAL_EDESYNC;
        trial->is_up = false;
        trial->lost++;
        break;
    case SHOAL_EVENT_TLS_FILES:
    case SHOAL_EVENT_TLS_UNVERIFIED:
    case SHOAL_EVENT_RETRYING:
        failing_calls_jump(shoal_event_delay_us(event));
        break;
    case SHOAL_EVENT_CONNECTED:
    case SHOAL_EVENT_SERVER_CHANGED:
    case SHOAL_EVENT_SENTINELS_LOST:
    case SHOAL_EVENT_CREDENTIALS:
    case SHOAL_EVENT_MAINTENANCE:
    case SHOAL_EVENT_MAP_CHANGED:
    case SHOAL_EVENT_NODE_UP:
    case SHOAL_EVENT_NODE_DOWN:
    case SHOAL_EVENT_FAILOVER:
    case SHOAL_EVENT_REDIRECT_REFUSED:
    case SHOAL_EVENT_ZONE_UNKNOWN:
    case SHOAL_EVENT_KEYSPACE_OFF:
        break;
    }
}

void trial_begin(trial_t *trial)
{
    void *scene = NULL;

    *trial =
        (trial_t){.live = failing_memory_live(), .descriptors = process_descriptors()};
    assert_int_equal(scene_setup(&scene), 0);
    trial->scene = scene;
    trial->commands = scene_alloc(scene, TRIAL_COMMANDS_MAX * sizeof *trial->commands);
    assert_int_equal(shoal_options_set_on_event(trial->scene->options, on_event, trial),
                     0);
}

int trial_open(trial_t *trial, bool is_stepped)
{
    scene_t *scene = trial->scene;
    int rc = is_stepped
                 ? shoal_client_open_borrowed(scene->options, &scene->client, NULL)
                 : shoal_client_open(scene->options, &scene->client, NULL);

    trial->is_stepped = is_stepped;
    if (rc != 0)
        assert_null(scene->client);
    return rc;
}

void trial_open_ready(trial_t *trial, bool is_stepped)
{
    int rc;

    for (unsigned i = 0; (rc = trial_open(trial, is_stepped)) != 0; i++) {
        if (i == OPENINGS_MAX || (rc != SHOAL_ENOMEM && rc != SHOAL_ESYSTEM))
            fail_msg("open: %s", shoal_error_name(rc));
    }
    TRIAL_WAIT(trial, trial->ready > 0);
}

void trial_pause(trial_t *trial, uint64_t since_us, const char *condition)
{
    if (waiting_now_us() - since_us > 2 * (uint64_t)WAITING_US_MAX)
        fail_msg("never came true: %s; last loss: %s", condition, trial->detail);
    if (trial->is_stepped && trial->scene->client)
        assert_int_equal(shoal_client_step(trial->scene->client, 0), 0);
    waiting_sleep_us(50);
}

/* ---- commands ---- */

trial_command_t *trial_new_command(trial_t *trial, const char *name,
                                   const shoal_call_t *call)
{
    assert_true(trial->count < TRIAL_COMMANDS_MAX);
    trial_command_t *command = &trial->commands[trial->count++];

    command->name = name;
    snprintf(command->key, sizeof command->key, "k%zu", trial->count);
    command->is_repeatable =
        (call && (call->flags & SHOAL_CALL_IDEMPOTENT)) || strcmp(name, "INCR") != 0;
    return command;
}

void trial_submit_argv(trial_t *trial, trial_command_t *command, size_t argc,
                       const char *const *argv, const shoal_call_t *call)
{
    const shoal_command_t words = {argc, argv, NULL};

    command->is_sunk = call && call->sink;
    command->rc =
        shoal_client_submit_many(trial->scene->client, &words, 1, call, outcome_cb,
                                 &command->outcome, &command->ticket);
}

trial_command_t *trial_submit(trial_t *trial, const char *name,
                              const shoal_call_t *call)
{
    trial_command_t *command = trial_new_command(trial, name, call);
    const char *const argv[] = {name, command->key};

    trial_submit_argv(trial, command, 2, argv, call);
    return command;
}

/* All results come to one callback, which finds its command by the order of results. */
void trial_submit_large(trial_t *trial, size_t bytes)
{
    char *value = scene_alloc(trial->scene, bytes + 1);
    trial_command_t *set = trial_new_command(trial, "SET", NULL);
    const char *const argv[] = {"SET", set->key, value};

    memset(value, 'v', bytes);
    trial_submit_argv(trial, set, 3, argv, NULL);
}

void trial_submit_many(trial_t *trial, const char *name, size_t count,
                       const shoal_call_t *call)
{
    shoal_command_t words[TRIAL_COMMANDS_MAX];
    const char *argv[TRIAL_COMMANDS_MAX][2];
    trial_command_t *first = NULL;
    uint64_t ticket = 0;

    for (size_t i = 0; i < count; i++) {
        trial_command_t *command = trial_new_command(trial, name, call);
        first = first ? first : command;
        argv[i][0] = name;
        argv[i][1] = command->key;
        words[i] = (shoal_command_t){2, argv[i], NULL};
    }
    outcome_series_t *series = scene_alloc(trial->scene, sizeof *series);
    *series = (outcome_series_t){scene_outcomes(trial->scene, count), 0, count};
    int rc = shoal_client_submit_many(trial->scene->client, words, count, call,
                                      outcome_series_cb, series, &ticket);
    if (rc == 0)
        TRIAL_WAIT(trial, outcome_series_count(series) == count);
    for (size_t i = 0; i < count; i++) {
        first[i].rc = rc;
        first[i].ticket = ticket + i;
        first[i].outcome = series->outcomes[i];
    }
}

trial_command_t *trial_call(trial_t *trial, const char *name)
{
    trial_command_t *command = trial_new_command(trial, name, NULL);
    const char *const argv[] = {name, command->key};
    shoal_result_t *result = NULL;

    command->rc = shoal_client_call(trial->scene->client, 2, argv, NULL, &result);
    if (command->rc == 0) {
        outcome_read(&command->outcome, result);
        command->outcome.calls = 1;
    } else {
        assert_null(result);
    }
    shoal_result_release(result);
    return command;
}

bool trial_has_come(trial_t *trial, const trial_command_t *command)
{
    return command->rc != 0 || outcome_is_done(&command->outcome) ||
           fake_server_received(trial->scene->server, 0, command->name, command->key);
}

void trial_hold_answer(trial_t *trial, const char *name, size_t bytes)
{
    fake_server_rule(trial->scene->server, &(fake_rule_t){.command = name,
                                                          .times = 1,
                                                          .is_cut = true,
                                                          .cut_bytes = bytes,
                                                          .then = FAKE_HOLD});
}

/* ---- sinks ---- */

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    (void)leaf;
    ((trial_basin_t *)data)->leaves++;
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    (void)type;
    (void)count;
    ((trial_basin_t *)data)->depth++;
}

static void on_end(void *data)
{
    ((trial_basin_t *)data)->depth--;
}

static void on_reset(void *data)
{
    *(trial_basin_t *)data = (trial_basin_t){0};
}

const shoal_sink_t trial_sink = {on_leaf, on_begin, on_end, on_reset};

/* ---- after all ---- */

void trial_settle(trial_t *trial)
{
    for (size_t i = 0; i < trial->count; i++)
        if (trial->commands[i].rc == 0)
            TRIAL_WAIT(trial, outcome_is_done(&trial->commands[i].outcome));
}

void trial_check_works(trial_t *trial)
{
    trial_command_t *echo = trial_submit(trial, "ECHO", NULL);

    assert_int_equal(echo->rc, 0);
    TRIAL_WAIT(trial, outcome_is_done(&echo->outcome));
    scene_check_text(&echo->outcome, echo->key);
}

/* ---- the truth ---- */

static void check_reply(const trial_command_t *command)
{
    const outcome_t *outcome = &command->outcome;

    if (command->is_scripted || !outcome->has_reply)
        return;
    if (strcmp(command->name, "ECHO") == 0)
        assert_string_equal(outcome->text, command->key);
    if (strcmp(command->name, "INCR") == 0 && !command->is_repeatable)
        assert_int_equal(outcome->integer, 1);
}

static bool is_truth(const trial_command_t *command, size_t received, size_t executed)
{
    const outcome_t *outcome = &command->outcome;

    if (command->rc != 0)
        return (command->rc == SHOAL_ENOMEM || command->rc == SHOAL_EFULL) &&
               outcome->calls == 0 && received == 0;
    if (outcome->has_reply != (outcome->status == 0 && !command->is_sunk))
        return false;
    if (outcome->calls != 1 || (outcome->status == 0) != (outcome->fate == 0) ||
        (outcome->status != 0 && outcome->detail[0] == '\0'))
        return false;
    switch (outcome->fate) {
    case SHOAL_FATE_REPLIED:
        return command->is_scripted ||
               (command->is_repeatable ? executed >= 1 : executed == 1);
    case SHOAL_FATE_NOT_EXECUTED:
        return executed == 0;
    case SHOAL_FATE_UNKNOWN:
    case SHOAL_FATE_REPLY_LOST:
        return command->is_repeatable || executed <= 1;
    }
    return false;
}

static void check_command(const trial_t *trial, const trial_command_t *command)
{
    fake_server_t *server = trial->scene->server;
    size_t received = fake_server_received(server, 0, command->name, command->key);
    size_t executed = fake_server_executed(server, 0, command->name, command->key);

    if (!is_truth(command, received, executed))
        fail_msg("%s %s, submitted with %s: came %zu times, executed %zu times; %s",
                 command->name, command->key,
                 command->rc ? shoal_error_name(command->rc) : "0", received, executed,
                 outcome_describe(&command->outcome));
    check_reply(command);
}

void trial_end(trial_t *trial)
{
    scene_t *scene = trial->scene;
    size_t live = trial->live;

    if (scene->client) {
        shoal_client_t *client = scene->client;
        scene->client = NULL;
        assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
        shoal_client_release(client);
    }
    /* When the server has closed its end, it has executed all that was sent. */
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
    for (size_t i = 0; i < trial->count; i++)
        check_command(trial, &trial->commands[i]);
    if (trial->desyncs)
        fail_msg("%u losses as if the protocol were broken, the last: '%s'",
                 trial->desyncs, trial->detail);
    failing_calls_reset();
    trial->scene = NULL;
    void *state = scene;
    assert_int_equal(scene_teardown(&state), 0);
    /* A look-up may outlive its client, so the memory may be freed a moment later. */
    WAIT_FOR(failing_memory_live() == live);
    WAIT_FOR(process_descriptors() == trial->descriptors);
}

/* ---- sweeps ---- */

static size_t run_once(const failing_scenario_t *scenario, trial_t *trial, size_t skip,
                       size_t failures)
{
    trial_begin(trial);
    if (scenario->prepare)
        scenario->prepare(trial);
    else
        trial_open_ready(trial, true);
    failing_memory_arm(skip, failures);
    scenario->act(trial);
    size_t hits = failing_memory_disarm();
    if (trial->scene->client) {
        fake_server_forget_rules(trial->scene->server);
        fake_server_release(trial->scene->server);
        trial_settle(trial);
        trial_check_works(trial);
    }
    trial_end(trial);
    return hits;
}

static void sweep(const failing_scenario_t *scenario, trial_t *trial)
{
    static const size_t bursts[] = {1, BURST};
    size_t failures = 0, runs = 0;

    for (size_t i = 0; i < sizeof bursts / sizeof *bursts; i++) {
        unsigned clean = 0;
        for (size_t skip = 0; clean < CLEAN_RUNS; skip++, runs++) {
            size_t hits = run_once(scenario, trial, skip, bursts[i]);
            failures += hits;
            clean = hits > 0 ? 0 : clean + 1;
        }
    }
    print_message("             %-40s %5zu runs, %5zu failures\n", scenario->name, runs,
                  failures);
    if (failures == 0)
        fail_msg("%s: nothing was allocated", scenario->name);
}

int trial_setup(void **state)
{
    trial_t *trial = calloc(1, sizeof *trial);
    uv_loop_t loop;

    *state = trial;
    /* libuv's first loop opens a pipe that stays open: it must be there before the
     * trial counts descriptors. */
    if (uv_loop_init(&loop) < 0)
        return -1;
    return trial ? uv_loop_close(&loop) : -1;
}

int trial_teardown(void **state)
{
    trial_t *trial = *state;
    int rc = 0;

    (void)failing_memory_disarm();
    failing_calls_reset();
    if (trial->scene) { /* the test failed */
        void *scene = trial->scene;
        rc = scene_teardown(&scene);
    }
    free(trial);
    return rc;
}

/* ---- a program ---- */

static struct {
    const failing_scenario_t *scenarios;
    size_t count;
} program;

static void test_each_scenario(void **state)
{
    for (size_t i = 0; i < program.count; i++)
        sweep(&program.scenarios[i], *state);
}

int failing_main(const char *name, const failing_scenario_t *scenarios, size_t count)
{
    const struct CMUnitTest tests[] = {TRIAL_TEST(test_each_scenario)};

    program.scenarios = scenarios;
    program.count = count;
    failing_memory_install();
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}
