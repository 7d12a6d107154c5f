/* SPDX-License-Identifier: MIT */

/* Moments that are easy to get wrong: each test here has caught a bug. */

#include "support/process_state.h"
#include "support/scene.h"
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* ---- I2: what was accepted right before a close completes ---- */

static void count_cb(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    (void)result;
    atomic_fetch_add((atomic_uint *)data, 1);
}

static void spin_us(uint64_t duration_us)
{
    uint64_t since_us = waiting_now_us();

    while (waiting_now_us() - since_us < duration_us)
        continue;
}

/* Nobody listens: all are outstanding when the loop sees the close, at whatever moment
 * of its turn. */
static void test_close_right_behind_submissions(void **state)
{
    enum { ROUNDS = 1000, BATCH = 200 };
    scene_t *scene = *state;
    const char *const argv[] = {"INCR", "k"};
    atomic_uint *results = scene_alloc(scene, sizeof *results);
    unsigned accepted = 0;

    fake_server_freeze(scene->server);
    for (int round = 0; round < ROUNDS; round++) {
        scene_open(scene);
        spin_us(50);
        for (int i = 0; i <= BATCH; i++) {
            if (i == BATCH)
                spin_us((uint64_t)round % 40);
            accepted += shoal_client_submit(scene->client, 2, argv, NULL, count_cb,
                                            results, NULL) == 0;
        }
        scene_close(scene, 0);
        if (atomic_load(results) != accepted)
            fail_msg("round %d: %u accepted, %u completed", round, accepted,
                     atomic_load(results));
    }
    fake_server_release(scene->server);
}

/* ---- waiting for room ---- */

typedef struct waiter {
    shoal_client_t *client;
    atomic_uint refused;
    _Atomic pid_t thread;
} waiter_t;

static void *submit_with_patience(void *data)
{
    waiter_t *waiter = data;
    shoal_command_t command =
        scene_words("SET", "k", "0123456789012345678901234567", NULL);
    shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_WAIT_FOR_ROOM};

    for (int i = 0; i < 1000 && atomic_load(&waiter->refused) == 0; i++)
        if (shoal_client_submit_many(waiter->client, &command, 1, &call, NULL, NULL,
                                     NULL) != 0)
            atomic_fetch_add(&waiter->refused, 1);
    return NULL;
}

/* A missed wake-up would let a waiter sleep to its deadline, and refuse it then. */
static void test_room_is_announced(void **state)
{
    enum { THREADS = 2 };
    scene_t *scene = *state;
    waiter_t *waiter = scene_alloc(scene, sizeof *waiter);
    pthread_t threads[THREADS];

    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 100, 100, 1024),
                     0);
    scene_open_ready(scene);
    waiter->client = scene->client;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, submit_with_patience, waiter);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&waiter->refused), 0);
}

static void *wait_once(void *data)
{
    waiter_t *waiter = data;
    shoal_client_t *client = waiter->client;
    shoal_command_t command = scene_words("INCR", "k", NULL);
    shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_WAIT_FOR_ROOM};

    waiter->thread = gettid();
    return shoal_client_submit_many(client, &command, 1, &call, NULL, NULL, NULL) ==
                   SHOAL_ECLOSED
               ? NULL
               : data;
}

/* A close wakes a thread that waits for room. */
static void test_closing_under_a_waiter(void **state)
{
    scene_t *scene = *state;
    const char *const argv[] = {"INCR", "k"};
    waiter_t *waiter = scene_alloc(scene, sizeof *waiter);

    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 1, 1, 1024), 0);
    fake_server_freeze(scene->server);
    for (int round = 0; round < 40; round++) {
        pthread_t thread;
        void *is_wrong;
        scene_open(scene);
        assert_int_equal(
            shoal_client_submit(scene->client, 2, argv, NULL, NULL, NULL, NULL), 0);
        waiter->client = shoal_client_retain(scene->client);
        waiter->thread = 0;
        pthread_create(&thread, NULL, wait_once, waiter);
        process_await_sleep(&waiter->thread);
        scene_close(scene, 0);
        pthread_join(thread, &is_wrong);
        shoal_client_release(waiter->client);
        assert_null(is_wrong);
    }
    fake_server_release(scene->server);
}

/* ---- submitting from the callback of a lost command ---- */

typedef struct retry {
    atomic_int rc, calls, again;
} retry_t;

