/* SPDX-License-Identifier: MIT */

/* References: what a closed client answers, and what the last release does, on each kind
 * of loop.  (I9) */

#include "support/scene.h"

#include <shoal/completions.h>
#include <shoal/connection.h>
#include <shoal/pending.h>
#include <shoal/stats.h>
#include <shoal/uv.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* Every function that there is. */
static void check_closed(shoal_client_t *client)
{
    const shoal_command_t command = WORDS("INCR", "k");
    shoal_completions_t *completions = NULL;
    shoal_stats_t stats = SHOAL_STATS_INIT;
    shoal_pending_t *pending = NULL;
    shoal_result_t *result = NULL;

    assert_int_equal(shoal_completions_new(0, &completions), 0);
    const int codes[] = {
        shoal_client_submit(client, command.argc, command.argv, NULL, NULL, NULL, NULL),
        shoal_client_submit_many(client, &command, 1, NULL, NULL, NULL, NULL),
        shoal_client_call(client, command.argc, command.argv, NULL, &result),
        shoal_client_call_begin(client, &command, NULL, 1000, &pending, &result),
        shoal_completions_submit(completions, client, &command, 1, NULL, 0, NULL),
        shoal_client_cancel(client, 1),
        shoal_client_wait_ready(client, 1000),
        shoal_client_reconnect(client),
        shoal_stats_get(client, &stats),
        shoal_stats_get_connection(client, 1, &stats),
        shoal_client_close(client, 0, NULL, NULL),
        shoal_client_close_and_wait(client, 0),
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] != SHOAL_ECLOSED)
            fail_msg("function %zu: %s", i, shoal_error_name(codes[i]));
    assert_int_equal(shoal_client_fd(client), -1);
    assert_null(result);
    assert_null(pending);
    shoal_completions_free(completions);
}

static void release(scene_t *scene)
{
    shoal_client_release(scene->client);
    scene->client = NULL;
}

static void on_released(shoal_client_t *client, const shoal_result_t *result,
                        void *data)
{
    (void)result;
    shoal_client_release(client);
    *(_Atomic int *)data += 1;
}

/* The last reference is given back in the callback of an INCR; the command behind it has
 * no reply then. */
static outcome_t *submit_last_words(scene_t *scene, _Atomic int *released)
{
    outcome_t *outcome = scene_outcomes(scene, 1);
    const char *const argv[] = {"INCR", "k"};

    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "held",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_submit(scene, WORDS("ECHO", "first"), NULL, scene_outcomes(scene, 1));
    assert_int_equal(
        shoal_client_submit(scene->client, 2, argv, NULL, on_released, released, NULL),
        0);
    scene_submit(scene, WORDS("ECHO", "held"), NULL, outcome);
    return outcome;
}

/* ---- a thread of its own ---- */

static void test_thread_closed(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    assert_int_equal(shoal_client_close_and_wait(scene->client, 0), 0);
    check_closed(scene->client);
    release(scene);
}

static void test_thread_released_only(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    scene_open_ready(scene);
    fake_server_freeze(scene->server);
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    shoal_client_release(shoal_client_retain(scene->client));
    assert_false(outcome_is_done(outcome));
    release(scene);
    scene_await(outcome);
    assert_int_equal(outcome->status, SHOAL_ESHUTDOWN);
    fake_server_release(scene->server);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
}

static void test_thread_released_in_a_callback(void **state)
{
    scene_t *scene = *state;
    _Atomic int *released = scene_alloc(scene, sizeof *released);

    scene_open_ready(scene);
    fake_server_freeze(
        scene->server); /* the callback comes when nothing is submitted */
    outcome_t *outcome = submit_last_words(scene, released);
    scene->client = NULL;
    fake_server_release(scene->server);
    scene_await(outcome);
    assert_int_equal(outcome->status, SHOAL_ESHUTDOWN);
    assert_int_equal(*released, 1);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
}

/* ---- stepped ---- */

static void open_borrowed(scene_t *scene)
{
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
}

static void test_borrowed_closed(void **state)
{
    scene_t *scene = *state;

    open_borrowed(scene);
    assert_int_equal(shoal_client_step(scene->client, 0), 0);
    assert_int_equal(shoal_client_close_and_wait(scene->client, 0), 0);
    check_closed(scene->client);
    assert_int_equal(shoal_client_step(scene->client, 0), 1);
    assert_int_equal(shoal_client_wait_us(scene->client), 0);
    release(scene);
}

