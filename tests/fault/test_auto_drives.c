/* SPDX-License-Identifier: MIT */

/* A client finds out whether it has one server or a cluster, whoever runs its loop, and
 * whatever ends meanwhile. */

#include "support/lone_caller.h"
#include "support/process_state.h"
#include "support/scene.h"

#include <pthread.h>
#include <shoal/uv.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define KEY "foo"

static void serve(scene_t *scene, const fake_config_t *config)
{
    scene_serve(scene, config);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_AUTO),
                     0);
}

/* Nobody hears what the server is before it is released. */
static void hold_greeting(scene_t *scene)
{
    fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                   .times = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
}

static void check_kind(scene_t *scene, bool is_cluster)
{
    shoal_topology_snapshot_t *topology;

    assert_int_equal(shoal_topology_get(scene->client, &topology), 0);
    assert_int_equal(shoal_topology_kind(topology),
                     is_cluster ? SHOAL_TOPOLOGY_CLUSTER : SHOAL_TOPOLOGY_STANDALONE);
    shoal_topology_release(topology);
}

/* ---- the program runs the loop ---- */

#define MANY 50

static void submit_many(scene_t *scene, outcome_t *outcomes)
{
    char number[12];

    for (unsigned i = 0; i < MANY; i++) {
        snprintf(number, sizeof number, "%u", i);
        scene_submit(scene, WORDS("RPUSH", KEY, number), NULL, &outcomes[i]);
    }
}

static void check_many(const outcome_t *outcomes)
{
    for (unsigned i = 0; i < MANY; i++) {
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        assert_int_equal(outcomes[i].integer, i + 1);
    }
}

static void by_steps(void **state)
{
    scene_t *scene = *state;

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        outcome_t *outcomes = scene_outcomes(scene, MANY);
        serve(scene, &(fake_config_t){.identity.is_cluster = is_cluster});
        hold_greeting(scene);
        assert_int_equal(
            shoal_client_open_borrowed(scene->options, &scene->client, NULL), 0);
        while (fake_server_received(scene->server, 0, "HELLO", NULL) == 0)
            shoal_client_step(scene->client, 1000);
        submit_many(scene, outcomes);
        fake_server_release(scene->server);
        while (!outcome_is_done(&outcomes[MANY - 1]))
            shoal_client_step(scene->client, 1000);
        check_many(outcomes);
        check_kind(scene, is_cluster);
        scene_close(scene, 0);
    }
}

static void on_closed(void *data)
{
    *(bool *)data = true;
}

static void by_a_loop(void **state)
{
    scene_t *scene = *state;

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        outcome_t *outcomes = scene_outcomes(scene, MANY);
        bool *is_closed = scene_alloc(scene, sizeof *is_closed);
        uv_loop_t loop;
        assert_int_equal(uv_loop_init(&loop), 0);
        serve(scene, &(fake_config_t){.identity.is_cluster = is_cluster});
        assert_int_equal(
            shoal_client_open_uv(&loop, scene->options, &scene->client, NULL), 0);
        submit_many(scene, outcomes);
        while (!outcome_is_done(&outcomes[MANY - 1]))
            uv_run(&loop, UV_RUN_ONCE);
        check_many(outcomes);
        check_kind(scene, is_cluster);
        assert_int_equal(shoal_client_close(scene->client, 0, on_closed, is_closed), 0);
        shoal_client_release(scene->client);
        scene->client = NULL;
        while (!*is_closed)
            uv_run(&loop, UV_RUN_ONCE);
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&loop), 0);
    }
}

/* ---- callers ---- */

#define CALLERS 8
#define CALLS 50
#define VALUE_BYTES 40000

typedef struct caller {
    pthread_t thread;
    scene_t *scene;
    unsigned wrong;
} caller_t;

/* Also values that are lent: the call waits for its result. */
static void *call_often(void *data)
{
    caller_t *caller = data;
    static char value[VALUE_BYTES];
    const char *const argv[] = {"SET", KEY, value};
    const size_t argvlen[] = {3, strlen(KEY), VALUE_BYTES};

    for (unsigned i = 0; i < CALLS; i++) {
        shoal_result_t *result = NULL;
        caller->wrong +=
            shoal_client_call(caller->scene->client, 3, argv, argvlen, &result) != 0 ||
            shoal_result_status(result) != 0;
        shoal_result_release(result);
    }
    return NULL;
}

