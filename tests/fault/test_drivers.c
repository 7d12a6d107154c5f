/* SPDX-License-Identifier: MIT */
/* Clients that the caller drives: by poll() and step, or on a libuv loop; and payloads
 * that block both directions at once. */
#include "support/process_state.h"
#include "support/scene.h"

#include <poll.h>
#include <pthread.h>
#include <shoal/uv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* ---- poll() and step ---- */

typedef struct driven {
    pthread_t thread; /* where every callback must run */
    unsigned calls, wrong_thread;
    int rc_step;
} driven_t;

static void on_driven(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    driven_t *driven = data;
    (void)result;

    driven->calls++;
    driven->wrong_thread += !pthread_equal(driven->thread, pthread_self());
    driven->rc_step = shoal_client_step(client, 0);
}

/* As any event loop would: wait for the descriptor, never longer than is said, step. */
static int turn(shoal_client_t *client)
{
    struct pollfd slot = {.fd = shoal_client_fd(client), .events = POLLIN};
    int64_t wait_us = shoal_client_wait_us(client);
    int timeout_ms =
        wait_us < 0 ? (int)(WAITING_US_MAX / 1000) : (int)((wait_us + 999) / 1000);

    if (poll(&slot, 1, timeout_ms) == 0 && wait_us < 0)
        fail_msg("the descriptor never became readable");
    return shoal_client_step(client, 0);
}

static void open_borrowed(scene_t *scene)
{
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    assert_int_equal(shoal_client_step(scene->client, 0), 0);
}

static void await_by_turns(scene_t *scene, const outcome_t *outcome)
{
    while (!outcome_is_done(outcome))
        assert_int_equal(turn(scene->client), 0);
}

static void test_borrowed_by_poll(void **state)
{
    enum { COUNT = 500 };
    scene_t *scene = *state;
    size_t threads = process_threads();
    driven_t *driven = scene_alloc(scene, sizeof *driven);
    const char *const argv[] = {"ECHO", "x"};

    driven->thread = pthread_self();
    open_borrowed(scene);
    for (int round = 0; round < 20; round++) {
        driven->calls = 0;
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(shoal_client_submit(scene->client, 2, argv, NULL,
                                                 on_driven, driven, NULL),
                             0);
        assert_int_equal(driven->calls, 0); /* never from inside submit */
        assert_int_equal(shoal_client_step(scene->client, 0), 0);
        while (driven->calls < COUNT)
            assert_int_equal(turn(scene->client), 0);
        assert_int_equal(driven->calls, COUNT);
    }
    assert_int_equal(driven->wrong_thread, 0);
    assert_int_equal(driven->rc_step, SHOAL_EINVAL); /* from a callback */
    assert_int_equal(process_threads(), threads);
    scene_close(scene, 0);
}

/* Write a command whose answer the server holds, before its deadline passes: one that
 * passed too early is put off. */
static outcome_t *send_held(scene_t *scene, uint64_t *timeout_us)
{
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "held",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    for (;; *timeout_us *= 2) {
        const shoal_call_t call = {.size = sizeof call, .timeout_us = *timeout_us};
        outcome_t *outcome = scene_outcomes(scene, 1);

        scene_submit(scene, WORDS("ECHO", "held"), &call, outcome);
        assert_int_equal(shoal_client_step(scene->client, 0), 0);
        if (!outcome_is_done(outcome)) {
            WAIT_FOR(fake_server_received(scene->server, 0, "ECHO", "held") == 1);
            return outcome;
        }
        scene_check(outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    }
}

/* The loop stands still beyond deadline and stall time, but the reply came in time: it
 * counts. */
static void test_a_loop_that_stood_still(void **state)
{
    scene_t *scene = *state;
    outcome_t *first = scene_outcomes(scene, 1);

    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, 50000), 0);
    open_borrowed(scene);
    scene_submit(scene, WORDS("ECHO", "first"), NULL, first);
    await_by_turns(scene, first);
    uint64_t losses = scene_stats(scene).losses;
    uint64_t timeout_us = 50000;
    outcome_t *second = send_held(scene, &timeout_us);
    fake_server_release(scene->server);
    WAIT_FOR(fake_server_is_done(scene->server)); /* the reply has come */
    waiting_sleep_us(timeout_us + 50000);
    await_by_turns(scene, second);
    scene_check_text(second, "held");
    assert_int_equal(scene_stats(scene).losses, losses);
    scene_close(scene, 0);
}

