/* SPDX-License-Identifier: MIT */
/* Bounds of what is outstanding and of what is received; refused commands; the silent
 * server.  (I5 I6) */
#include "support/process_state.h"
#include "support/scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

static shoal_call_t with(uint32_t flags, uint64_t timeout_us)
{
    return (shoal_call_t){
        .size = sizeof(shoal_call_t), .flags = flags, .timeout_us = timeout_us};
}

static int try_submit(scene_t *scene, shoal_command_t command, const shoal_call_t *call,
                      outcome_t *outcome)
{
    return shoal_client_submit_many(scene->client, &command, 1, call, outcome_cb,
                                    outcome, NULL);
}

/* No connection becomes ready until the server is released. */
static void open_unready(scene_t *scene)
{
    fake_server_rule(scene->server, &(fake_rule_t){.command = "HELLO",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open(scene);
    WAIT_FOR(fake_server_received(scene->server, 1, "HELLO", NULL) == 1);
}

static void test_full_by_count(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 10);

    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 8, 4, 1000000),
                     0);
    open_unready(scene);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(try_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]), 0);
    assert_int_equal(try_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[8]),
                     SHOAL_EFULL);
    assert_int_equal(scene_stats(scene).refused, 1);
    fake_server_release(scene->server);
    for (size_t i = 0; i < 8; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    assert_false(outcome_is_done(&outcomes[8]));
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 8);
}

/* The count comes back to zero each time: nothing leaks room. */
static void test_full_again_and_again(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 64);

    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 16, 16, 1000000),
                     0);
    scene_open_ready(scene);
    for (int round = 0; round < 300; round++) {
        size_t accepted = 0;
        for (size_t i = 0; i < 64; i++) {
            outcomes[accepted] = (outcome_t){0};
            int rc = try_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[accepted]);
            if (rc == 0)
                accepted++;
            else
                assert_int_equal(rc, SHOAL_EFULL);
        }
        assert_true(accepted >= 16);
        for (size_t i = 0; i < accepted; i++)
            scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    }
    shoal_stats_t stats = scene_idle_stats(scene);
    assert_int_equal(stats.commands, stats.completed);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), stats.commands);
}

static void test_full_by_bytes(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 20);
    char *value = scene_alloc(scene, 10001);

    memset(value, 'v', 10000);
    assert_int_equal(
        shoal_options_set_outstanding_max(scene->options, 1000, 100, 65536), 0);
    open_unready(scene);
    size_t accepted = 0;
    int rc;
    while ((rc = try_submit(scene, WORDS("SET", "k", value), NULL,
                            &outcomes[accepted])) == 0)
        assert_true(++accepted < 20);
    assert_int_equal(rc, SHOAL_EFULL);
    assert_int_equal(accepted, 6); /* of 10 029 bytes each */
    assert_true(scene_stats(scene).bytes_now <= 65536);
    fake_server_release(scene->server);
    for (size_t i = 0; i < accepted; i++)
        scene_check_text(&outcomes[i], "OK");
    /* There is room when the turn that answered has ended. */
    WAIT_FOR((rc = try_submit(scene, WORDS("SET", "k", value), NULL, &outcomes[10])) !=
             SHOAL_EFULL);
    assert_int_equal(rc, 0);
    scene_check_text(&outcomes[10], "OK");
    assert_int_equal(scene_idle_stats(scene).bytes_now, 0);
}

static void test_too_big(void **state)
{
    scene_t *scene = *state;
    char *value = scene_alloc(scene, 70000);
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_call_t patient = with(SHOAL_CALL_WAIT_FOR_ROOM, SHOAL_TIMEOUT_NEVER);

    memset(value, 'v', 69999);
    assert_int_equal(
        shoal_options_set_outstanding_max(scene->options, 1000, 100, 65536), 0);
    scene_open_ready(scene);
    assert_int_equal(try_submit(scene, WORDS("SET", "k", value), NULL, outcome),
                     SHOAL_ETOOBIG);
    /* Waiting for room would be for ever. */
    assert_int_equal(try_submit(scene, WORDS("SET", "k", value), &patient, outcome),
                     SHOAL_ETOOBIG);
    scene_check_works(scene);
    assert_false(outcome_is_done(outcome));
}

