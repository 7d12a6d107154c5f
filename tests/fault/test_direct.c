/* SPDX-License-Identifier: MIT */

/* A lone thread in a blocking call drives the connection itself.  What happens to it
 * there, and how the background thread takes over. */

#include "support/lone_caller.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* ---- alone ---- */

static void test_lone_calls_drive(void **state)
{
    enum { CALLS = 300 };
    scene_t *scene = *state;

    lone_caller_open(scene);
    shoal_stats_t before = scene_stats(scene);
    for (int i = 0; i < CALLS; i++)
        lone_caller_echo(scene, "x");
    shoal_stats_t after = scene_idle_stats(scene);
    /* A look of the background thread may take a few of them. */
    assert_true(after.direct_calls - before.direct_calls > CALLS / 2);
    assert_int_equal(after.completed, after.commands);
}

static void test_a_large_reply_in_pieces(void **state)
{
    enum { BYTES = 100000 };
    scene_t *scene = *state;
    char *value = scene_alloc(scene, BYTES + 1);
    outcome_t outcome = {0};
    shoal_result_t *result = NULL;
    const char *const get[] = {"GET", "k"};

    scene_serve(scene, &(fake_config_t){.chunk_bytes = 10000});
    lone_caller_open(scene);
    memset(value, 'v', BYTES);
    scene_call(scene, WORDS("SET", "k", value), NULL);
    lone_caller_become_direct(scene);
    uint64_t before = lone_caller_drives(scene);
    assert_int_equal(shoal_client_call(scene->client, 2, get, NULL, &result), 0);
    assert_int_equal(lone_caller_drives(scene), before + 1);
    outcome_read(&outcome, result);
    shoal_result_release(result);
    assert_int_equal(outcome.bytes, BYTES);
}

/* The command is kept for another attempt while its caller drives. */
static void test_retried_error_replies(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    size_t rule = fake_server_rule(scene->server,
                                   &(fake_rule_t){.command = "ECHO",
                                                  .argument = "again",
                                                  .times = 2,
                                                  .reply = "-LOADING not yet\r\n"});
    uint64_t before = lone_caller_drives(scene);
    lone_caller_echo(scene, "again");
    assert_int_equal(lone_caller_drives(scene), before + 1);
    assert_int_equal(fake_server_hits(scene->server, rule), 2);
}

static void test_refused_in_a_direct_call(void **state)
{
    scene_t *scene = *state;
    const char *const argv[] = {"SUBSCRIBE", "c"};
    shoal_result_t *result = NULL;

    lone_caller_open(scene);
    assert_int_equal(shoal_client_call(scene->client, 2, argv, NULL, &result),
                     SHOAL_EREFUSED);
    assert_null(result);
    lone_caller_echo(scene, "x");
}

static void ignore_leaf(const shoal_reply_t *leaf, void *data)
{
    (void)leaf;
    *(pthread_t *)data = pthread_self();
}

static void ignore_begin(shoal_reply_type_t type, size_t count, void *data)
{
    (void)type;
    (void)count;
    (void)data;
}

static void ignore_mark(void *data)
{
    (void)data;
}

static const shoal_sink_t sink = {ignore_leaf, ignore_begin, ignore_mark, ignore_mark};

/* A sink is a callback, and callbacks are not for the caller's thread. */
static void test_a_call_with_a_sink_does_not_drive(void **state)
{
    scene_t *scene = *state;
    pthread_t thread = pthread_self();
    shoal_command_t command = WORDS("ECHO", "x");
    shoal_call_t extras = {.size = sizeof extras, .sink = &sink, .sink_data = &thread};
    shoal_result_t *result = NULL;

    lone_caller_open(scene);
    uint64_t before = lone_caller_drives(scene);
    assert_int_equal(shoal_client_call_with(scene->client, &command, &extras, &result),
                     0);
    assert_int_equal(shoal_result_status(result), 0);
    shoal_result_release(result);
    assert_int_equal(lone_caller_drives(scene), before);
    assert_false(pthread_equal(thread, pthread_self()));
}