/* Nobody closed it: the last reference does, and steps. */
static void test_borrowed_released_only(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    open_borrowed(scene);
    scene_submit(scene, WORDS("ECHO", "x"), NULL, outcome);
    shoal_client_release(shoal_client_retain(scene->client));
    assert_false(outcome_is_done(outcome));
    release(scene);
    scene_check(outcome, SHOAL_ESHUTDOWN, SHOAL_FATE_NOT_EXECUTED);
    WAIT_FOR(fake_server_open_now(scene->server) == 0);
}

/* The step in whose callback it happens goes on to the end. */
static void test_borrowed_released_in_a_callback(void **state)
{
    scene_t *scene = *state;
    _Atomic int *released = scene_alloc(scene, sizeof *released);
    int rc = 0;

    open_borrowed(scene);
    outcome_t *outcome = submit_last_words(scene, released);
    shoal_client_t *client = scene->client;
    scene->client = NULL;
    while (rc == 0)
        rc = shoal_client_step(client, SHOAL_TIMEOUT_NEVER);
    assert_int_equal(rc, 1);
    assert_int_equal(*released, 1);
    assert_int_equal(outcome->status, SHOAL_ESHUTDOWN);
}

/* ---- on a libuv loop ---- */

static uv_loop_t *open_uv(scene_t *scene)
{
    uv_loop_t *loop = scene_alloc(scene, sizeof *loop);

    assert_int_equal(uv_loop_init(loop), 0);
    assert_int_equal(shoal_client_open_uv(loop, scene->options, &scene->client, NULL),
                     0);
    return loop;
}

static void end_uv(uv_loop_t *loop)
{
    uv_run(loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(loop), 0);
}

static void test_uv_closed(void **state)
{
    scene_t *scene = *state;
    uv_loop_t *loop = open_uv(scene);

    assert_int_equal(shoal_client_close(scene->client, 0, NULL, NULL), 0);
    end_uv(loop);
    check_closed(scene->client);
    release(scene);
}

static void test_uv_released_only(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    uv_loop_t *loop = open_uv(scene);

    scene_submit(scene, WORDS("ECHO", "x"), NULL, outcome);
    release(scene);
    assert_false(outcome_is_done(outcome));
    end_uv(loop);
    scene_check(outcome, SHOAL_ESHUTDOWN, SHOAL_FATE_NOT_EXECUTED);
}

static void test_uv_released_in_a_callback(void **state)
{
    scene_t *scene = *state;
    _Atomic int *released = scene_alloc(scene, sizeof *released);
    uv_loop_t *loop = open_uv(scene);
    outcome_t *outcome = submit_last_words(scene, released);

    scene->client = NULL;
    end_uv(loop);
    assert_int_equal(*released, 1);
    assert_int_equal(outcome->status, SHOAL_ESHUTDOWN);
}

/* ---- in on_closed ---- */

static void release_at_the_end(void *data)
{
    release(data);
}

static void test_released_when_closed(void **state)
{
    scene_t *scene = *state;

    uv_loop_t *loop = open_uv(scene);
    assert_int_equal(shoal_client_close(scene->client, 0, release_at_the_end, scene),
                     0);
    end_uv(loop);
    assert_null(scene->client);

    open_borrowed(scene);
    shoal_client_t *client = scene->client;
    assert_int_equal(shoal_client_close(client, 0, release_at_the_end, scene), 0);
    while (shoal_client_step(client, SHOAL_TIMEOUT_NEVER) == 0)
        continue;
    assert_null(scene->client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_thread_closed),
        SCENE_TEST(test_thread_released_only),
        SCENE_TEST(test_thread_released_in_a_callback),
        SCENE_TEST(test_borrowed_closed),
        SCENE_TEST(test_borrowed_released_only),
        SCENE_TEST(test_borrowed_released_in_a_callback),
        SCENE_TEST(test_uv_closed),
        SCENE_TEST(test_uv_released_only),
        SCENE_TEST(test_uv_released_in_a_callback),
        SCENE_TEST(test_released_when_closed),
    };
    return cmocka_run_group_tests_name("fault/references", tests, NULL, NULL);
}