static void test_all_or_none(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 8);
    outcome_series_t series = {outcomes, 0, 8};
    shoal_command_t commands[8];

    for (size_t i = 0; i < 8; i++)
        commands[i] = WORDS("INCR", "k");
    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 8, 8, 1000000),
                     0);
    open_unready(scene);
    assert_int_equal(try_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[0]), 0);
    assert_int_equal(shoal_client_submit_many(scene->client, commands, 8, NULL,
                                              outcome_series_cb, &series, NULL),
                     SHOAL_EFULL);
    commands[3] = WORDS("SUBSCRIBE", "k");
    assert_int_equal(shoal_client_submit_many(scene->client, commands, 5, NULL,
                                              outcome_series_cb, &series, NULL),
                     SHOAL_EREFUSED);
    fake_server_release(scene->server);
    scene_check(&outcomes[0], 0, SHOAL_FATE_REPLIED);
    scene_check_works(scene);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 1);
    assert_int_equal(series.count, 0);
}

typedef struct waiter {
    scene_t *scene;
    shoal_call_t call;
    outcome_t *outcome;
    int rc;
    _Atomic bool has_returned;
    _Atomic pid_t thread;
} waiter_t;

static void *submit_patiently(void *data)
{
    waiter_t *waiter = data;

    waiter->thread = gettid();
    waiter->rc =
        try_submit(waiter->scene, WORDS("INCR", "k"), &waiter->call, waiter->outcome);
    waiter->has_returned = true;
    return NULL;
}

static void test_waiting_for_room(void **state)
{
    enum { WAITERS = 8 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2 + WAITERS);
    waiter_t *waiters = scene_alloc(scene, WAITERS * sizeof *waiters);
    pthread_t threads[WAITERS];

    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 2, 2, 1000000),
                     0);
    open_unready(scene);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(try_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]), 0);
    for (size_t i = 0; i < WAITERS; i++) {
        waiters[i].scene = scene;
        waiters[i].call = with(SHOAL_CALL_WAIT_FOR_ROOM, 20000000);
        waiters[i].outcome = &outcomes[2 + i];
        pthread_create(&threads[i], NULL, submit_patiently, &waiters[i]);
    }
    for (size_t i = 0; i < WAITERS; i++)
        process_await_sleep(&waiters[i].thread);
    for (size_t i = 0; i < WAITERS; i++)
        assert_false(waiters[i].has_returned);
    fake_server_release(scene->server);
    for (size_t i = 0; i < WAITERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(waiters[i].rc, 0);
    }
    for (size_t i = 0; i < 2 + WAITERS; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), 2 + WAITERS);
}

static void test_waiting_for_room_in_vain(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    shoal_call_t patient = with(SHOAL_CALL_WAIT_FOR_ROOM, 50000);

    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 1, 1, 1000000),
                     0);
    open_unready(scene);
    assert_int_equal(try_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[0]), 0);
    assert_int_equal(try_submit(scene, WORDS("INCR", "k"), &patient, &outcomes[1]),
                     SHOAL_EFULL);
    assert_false(outcome_is_done(&outcomes[1]));
}

/* Closing wakes those who wait for room. */
static void test_waiting_for_room_of_a_closed_client(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    waiter_t *waiter = scene_alloc(scene, sizeof *waiter);
    pthread_t thread;

    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 1, 1, 1000000),
                     0);
    open_unready(scene);
    assert_int_equal(try_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[0]), 0);
    waiter->scene = scene;
    waiter->call = with(SHOAL_CALL_WAIT_FOR_ROOM, SHOAL_TIMEOUT_NEVER);
    waiter->outcome = &outcomes[1];
    pthread_create(&thread, NULL, submit_patiently, waiter);
    process_await_sleep(&waiter->thread);
    shoal_client_t *client = scene->client;
    assert_int_equal(shoal_client_close(client, 20000, NULL, NULL), 0);
    pthread_join(thread, NULL);
    shoal_client_release(client);
    scene->client = NULL;
    assert_int_equal(waiter->rc, SHOAL_ECLOSED);
    scene_check(&outcomes[0], SHOAL_ESHUTDOWN, SHOAL_FATE_NOT_EXECUTED);
    assert_false(outcome_is_done(&outcomes[1]));
}