/* Unless the caller says that it may run there. */
static void test_a_call_with_a_sink_of_its_own_drives(void **state)
{
    scene_t *scene = *state;
    pthread_t thread = {0};
    shoal_command_t command = WORDS("ECHO", "x");
    shoal_call_t extras = {.size = sizeof extras,
                           .flags = SHOAL_CALL_SINK_HERE,
                           .sink = &sink,
                           .sink_data = &thread};
    shoal_result_t *result = NULL;

    lone_caller_open(scene);
    uint64_t before = lone_caller_drives(scene);
    assert_int_equal(shoal_client_call_with(scene->client, &command, &extras, &result),
                     0);
    assert_int_equal(shoal_result_status(result), 0);
    assert_null(shoal_result_reply(result));
    shoal_result_release(result);
    assert_int_equal(lone_caller_drives(scene), before + 1);
    assert_true(pthread_equal(thread, pthread_self()));
}

/* ---- company ---- */

typedef struct visit {
    pthread_t thread; /* where the callback ran */
    atomic_bool is_done;
} visit_t;

static void on_visit(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    visit_t *visit = data;
    (void)client;
    (void)result;

    visit->thread = pthread_self();
    atomic_store(&visit->is_done, true);
}

/* The caller may hold locks of the user's: the callback of a stranger must not run on
 * its thread. */
static void test_a_callback_runs_elsewhere(void **state)
{
    enum { ROUNDS = 50 };
    scene_t *scene = *state;
    const char *const argv[] = {"INCR", "k"};

    lone_caller_open(scene);
    for (int round = 0; round < ROUNDS; round++) {
        visit_t *visit = scene_alloc(scene, sizeof *visit);
        lone_caller_become_direct(scene);
        lone_caller_t *caller = lone_caller_begin(scene, WORDS("ECHO", "direct"), 0);
        uint64_t handovers = scene_stats(scene).handovers;
        assert_int_equal(
            shoal_client_submit(scene->client, 2, argv, NULL, on_visit, visit, NULL),
            0);
        WAIT_FOR(scene_stats(scene).handovers > handovers);
        fake_server_release(scene->server);
        WAIT_FOR(atomic_load(&visit->is_done));
        assert_false(pthread_equal(visit->thread, caller->thread));
        assert_false(pthread_equal(visit->thread, pthread_self()));
        lone_caller_end(caller);
        scene_check_text(&caller->outcome, "direct");
    }
    assert_int_equal(fake_server_number(scene->server, 0, "k"), ROUNDS);
}

static void test_a_second_blocking_call(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    lone_caller_t *first = lone_caller_begin(scene, WORDS("ECHO", "first"), 0);
    uint64_t handovers = scene_stats(scene).handovers;
    lone_caller_t *second = lone_caller_start(scene, WORDS("ECHO", "second"));
    WAIT_FOR(scene_stats(scene).handovers > handovers);
    fake_server_release(scene->server);
    lone_caller_end(first);
    lone_caller_end(second);
    scene_check_text(&first->outcome, "first");
    scene_check_text(&second->outcome, "second");
    assert_int_equal(fake_server_accepted(scene->server), 1);
    lone_caller_become_direct(scene); /* it comes back */
}

static void test_a_completion_queue_is_announced(void **state)
{
    scene_t *scene = *state;
    shoal_command_t command = WORDS("ECHO", "queued");
    shoal_completions_t *queue = NULL;
    shoal_completion_t taken[2];

    lone_caller_open(scene);
    assert_int_equal(shoal_completions_new(0, &queue), 0);
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("ECHO", "direct"), 0);
    assert_int_equal(
        shoal_completions_submit(queue, scene->client, &command, 1, NULL, 7, NULL), 0);
    fake_server_release(scene->server);
    assert_int_equal(shoal_completions_wait(queue, WAITING_US_MAX), 0);
    assert_int_equal(shoal_completions_take(queue, taken, 2), 1);
    assert_int_equal(taken[0].tag, 7);
    lone_caller_end(caller);
    scene_check_text(&caller->outcome, "direct");
    shoal_completions_free(queue);
}

