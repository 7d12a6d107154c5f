/* SPDX-License-Identifier: MIT */
/* A refusal reaches the caller with its reason in words.  Which reason belongs to which
 * refusal is client/reason's and api/options_url's unit tests. */
#include "support/scene.h"

#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

#define assert_reason(error, wanted, words)                                            \
    do {                                                                               \
        assert_int_equal((error).code, wanted);                                        \
        if (!strstr((error).text, words))                                              \
            fail_msg("'%s', not '%s'", (error).text, words);                           \
    } while (0)

/* ---- opening ---- */

static void test_a_url_that_cannot_be_understood(void **state)
{
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_client_t *client = (shoal_client_t *)&error;

    (void)state;
    assert_int_equal(shoal_client_open_url("redis://h?flush=on", &client, &error),
                     SHOAL_EURL);
    assert_reason(error, SHOAL_EURL, "flush: 'on'");
    assert_null(client);
}

static void test_arguments_that_are_missing(void **state)
{
    shoal_error_t error = SHOAL_ERROR_INIT;

    (void)state;
    assert_int_equal(shoal_client_open(NULL, NULL, &error), SHOAL_EINVAL);
    assert_reason(error, SHOAL_EINVAL, "ret_client is NULL");
}

/* What was said before is gone when the next call succeeds. */
static void test_a_success_has_no_reason(void **state)
{
    scene_t *scene = *state;
    shoal_error_t error = SHOAL_ERROR_INIT;

    shoal_client_open(NULL, NULL, &error);
    assert_int_equal(shoal_client_open(scene->options, &scene->client, &error), 0);
    assert_int_equal(error.code, 0);
    assert_string_equal(error.text, "");
}

/* ---- commands ---- */

typedef int (*way_t)(shoal_client_t *client, const shoal_command_t *command,
                     const shoal_call_t *call);

static int submit(shoal_client_t *client, const shoal_command_t *command,
                  const shoal_call_t *call)
{
    return shoal_client_submit_many(client, command, 1, call, NULL, NULL, NULL);
}

static int block(shoal_client_t *client, const shoal_command_t *command,
                 const shoal_call_t *call)
{
    shoal_result_t *result = NULL;
    int rc = shoal_client_call_with(client, command, call, &result);

    if (rc == 0)
        shoal_result_release(result);
    return rc;
}

static int queue(shoal_client_t *client, const shoal_command_t *command,
                 const shoal_call_t *call)
{
    shoal_completions_t *completions;
    int rc;

    assert_int_equal(shoal_completions_new(1, &completions), 0);
    rc = shoal_completions_submit(completions, client, command, 1, call, 0, NULL);
    shoal_completions_free(completions);
    return rc;
}

static const way_t ways[] = {submit, block, queue};

static void expect(scene_t *scene, shoal_command_t command, uint32_t flags, int code,
                   const char *words)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        shoal_error_t error = SHOAL_ERROR_INIT;
        shoal_call_t call = SHOAL_CALL_INIT;

        call.flags = flags;
        call.error = &error;
        assert_int_equal(ways[i](scene->client, &command, &call), code);
        assert_reason(error, code, words);
    }
}

static void test_refused_commands(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    expect(scene, WORDS("SUBSCRIBE", "c"), 0, SHOAL_EREFUSED,
           "SUBSCRIBE: its replies are not exactly one");
    expect(scene, WORDS("PING"), 1u << 20, SHOAL_EINVAL, "a flag is not known");
    expect(scene, (shoal_command_t){0, NULL, NULL}, 0, SHOAL_EINVAL, "a command of 0");
    expect(scene, WORDS("PING"), 0, 0, "");
}

static void test_bounds(void **state)
{
    static char big[2048];
    const char *const argv[] = {"ECHO", big};
    scene_t *scene = *state;

    memset(big, 'x', sizeof big - 1);
    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 2, 1, 1024), 0);
    fake_server_refuse(scene->server, true);
    scene_open(scene);
    expect(scene, (shoal_command_t){2, argv, NULL}, 0, SHOAL_ETOOBIG,
           "bytes as they are sent; at most 1024 may be outstanding (bytes_max)");
    for (int i = 0; i < 2; i++)
        scene_submit(scene, WORDS("PING"), NULL, scene_outcomes(scene, 1));
    expect(scene, WORDS("PING"), 0, SHOAL_EFULL,
           "2 commands wait to be written; at most 2 may (queued_max)");
}

static void test_formats(void **state)
{
    static const char *const bad[] = {NULL, "", "GET %k", "GET %zu"};
    const char *words = "a conversion that shoal/format.h does not name";
    scene_t *scene = *state;
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_result_t *result;

    scene_open(scene);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        shoal_error_t errors[] = {SHOAL_ERROR_INIT, SHOAL_ERROR_INIT};
        call.error = &errors[0];
        shoal_client_submitf_with(scene->client, &call, NULL, NULL, NULL, bad[i],
                                  (size_t)0);
        call.error = &errors[1];
        shoal_client_callf_with(scene->client, &call, &result, bad[i], (size_t)0);
        assert_reason(errors[0], SHOAL_EINVAL, words);
        assert_reason(errors[1], SHOAL_EINVAL, words);
    }
}

static void test_a_full_completion_queue(void **state)
{
    scene_t *scene = *state;
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_command_t pings[] = {WORDS("PING"), WORDS("PING")};
    shoal_completions_t *completions;

    call.error = &error;
    scene_open_ready(scene);
    assert_int_equal(shoal_completions_new(1, &completions), 0);
    assert_int_equal(
        shoal_completions_submit(completions, scene->client, pings, 2, &call, 0, NULL),
        SHOAL_EFULL);
    assert_reason(error, SHOAL_EFULL, "no room for 2 more results");
    shoal_completions_free(completions);
}

/* On the loop thread, which submits without a detour. */
static void submit_there(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    shoal_error_t *errors = data;
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_command_t command = WORDS("SELECT", "1");
    shoal_result_t *none = NULL;

    (void)result;
    call.error = &errors[0];
    submit(client, &command, &call);
    call.error = &errors[1];
    shoal_client_call_with(client, &command, &call, &none);
}

static void test_on_the_loop_thread(void **state)
{
    scene_t *scene = *state;
    shoal_error_t *errors = scene_alloc(scene, 2 * sizeof *errors);
    const char *const argv[] = {"PING"};

    errors[0] = errors[1] = (shoal_error_t)SHOAL_ERROR_INIT;
    scene_open_ready(scene);
    assert_int_equal(
        shoal_client_submit(scene->client, 1, argv, NULL, submit_there, errors, NULL),
        0);
    scene_close(scene, SHOAL_TIMEOUT_NEVER);
    assert_reason(errors[0], SHOAL_EREFUSED, "SELECT: it changes the connection");
    assert_reason(errors[1], SHOAL_ELOOP, "this call would block the loop thread");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_url_that_cannot_be_understood),
        SCENE_TEST(test_arguments_that_are_missing),
        SCENE_TEST(test_a_success_has_no_reason),
        SCENE_TEST(test_refused_commands),
        SCENE_TEST(test_bounds),
        SCENE_TEST(test_formats),
        SCENE_TEST(test_a_full_completion_queue),
        SCENE_TEST(test_on_the_loop_thread),
    };
    return cmocka_run_group_tests_name("fault/refusals", tests, NULL, NULL);
}