static void test_borrowed_by_blocking_steps(void **state)
{
    scene_t *scene = *state;

    open_borrowed(scene);
    for (int round = 0; round < 50; round++) {
        outcome_t *outcome = scene_outcomes(scene, 1);
        scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
        while (!outcome_is_done(outcome))
            assert_int_equal(shoal_client_step(scene->client, SHOAL_TIMEOUT_NEVER), 0);
        assert_int_equal(outcome->integer, round + 1);
    }
}

/* The descriptor covers deadlines and reconnects too. */
static void test_borrowed_timers(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    open_borrowed(scene);
    scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[0]);
    await_by_turns(scene, &outcomes[0]);
    uint64_t timeout_us = 30000;
    outcome_t *held = send_held(scene, &timeout_us);
    await_by_turns(scene, held);
    scene_check(held, SHOAL_ETIMEOUT, SHOAL_FATE_UNKNOWN);
    fake_server_release(scene->server);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    scene_submit(scene, WORDS("ECHO", "again"), NULL, &outcomes[1]);
    assert_int_equal(shoal_client_step(scene->client, 0), 0);
    await_by_turns(scene, &outcomes[1]);
    scene_check_text(&outcomes[1], "again");
}

typedef struct stranger {
    scene_t *scene;
    outcome_t *outcome;
} stranger_t;

static void *submit_elsewhere(void *data)
{
    stranger_t *stranger = data;
    waiting_sleep_us(30000);
    scene_submit(stranger->scene, WORDS("INCR", "k"), NULL, stranger->outcome);
    return NULL;
}

static void test_borrowed_is_woken_by_other_threads(void **state)
{
    scene_t *scene = *state;

    open_borrowed(scene);
    for (int round = 0; round < 5; round++) {
        stranger_t stranger = {scene, scene_outcomes(scene, 1)};
        pthread_t thread;
        pthread_create(&thread, NULL, submit_elsewhere, &stranger);
        await_by_turns(scene, stranger.outcome);
        pthread_join(thread, NULL);
        scene_check(stranger.outcome, 0, SHOAL_FATE_REPLIED);
    }
}

static void mark(void *data)
{
    *(int *)data += 1;
}

static void test_borrowed_is_closed_by_steps(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 10);
    int *closed = scene_alloc(scene, sizeof *closed);

    open_borrowed(scene);
    shoal_client_t *client = scene->client;
    for (size_t i = 0; i < 10; i++)
        scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]);
    assert_int_equal(shoal_client_close(client, 20000000, mark, closed), 0);
    assert_int_equal(*closed, 0);
    scene->client = NULL;
    while (turn(client) == 0)
        assert_int_equal(*closed, 0);
    assert_int_equal(*closed, 1);
    assert_int_equal(shoal_client_fd(client), -1);
    assert_int_equal(shoal_client_step(client, 0), 1);
    shoal_client_release(client);
    for (size_t i = 0; i < 10; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
}

typedef struct outsider {
    scene_t *scene;
    int rc_close, rc_step;
} outsider_t;

static void *close_from_outside(void *data)
{
    outsider_t *outsider = data;

    outsider->rc_close = shoal_client_close_and_wait(outsider->scene->client, 0);
    return NULL;
}

static void *step_from_outside(void *data)
{
    outsider_t *outsider = data;

    outsider->rc_step = shoal_client_step(outsider->scene->client, 0);
    return NULL;
}

static void step_beside(shoal_client_t *client, const shoal_result_t *result,
                        void *data)
{
    outsider_t *outsider = data;
    pthread_t thread;

    (void)client;
    (void)result;
    assert_int_equal(pthread_create(&thread, NULL, step_from_outside, outsider), 0);
    pthread_join(thread, NULL);
}

