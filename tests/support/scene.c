/* SPDX-License-Identifier: MIT */
#include "support/scene.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;

struct scene_memory {
    struct scene_memory *next;
    max_align_t data[];
};

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    scene_events_t *events = data;
    (void)client;

    pthread_mutex_lock(&events_lock);
    switch (shoal_event_kind(event)) {
    case SHOAL_EVENT_CONNECTED:
        events->connected++;
        break;
    case SHOAL_EVENT_READY:
        events->ready++;
        if (strncmp(shoal_event_detail(event), "renewed", 7) == 0)
            snprintf(events->renewed, sizeof events->renewed, "%s",
                     shoal_event_detail(event));
        break;
    case SHOAL_EVENT_TLS_FILES:
    case SHOAL_EVENT_TLS_UNVERIFIED:
    case SHOAL_EVENT_RETRYING:
        break;
    case SHOAL_EVENT_SERVER_CHANGED:
        events->changed++;
        break;
    case SHOAL_EVENT_SENTINELS_LOST:
        events->silent++;
        break;
    case SHOAL_EVENT_MAINTENANCE:
    case SHOAL_EVENT_MAP_CHANGED:
        events->notices++;
        break;
    case SHOAL_EVENT_NODE_UP:
        events->nodes_up++;
        break;
    case SHOAL_EVENT_NODE_DOWN:
        events->nodes_down++;
        break;
    case SHOAL_EVENT_FAILOVER:
        events->failovers++;
        snprintf(events->heir, sizeof events->heir, "%s", shoal_event_server(event));
        break;
    case SHOAL_EVENT_REDIRECT_REFUSED:
        events->redirects_refused++;
        snprintf(events->redirect, sizeof events->redirect, "%s",
                 shoal_event_detail(event));
        break;
    case SHOAL_EVENT_ZONE_UNKNOWN:
    case SHOAL_EVENT_KEYSPACE_OFF:
        events->zones_unknown++;
        break;
    case SHOAL_EVENT_CREDENTIALS:
        events->credentials++;
        events->credentials_status = shoal_event_status(event);
        snprintf(events->credentials_detail, sizeof events->credentials_detail, "%s",
                 shoal_event_detail(event));
        break;
    case SHOAL_EVENT_LOST:
    case SHOAL_EVENT_ATTEMPT_FAILED:
        events->lost++;
        events->attempts_failed +=
            shoal_event_kind(event) == SHOAL_EVENT_ATTEMPT_FAILED;
        events->lost_auth += shoal_event_status(event) == SHOAL_EAUTH;
        events->lost_desync += shoal_event_status(event) == SHOAL_EDESYNC;
        events->lost_timeout += shoal_event_status(event) == SHOAL_ETIMEOUT;
        events->lost_conn += shoal_event_status(event) == SHOAL_ECONN;
        snprintf(events->detail, sizeof events->detail, "%s",
                 shoal_event_detail(event));
        break;
    }
    pthread_mutex_unlock(&events_lock);
}

static void point_to_server(scene_t *scene)
{
    const char *path = fake_server_path(scene->server);
    int rc = path ? shoal_options_set_unix_path(scene->options, path)
                  : shoal_options_set_address(scene->options, "127.0.0.1",
                                              fake_server_port(scene->server));
    assert_int_equal(rc, 0);
}

int scene_setup(void **state)
{
    scene_t *scene = fake_must(calloc(1, sizeof *scene));

    *state = scene;
    scene->server = fake_server_start(NULL);
    if (shoal_options_new(&scene->options) != 0)
        return -1;
    point_to_server(scene);
    assert_int_equal(shoal_options_set_timeout_us(scene->options, 25000000), 0);
    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, 60000000), 0);
    assert_int_equal(shoal_options_set_connect_timeout_us(
                         scene->options, WAITING_US_MAX, WAITING_US_MAX),
                     0);
    assert_int_equal(shoal_options_set_ping_idle_us(scene->options, 0), 0);
    assert_int_equal(shoal_options_set_backoff_us(scene->options, 1000, 5000), 0);
    assert_int_equal(
        shoal_options_set_on_event(scene->options, on_event, &scene->events), 0);
    return 0;
}

int scene_teardown(void **state)
{
    scene_t *scene = *state;
    int rc = 0;

    if (scene->client)
        rc = shoal_client_close_and_wait(scene->client, 0);
    shoal_client_release(scene->client);
    shoal_options_free(scene->options);
    unsigned broken = fake_server_broken(scene->server);
    fake_server_stop(scene->server);
    for (struct scene_memory *memory = scene->memory, *next; memory; memory = next) {
        next = memory->next;
        free(memory);
    }
    free(scene);
    if (broken)
        print_error("%u broken requests\n", broken);
    return rc != 0 || broken ? -1 : 0;
}

void scene_serve(scene_t *scene, const fake_config_t *config)
{
    fake_server_stop(scene->server);
    scene->server = fake_server_start(config);
    point_to_server(scene);
}

void scene_open(scene_t *scene)
{
    assert_int_equal(shoal_client_open(scene->options, &scene->client, NULL), 0);
}