/* It goes behind its command, so the driver must let the background thread see it. */
static void test_a_cancel_is_seen(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    scene_open_ready(scene);
    uint64_t ticket = scene_submit(scene, WORDS("ECHO", "x"), NULL, outcome);
    scene_await(outcome);
    lone_caller_become_direct(scene);
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("ECHO", "direct"), 0);
    uint64_t handovers = scene_stats(scene).handovers;
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    WAIT_FOR(scene_stats(scene).handovers > handovers);
    fake_server_release(scene->server);
    lone_caller_end(caller);
    scene_check_text(&caller->outcome, "direct");
    assert_int_equal(outcome->calls, 1);
}

/* No thread drives a parked client: a thread that leaves something wakes its own. */
static void test_a_push_wakes_a_parked_client(void **state)
{
    enum { ROUNDS = 50 };
    scene_t *scene = *state;

    lone_caller_open(scene);
    for (int round = 0; round < ROUNDS; round++) {
        lone_caller_become_direct(scene);
        uint64_t before = scene_stats(scene).wakeups;
        scene_check_works(scene);
        assert_true(scene_stats(scene).wakeups > before);
    }
}

enum { PUSHES = 1500 };

typedef struct stranger {
    scene_t *scene;
    pthread_t caller; /* the thread that drives; no callback may run there */
    unsigned wrong_thread;
} stranger_t;

/* Strangers push at any moment of parking, driving and handing over. */
static void *push_now_and_then(void *data)
{
    stranger_t *stranger = data;
    const char *const argv[] = {"INCR", "k"};
    visit_t visit;

    for (unsigned i = 0; i < PUSHES; i++) {
        uint64_t since_us = waiting_now_us();
        while (waiting_now_us() - since_us < i * 7 % 1100)
            continue;
        atomic_store(&visit.is_done, false);
        if (shoal_client_submit(stranger->scene->client, 2, argv, NULL, on_visit,
                                &visit, NULL) != 0)
            return data;
        while (!atomic_load(&visit.is_done))
            waiting_sleep_us(20);
        stranger->wrong_thread += pthread_equal(visit.thread, stranger->caller) != 0;
    }
    return NULL;
}

static void test_pushes_race_with_parking(void **state)
{
    scene_t *scene = *state;
    stranger_t *stranger = scene_alloc(scene, sizeof *stranger);
    pthread_t thread;
    void *is_wrong;

    *stranger = (stranger_t){.scene = scene, .caller = pthread_self()};
    lone_caller_open(scene);
    uint64_t before = lone_caller_drives(scene);
    pthread_create(&thread, NULL, push_now_and_then, stranger);
    for (int i = 0; i < 30000; i++)
        lone_caller_echo(scene, "x");
    pthread_join(thread, &is_wrong);
    assert_null(is_wrong);
    assert_int_equal(stranger->wrong_thread, 0);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), PUSHES);
    shoal_stats_t stats = scene_stats(scene);
    assert_int_equal(stats.completed, stats.commands);
    assert_true(stats.direct_calls > before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_lone_calls_drive),
        SCENE_TEST(test_a_large_reply_in_pieces),
        SCENE_TEST(test_retried_error_replies),
        SCENE_TEST(test_refused_in_a_direct_call),
        SCENE_TEST(test_a_call_with_a_sink_does_not_drive),
        SCENE_TEST(test_a_call_with_a_sink_of_its_own_drives),
        SCENE_TEST(test_a_callback_runs_elsewhere),
        SCENE_TEST(test_a_second_blocking_call),
        SCENE_TEST(test_a_completion_queue_is_announced),
        SCENE_TEST(test_a_cancel_is_seen),
        SCENE_TEST(test_a_push_wakes_a_parked_client),
        SCENE_TEST(test_pushes_race_with_parking),
    };
    return cmocka_run_group_tests_name("fault/direct", tests, NULL, NULL);
}