/* Two threads never run one loop. */
static void test_borrowed_is_not_driven_by_two_threads(void **state)
{
    scene_t *scene = *state;
    outsider_t *outsider = scene_alloc(scene, sizeof *outsider);
    const char *const argv[] = {"INCR", "k"};
    pthread_t thread;

    outsider->scene = scene;
    open_borrowed(scene);
    assert_int_equal(pthread_create(&thread, NULL, close_from_outside, outsider), 0);
    pthread_join(thread, NULL);
    assert_int_equal(outsider->rc_close, SHOAL_ELOOP);
    assert_int_equal(
        shoal_client_submit(scene->client, 2, argv, NULL, step_beside, outsider, NULL),
        0);
    while (!outsider->rc_step)
        assert_int_equal(turn(scene->client), 0);
    assert_int_equal(outsider->rc_step, SHOAL_EINVAL);
    scene_close(scene, 0);
}

static void test_a_client_with_a_thread_cannot_be_stepped(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    assert_int_equal(shoal_client_fd(scene->client), -1);
    assert_int_equal(shoal_client_step(scene->client, 0), SHOAL_EINVAL);
    scene_check_works(scene);
}

static void test_a_borrowed_client_cannot_wait(void **state)
{
    scene_t *scene = *state;
    const char *const argv[] = {"ECHO", "x"};
    shoal_result_t *result = NULL;

    open_borrowed(scene);
    assert_int_equal(shoal_client_call(scene->client, 2, argv, NULL, &result),
                     SHOAL_ELOOP);
    assert_int_equal(shoal_client_wait_ready(scene->client, 1000000), SHOAL_ELOOP);
    assert_null(result);
}

/* ---- on a libuv loop ---- */

typedef struct uv_play {
    scene_t *scene;
    uv_loop_t loop;
    uv_timer_t timer;
    unsigned left, wrong, closed;
    int rc_and_wait;
} uv_play_t;

static void on_uv_closed(void *data)
{
    uv_play_t *play = data;
    play->closed++;
}

static void on_uv_result(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    uv_play_t *play = data;
    const char *const argv[] = {"INCR", "k"};

    play->wrong += shoal_result_status(result) != 0;
    if (--play->left > 0) {
        play->wrong +=
            shoal_client_submit(client, 2, argv, NULL, on_uv_result, play, NULL) != 0;
        return;
    }
    play->rc_and_wait = shoal_client_close_and_wait(client, 0);
    play->wrong += shoal_client_close(client, 1000000, on_uv_closed, play) != 0;
    shoal_client_release(client);
}

static void test_on_a_uv_loop(void **state)
{
    scene_t *scene = *state;
    uv_play_t *play = scene_alloc(scene, sizeof *play);
    shoal_client_t *client = NULL;
    const char *const argv[] = {"INCR", "k"};

    play->left = 1000;
    assert_int_equal(uv_loop_init(&play->loop), 0);
    assert_int_equal(shoal_client_open_uv(&play->loop, scene->options, &client, NULL),
                     0);
    assert_int_equal(
        shoal_client_submit(client, 2, argv, NULL, on_uv_result, play, NULL), 0);
    uv_run(&play->loop, UV_RUN_DEFAULT); /* ends when the client is gone */
    assert_int_equal(play->left, 0);
    assert_int_equal(play->wrong, 0);
    assert_int_equal(play->closed, 1);
    assert_int_equal(play->rc_and_wait, SHOAL_ELOOP);
    assert_int_equal(uv_loop_close(&play->loop), 0);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), 1000);
}

static void cut_and_go_on(uv_timer_t *timer)
{
    uv_play_t *play = timer->data;

    if (scene_events(play->scene).ready == 0) { /* there is nothing to cut yet */
        uv_timer_start(timer, cut_and_go_on, 10, 0);
        return;
    }
    fake_server_cut(play->scene->server, FAKE_CUT_RESET);
    uv_close((uv_handle_t *)timer, NULL);
}