void scene_open_ready(scene_t *scene)
{
    scene_open(scene);
    assert_int_equal(shoal_client_wait_ready(scene->client, WAITING_US_MAX), 0);
}

void scene_open_one(scene_t *scene)
{
    assert_int_equal(shoal_options_set_bulk_lane(scene->options, false), 0);
    scene_open_ready(scene);
}

void scene_close(scene_t *scene, uint64_t drain_us)
{
    shoal_client_t *client = scene->client;
    scene->client = NULL;
    assert_int_equal(shoal_client_close_and_wait(client, drain_us), 0);
    shoal_client_release(client);
}

void *scene_alloc(scene_t *scene, size_t bytes)
{
    struct scene_memory *memory = fake_must(calloc(1, sizeof *memory + bytes));
    memory->next = scene->memory;
    scene->memory = memory;
    return memory->data;
}

outcome_t *scene_outcomes(scene_t *scene, size_t count)
{
    return scene_alloc(scene, count * sizeof(outcome_t));
}

scene_events_t scene_events(scene_t *scene)
{
    pthread_mutex_lock(&events_lock);
    scene_events_t events = scene->events;
    pthread_mutex_unlock(&events_lock);
    return events;
}

shoal_stats_t scene_stats(const scene_t *scene)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;
    assert_int_equal(shoal_stats_get(scene->client, &stats), 0);
    return stats;
}

shoal_stats_t scene_idle_stats(const scene_t *scene)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;

    WAIT_FOR((stats = scene_stats(scene),
              stats.queued_now + stats.inflight_now + stats.bytes_now == 0));
    return stats;
}

shoal_command_t scene_words(const char *first, ...)
{
    static _Thread_local const char *words[32][8];
    static _Thread_local unsigned next;
    const char **argv = words[next++ % 32];
    shoal_command_t command = {0, argv, NULL};
    va_list args;

    va_start(args, first);
    for (const char *word = first; word; word = va_arg(args, const char *)) {
        if (command.argc == 8)
            abort();
        argv[command.argc++] = word;
    }
    va_end(args);
    return command;
}

uint64_t scene_submit(scene_t *scene, shoal_command_t command, const shoal_call_t *call,
                      outcome_t *outcome)
{
    uint64_t ticket = 0;
    int rc = shoal_client_submit_many(scene->client, &command, 1, call, outcome_cb,
                                      outcome, &ticket);
    if (rc != 0)
        fail_msg("submit %s: %s", command.argv[0], shoal_error_name(rc));
    return ticket;
}

void scene_await(const outcome_t *outcome)
{
    WAIT_FOR(outcome_is_done(outcome));
}

outcome_t scene_call(scene_t *scene, shoal_command_t command, const shoal_call_t *call)
{
    outcome_t *outcome = scene_outcomes(scene, 1);

    scene_submit(scene, command, call, outcome);
    scene_await(outcome);
    return *outcome;
}

void scene_call_many(scene_t *scene, const shoal_command_t *commands, size_t count,
                     const shoal_call_t *call, outcome_t *outcomes)
{
    outcome_series_t *series = scene_alloc(scene, sizeof *series);

    *series = (outcome_series_t){outcomes, 0, count};
    int rc = shoal_client_submit_many(scene->client, commands, count, call,
                                      outcome_series_cb, series, NULL);
    if (rc != 0)
        fail_msg("submit_many of %zu: %s", count, shoal_error_name(rc));
    WAIT_FOR(outcome_series_count(series) == count);
}

void scene_check(const outcome_t *outcome, int status, shoal_fate_t fate)
{
    scene_await(outcome);
    if (outcome->calls != 1 || outcome->status != status || outcome->fate != fate)
        fail_msg("want %s, %s; got: %s", shoal_error_name(status),
                 shoal_fate_name(fate), outcome_describe(outcome));
    assert_true(outcome->has_reply == (status == 0));
}

void scene_check_text(const outcome_t *outcome, const char *text)
{
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    if (outcome->type != SHOAL_REPLY_STRING && outcome->type != SHOAL_REPLY_STATUS)
        fail_msg("want '%s', got type %d", text, (int)outcome->type);
    assert_string_equal(outcome->text, text);
}

void scene_check_error(const outcome_t *outcome, const char *beginning)
{
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome->type, SHOAL_REPLY_ERROR);
    if (strncmp(outcome->text, beginning, strlen(beginning)) != 0)
        fail_msg("want '%s...', got '%s'", beginning, outcome->text);
}

void scene_check_works(scene_t *scene)
{
    static unsigned echoes;
    char text[40];

    snprintf(text, sizeof text, "echo %u", ++echoes);
    outcome_t outcome = scene_call(scene, scene_words("ECHO", text, NULL), NULL);
    scene_check_text(&outcome, text);
}

bool scene_is_settled(scene_t *scene)
{
    shoal_result_t *result;

    assert_int_equal(shoal_client_callf(scene->client, &result, "GET settled"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    bool is_settled = shoal_result_is_settled(result);
    shoal_result_release(result);
    return is_settled;
}