static void retry_cb(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    retry_t *retry = data;
    const char *const argv[] = {"ECHO", "again"};

    if (shoal_result_status(result) == SHOAL_ECONN) {
        int rc = shoal_client_submit(client, 2, argv, NULL, retry_cb, retry, NULL);
        if (rc < 0)
            atomic_store(&retry->rc, rc);
    } else if (shoal_result_status(result) == 0) {
        atomic_fetch_add(&retry->again, 1);
    }
    atomic_fetch_add(&retry->calls, 1);
}

static void test_a_lost_command_is_submitted_again(void **state)
{
    enum { COUNT = 5 };
    scene_t *scene = *state;
    retry_t *retry = scene_alloc(scene, sizeof *retry);
    const char *const argv[] = {"INCR", "k"};

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INCR", .times = COUNT, .is_swallowed = true});
    scene_open_ready(scene);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(
            shoal_client_submit(scene->client, 2, argv, NULL, retry_cb, retry, NULL),
            0);
    WAIT_FOR(fake_server_received(scene->server, 0, "INCR", NULL) == COUNT);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(atomic_load(&retry->calls) == 2 * COUNT);
    assert_int_equal(atomic_load(&retry->rc), 0);
    assert_int_equal(atomic_load(&retry->again), COUNT);
}

/* ---- a completion queue is quiet when it is empty ---- */

/* The consumer takes without waiting, to meet the producer in the act; what a late
 * signal left behind shows when nothing is to come. */
static void test_an_empty_queue_is_quiet(void **state)
{
    enum { ROUNDS = 2500 };
    scene_t *scene = *state;
    shoal_completions_t *queue = NULL;
    shoal_command_t command = scene_words("ECHO", "x", NULL);

    scene_open_ready(scene);
    assert_int_equal(shoal_completions_new(0, &queue), 0);
    for (int round = 0; round < ROUNDS; round++) {
        shoal_completion_t taken[4];
        struct pollfd waited = {.fd = shoal_completions_fd(queue), .events = POLLIN};
        size_t count = 0;
        assert_int_equal(shoal_completions_submit(queue, scene->client, &command, 1,
                                                  NULL, (uint64_t)round, NULL),
                         0);
        while (count == 0)
            count = shoal_completions_take(queue, taken, 4);
        assert_int_equal(count, 1);
        assert_int_equal(taken[0].tag, round);
        waiting_sleep_us(300);
        assert_int_equal(shoal_completions_take(queue, taken, 4), 0);
        if (poll(&waited, 1, 0) != 0)
            fail_msg("round %d: readable, and nothing to take", round);
    }
    shoal_completions_free(queue);
}

/* ---- bounds and times at their edges ---- */

static void test_bounds_are_exact_on_the_loop_thread(void **state)
{
    enum { ARGC = 80 };
    scene_t *scene = *state;
    const char *argv[ARGC] = {"DEL"};

    for (int i = 1; i < ARGC; i++)
        argv[i] = "k";
    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 10, 10, 1024),
                     0);
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    /* 5 + 9 + 79 * 7 bytes fit 1024, though a rough estimate does not. */
    assert_int_equal(
        shoal_client_submit(scene->client, ARGC, argv, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(
        shoal_client_submit(scene->client, ARGC, argv, NULL, NULL, NULL, NULL),
        SHOAL_EFULL);
    assert_int_equal(shoal_client_close_and_wait(scene->client, 0), 0);
    shoal_client_release(scene->client);
    scene->client = NULL;
}

static void test_very_long_times(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = {.size = sizeof call, .timeout_us = INT64_MAX};

    scene_open(scene);
    assert_int_equal(shoal_client_wait_ready(scene->client, INT64_MAX), 0);
    outcome_t outcome = scene_call(scene, scene_words("ECHO", "long", NULL), &call);
    scene_check_text(&outcome, "long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_close_right_behind_submissions),
        SCENE_TEST(test_room_is_announced),
        SCENE_TEST(test_closing_under_a_waiter),
        SCENE_TEST(test_a_lost_command_is_submitted_again),
        SCENE_TEST(test_an_empty_queue_is_quiet),
        SCENE_TEST(test_bounds_are_exact_on_the_loop_thread),
        SCENE_TEST(test_very_long_times),
    };
    return cmocka_run_group_tests_name("fault/races", tests, NULL, NULL);
}