typedef struct full_loop {
    scene_t *scene;
    outcome_t *outcomes;
    int rc;
    _Atomic bool is_done;
} full_loop_t;

static void submit_on_loop(shoal_client_t *client, const shoal_result_t *result,
                           void *data)
{
    full_loop_t *loop = data;
    shoal_call_t patient = with(SHOAL_CALL_WAIT_FOR_ROOM, SHOAL_TIMEOUT_NEVER);
    (void)client;
    (void)result;

    for (size_t i = 0; i < 100 && loop->rc == 0; i++)
        loop->rc =
            try_submit(loop->scene, WORDS("INCR", "k"), &patient, &loop->outcomes[i]);
    loop->is_done = true;
}

static void test_waiting_for_room_on_the_loop_thread(void **state)
{
    scene_t *scene = *state;
    full_loop_t *loop = scene_alloc(scene, sizeof *loop);
    const char *const argv[] = {"ECHO", "x"};

    loop->scene = scene;
    loop->outcomes = scene_outcomes(scene, 100);
    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 4, 4, 1000000),
                     0);
    scene_open_ready(scene);
    assert_int_equal(
        shoal_client_submit(scene->client, 2, argv, NULL, submit_on_loop, loop, NULL),
        0);
    WAIT_FOR(loop->is_done);
    assert_int_equal(loop->rc, SHOAL_ELOOP);
    WAIT_FOR(scene_stats(scene).completed == scene_stats(scene).commands);
    WAIT_FOR(scene_stats(scene).queued_now == 0);
    scene_check_works(scene);
}

/* clang-format off */
static const struct refused_case {
    const char *words[5];
    uint32_t flags;
    int rc;
} refused_cases[] = {
    {{"SUBSCRIBE", "c"},               0, SHOAL_EREFUSED},
    {{"subscribe", "c"},               0, SHOAL_EREFUSED},
    {{"PSUBSCRIBE", "c"},              0, SHOAL_EREFUSED},
    {{"SSUBSCRIBE", "c"},              0, SHOAL_EREFUSED},
    {{"UNSUBSCRIBE"},                  0, SHOAL_EREFUSED},
    {{"MONITOR"},                      0, SHOAL_EREFUSED},
    {{"SYNC"},                         0, SHOAL_EREFUSED},
    {{"PSYNC", "?", "-1"},             0, SHOAL_EREFUSED},
    {{"RESET"},                        0, SHOAL_EREFUSED},
    {{"QUIT"},                         0, SHOAL_EREFUSED},
    {{"HELLO", "2"},                   0, SHOAL_EREFUSED},
    {{"AUTH", "x"},                    0, SHOAL_EREFUSED},
    {{"SELECT", "1"},                  0, SHOAL_EREFUSED},
    {{"CLIENT", "REPLY", "OFF"},       0, SHOAL_EREFUSED},
    {{"CLIENT", "reply", "SKIP"},      0, SHOAL_EREFUSED},
    {{"CLIENT", "TRACKING", "ON"},     0, SHOAL_EREFUSED},
    {{"CLIENT", "SETNAME", "x"},       0, SHOAL_EREFUSED},
    {{"READONLY"},                     0, SHOAL_EREFUSED},
    {{"ASKING"},                       0, SHOAL_EREFUSED},
    {{"WATCH", "k"},                   0, SHOAL_EREFUSED},
    {{"UNWATCH"},                      0, SHOAL_EREFUSED},
    {{"MULTI"},                        0, SHOAL_EREFUSED},
    {{"EXEC"},                         0, SHOAL_EREFUSED},
    {{"DISCARD"},                      0, SHOAL_EREFUSED},
    {{"WAIT", "1", "0"},               0, SHOAL_EREFUSED},
    {{"BLPOP", "k", "0"},              SHOAL_CALL_CONTIGUOUS, SHOAL_EREFUSED},
    {{"BLPOP", "k", "0"},              0, 0},
    {{"BRPOPLPUSH", "a", "b", "0"},    0, 0},
    {{"XREAD", "BLOCK", "0", "STREAMS"}, 0, 0},
    {{"BLPOP", "k", "0"},              SHOAL_CALL_MAY_BLOCK, 0},
    {{"WAIT", "1", "0"},               SHOAL_CALL_MAY_BLOCK, 0},
    {{"SUBSCRIBE", "c"},               SHOAL_CALL_MAY_BLOCK, SHOAL_EREFUSED},
    {{"XREAD", "STREAMS", "BLOCK", "0"}, 0, 0},
    {{"CLIENT", "ID"},                 0, 0},
    {{"CLIENT", "LIST"},               0, 0},
    {{"PUBLISH", "c", "m"},            0, 0},
    {{"PUBSUB", "CHANNELS"},           0, 0},
    {{"NO.SUCH.COMMAND"},              0, 0},
};
/* clang-format on */