static void by_callers(void **state)
{
    scene_t *scene = *state;

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        caller_t *callers = scene_alloc(scene, CALLERS * sizeof *callers);
        serve(scene, &(fake_config_t){.identity.is_cluster = is_cluster});
        scene_open(scene);
        for (size_t i = 0; i < CALLERS; i++) {
            callers[i].scene = scene;
            assert_int_equal(
                pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
        }
        for (size_t i = 0; i < CALLERS; i++) {
            assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
            assert_int_equal(callers[i].wrong, 0);
        }
        check_kind(scene, is_cluster);
        assert_int_equal(fake_server_executed(scene->server, 0, "SET", NULL),
                         CALLERS * CALLS);
        shoal_stats_t stats = scene_idle_stats(scene);
        assert_int_equal(stats.commands, stats.completed);
        scene_close(scene, 0);
    }
}

/* The client has one server, and its thread runs the loop by itself. */
static void a_lone_caller_drives(void **state)
{
    scene_t *scene = *state;

    serve(scene, NULL);
    lone_caller_open(scene);
    lone_caller_become_direct(scene);
    check_kind(scene, false);
}

/* ---- ends ---- */

/* Of the child: before the client knows, or when it has just changed over. */
static void check_child(scene_t *scene, size_t before)
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        int wrong = shoal_client_after_fork_child(scene->client) != 0;
        /* Left are those of before, and the server's end of the connection. */
        if (wrong == 0 && process_sockets() > before + 1)
            wrong = 2;
        _exit(wrong);
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_child_leaves_nothing_behind(void **state)
{
    scene_t *scene = *state;

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        serve(scene, &(fake_config_t){.identity.is_cluster = is_cluster});
        hold_greeting(scene);
        size_t before = process_sockets();
        scene_open(scene);
        WAIT_FOR(fake_server_received(scene->server, 0, "HELLO", NULL) == 1);
        check_child(scene, before);
        fake_server_release(scene->server);
        scene_check_works(scene);
        WAIT_FOR(fake_server_open_now(scene->server) == 1);
        check_child(scene, before);
        scene_check_works(scene);
        check_kind(scene, is_cluster);
        scene_close(scene, 0);
    }
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    unsigned *statuses = data;
    (void)client;

    statuses[shoal_result_status(result) == SHOAL_ESHUTDOWN]++;
}

/* At any moment. */
static void a_close_gives_every_result(void **state)
{
    enum { ROUNDS = 60 };
    scene_t *scene = *state;
    const char *const argv[] = {"INCR", KEY};

    serve(scene, NULL);
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned *statuses = scene_alloc(scene, 2 * sizeof *statuses);
        scene_open(scene);
        for (unsigned n = 0; n < MANY; n++)
            assert_int_equal(shoal_client_submit(scene->client, 2, argv, NULL,
                                                 on_result, statuses, NULL),
                             0);
        waiting_sleep_us(i * 25);
        scene_close(scene, 0);
        assert_int_equal(statuses[0] + statuses[1], MANY);
    }
}

/* ---- credentials ---- */

static _Atomic unsigned asked;

static void provide(shoal_credentials_request_t *request, void *data)
{
    (void)data;
    asked++;
    (void)shoal_credentials_give(request, "ann", "old", 0);
}

/* The provider is asked once, and what it gave stays. */
static void credentials_stay(void **state)
{
    scene_t *scene = *state;

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        serve(scene, &(fake_config_t){.identity = {.is_cluster = is_cluster,
                                                   .user = "ann",
                                                   .password = "old"}});
        asked = 0;
        assert_int_equal(
            shoal_options_set_credentials_provider(scene->options, provide, NULL), 0);
        scene_open_ready(scene);
        scene_check_works(scene);
        check_kind(scene, is_cluster);
        assert_int_equal(asked, 1);
        scene_close(scene, 0);
    }
}

/* Before the client knows what the server is. */
static void credentials_that_are_set_stay(void **state)
{
    scene_t *scene = *state;

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        serve(scene, &(fake_config_t){.identity = {.is_cluster = is_cluster,
                                                   .user = "ann",
                                                   .password = "new"}});
        assert_int_equal(shoal_options_set_auth(scene->options, "ann", "old"), 0);
        scene_open(scene);
        WAIT_FOR(scene_events(scene).lost_auth >= 1);
        assert_int_equal(shoal_client_set_credentials(scene->client, "ann", "new"), 0);
        scene_check_works(scene);
        check_kind(scene, is_cluster);
        scene_close(scene, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(by_steps),
        TEST(by_a_loop),
        TEST(by_callers),
        TEST(a_lone_caller_drives),
        TEST(a_child_leaves_nothing_behind),
        TEST(a_close_gives_every_result),
        TEST(credentials_stay),
        TEST(credentials_that_are_set_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