static void count_down(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    uv_play_t *play = data;
    const char *const argv[] = {"GET", "k"};

    play->wrong += shoal_result_status(result) != 0;
    if (scene_events(play->scene).ready < 2) {
        play->wrong +=
            shoal_client_submit(client, 2, argv, NULL, count_down, play, NULL) != 0;
        return;
    }
    play->wrong += shoal_client_close(client, 0, on_uv_closed, play) != 0;
    shoal_client_release(client);
}

/* Other handles of the loop run beside it; a reconnect needs its timers. */
static void test_reconnect_on_a_uv_loop(void **state)
{
    scene_t *scene = *state;
    uv_play_t *play = scene_alloc(scene, sizeof *play);
    shoal_client_t *client = NULL;
    const char *const argv[] = {"GET", "k"};

    play->scene = scene;
    assert_int_equal(uv_loop_init(&play->loop), 0);
    uv_timer_init(&play->loop, &play->timer);
    play->timer.data = play;
    uv_timer_start(&play->timer, cut_and_go_on, 50, 0);
    assert_int_equal(shoal_client_open_uv(&play->loop, scene->options, &client, NULL),
                     0);
    assert_int_equal(shoal_client_submit(client, 2, argv, NULL, count_down, play, NULL),
                     0);
    uv_run(&play->loop, UV_RUN_DEFAULT);
    assert_int_equal(play->wrong, 0);
    assert_int_equal(play->closed, 1);
    assert_int_equal(uv_loop_close(&play->loop), 0);
}

/* ---- both directions at once ---- */

/* The server reads nothing while it has something to write: a client that did not read
 * while its own writes are blocked would wait for ever. */
static void check_mutual_blocking(scene_t *scene, bool is_unix, size_t bytes)
{
    enum { ROUNDS = 2 };
    char *value = malloc(bytes);
    outcome_t *outcomes = scene_outcomes(scene, 2 * ROUNDS);

    assert_int_equal(shoal_options_set_timeout_us(scene->options, SHOAL_TIMEOUT_NEVER),
                     0);
    scene_serve(scene, &(fake_config_t){.is_unix = is_unix,
                                        .buffer_bytes = 4096,
                                        .is_stubborn = true});
    assert_int_equal(
        shoal_options_set_outstanding_max(scene->options, 100, 100, 200000000), 0);
    scene_open_one(scene);
    memset(value, 'v', bytes);
    shoal_command_t set = {3, (const char *const[]){"SET", "k", value},
                           (const size_t[]){3, 1, bytes}};
    for (int i = 0; i < ROUNDS; i++) {
        scene_submit(scene, set, NULL, &outcomes[2 * i]);
        scene_submit(scene, WORDS("GET", "k"), NULL, &outcomes[2 * i + 1]);
    }
    free(value);
    for (int i = 0; i < ROUNDS; i++) {
        scene_check_text(&outcomes[2 * i], "OK");
        scene_check(&outcomes[2 * i + 1], 0, SHOAL_FATE_REPLIED);
        assert_int_equal(outcomes[2 * i + 1].bytes, bytes);
    }
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_mutual_blocking_on_tcp(void **state)
{
    check_mutual_blocking(*state, false, 5 << 20);
}

static void test_mutual_blocking_on_a_unix_socket(void **state)
{
    check_mutual_blocking(*state, true, 16 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_borrowed_by_poll),
        SCENE_TEST(test_a_loop_that_stood_still),
        SCENE_TEST(test_borrowed_by_blocking_steps),
        SCENE_TEST(test_borrowed_timers),
        SCENE_TEST(test_borrowed_is_woken_by_other_threads),
        SCENE_TEST(test_borrowed_is_closed_by_steps),
        SCENE_TEST(test_borrowed_is_not_driven_by_two_threads),
        SCENE_TEST(test_a_client_with_a_thread_cannot_be_stepped),
        SCENE_TEST(test_a_borrowed_client_cannot_wait),
        SCENE_TEST(test_on_a_uv_loop),
        SCENE_TEST(test_reconnect_on_a_uv_loop),
        SCENE_TEST(test_mutual_blocking_on_tcp),
        SCENE_TEST(test_mutual_blocking_on_a_unix_socket),
    };
    return cmocka_run_group_tests_name("fault/drivers", tests, NULL, NULL);
}