static void test_refused_commands(void **state)
{
    scene_t *scene = *state;
    size_t cases = sizeof refused_cases / sizeof *refused_cases, refused = 0;
    outcome_t *outcomes = scene_outcomes(scene, cases);

    scene_open_ready(scene);
    for (size_t i = 0; i < cases; i++) {
        const struct refused_case *c = &refused_cases[i];
        shoal_call_t call = with(c->flags, 0);
        shoal_command_t command = {0, c->words, NULL};
        while (command.argc < 5 && c->words[command.argc])
            command.argc++;
        int rc = try_submit(scene, command, &call, &outcomes[i]);
        if (rc != c->rc)
            fail_msg("%s %s: %s", c->words[0], c->words[1] ? c->words[1] : "",
                     shoal_error_name(rc));
        if (rc == 0)
            scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        refused += rc != 0;
    }
    scene_check_works(scene);
    assert_int_equal(scene_stats(scene).refused, refused);
    assert_int_equal(fake_server_user_commands(scene->server, 0),
                     cases - refused +
                         fake_server_received(scene->server, 0, "ECHO", NULL) -
                         fake_server_received(scene->server, 0, "CLIENT", "ID") -
                         fake_server_received(scene->server, 0, "CLIENT", "LIST"));
}

static void test_bad_arguments(void **state)
{
    scene_t *scene = *state;
    const char *const argv[] = {"ECHO", "x"};
    shoal_command_t command = {2, argv, NULL};

    scene_open_ready(scene);
    shoal_client_t *client = scene->client;
    assert_int_equal(shoal_client_submit(client, 0, argv, NULL, NULL, NULL, NULL),
                     SHOAL_EINVAL);
    assert_int_equal(
        shoal_client_submit(client, SHOAL_ARGC_MAX + 1, argv, NULL, NULL, NULL, NULL),
        SHOAL_EINVAL);
    assert_int_equal(
        shoal_client_submit_many(client, &command, 0, NULL, NULL, NULL, NULL),
        SHOAL_EINVAL);
    assert_int_equal(
        shoal_client_submit_many(client, &command, 65537, NULL, NULL, NULL, NULL),
        SHOAL_EINVAL);
    scene_check_works(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_full_by_count),
        SCENE_TEST(test_full_again_and_again),
        SCENE_TEST(test_full_by_bytes),
        SCENE_TEST(test_too_big),
        SCENE_TEST(test_all_or_none),
        SCENE_TEST(test_waiting_for_room),
        SCENE_TEST(test_waiting_for_room_in_vain),
        SCENE_TEST(test_waiting_for_room_of_a_closed_client),
        SCENE_TEST(test_waiting_for_room_on_the_loop_thread),
        SCENE_TEST(test_refused_commands),
        SCENE_TEST(test_bad_arguments),
    };
    return cmocka_run_group_tests_name("fault/limits", tests, NULL, NULL);
}
