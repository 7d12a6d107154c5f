/* SPDX-License-Identifier: MIT */
/* shoal_result_error(): the words of every kind of failure, for every way to get a
 * result. */
#include "support/scene.h"

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define WRONG_TYPE "WRONGTYPE Operation against a key holding the wrong kind of value"

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    (void)leaf;
    (void)data;
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    (void)type;
    (void)count;
    (void)data;
}

static void on_end(void *data)
{
    (void)data;
}

static const shoal_sink_t sink = {on_leaf, on_begin, on_end, on_end};

/* ---- four ways to get a result ---- */

static outcome_t by_callback(scene_t *scene, shoal_command_t command,
                             const shoal_call_t *call)
{
    return scene_call(scene, command, call);
}

static outcome_t by_sink(scene_t *scene, shoal_command_t command,
                         const shoal_call_t *call)
{
    shoal_call_t with_sink = {
        .size = sizeof with_sink, .timeout_us = call->timeout_us, .sink = &sink};

    return scene_call(scene, command, &with_sink);
}

static outcome_t by_blocking(scene_t *scene, shoal_command_t command,
                             const shoal_call_t *call)
{
    outcome_t outcome = {0};
    shoal_result_t *result;

    assert_int_equal(shoal_client_call_with(scene->client, &command, call, &result), 0);
    outcome_read(&outcome, result);
    shoal_result_release(result);
    return outcome;
}

static outcome_t by_queue(scene_t *scene, shoal_command_t command,
                          const shoal_call_t *call)
{
    outcome_t outcome = {0};
    shoal_completions_t *queue;
    shoal_completion_t taken;

    assert_int_equal(shoal_completions_new(1, &queue), 0);
    assert_int_equal(
        shoal_completions_submit(queue, scene->client, &command, 1, call, 1, NULL), 0);
    assert_int_equal(shoal_completions_wait(queue, SHOAL_TIMEOUT_NEVER), 0);
    assert_int_equal(shoal_completions_take(queue, &taken, 1), 1);
    outcome_read(&outcome, taken.result);
    shoal_completions_free(queue);
    return outcome;
}

typedef outcome_t (*way_t)(scene_t *scene, shoal_command_t command,
                           const shoal_call_t *call);

static const way_t ways[] = {by_callback, by_sink, by_blocking, by_queue};

#define FOR_EACH_WAY(way)                                                              \
    for (const way_t *way = ways; way < ways + sizeof ways / sizeof *ways; way++)

/* ---- tests ---- */

static void test_what_works_has_no_error(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t call = {.size = sizeof call};

    scene_open_ready(scene);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        assert_false(ways[i](scene, WORDS("INCR", "n"), &call).has_error);
}

static void test_an_error_reply_is_its_own_text(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t call = {.size = sizeof call};

    fake_server_rule(scene->server, &(fake_rule_t){.command = "LPUSH",
                                                   .reply = "-" WRONG_TYPE "\r\n"});
    scene_open_ready(scene);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        outcome_t outcome = ways[i](scene, WORDS("LPUSH", "k", "v"), &call);
        assert_int_equal(outcome.status, 0);
        assert_string_equal(outcome.error, WRONG_TYPE);
        assert_string_equal(outcome.detail, "");
    }
}

static void test_a_status_is_its_detail(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t call = {.size = sizeof call, .timeout_us = 1000};

    fake_server_hold(scene->server, "INCR");
    scene_open_ready(scene);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        outcome_t outcome = ways[i](scene, WORDS("INCR", "n"), &call);
        assert_int_equal(outcome.status, SHOAL_ETIMEOUT);
        assert_string_not_equal(outcome.error, "");
        assert_string_equal(outcome.error, outcome.detail);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_what_works_has_no_error),
        SCENE_TEST(test_an_error_reply_is_its_own_text),
        SCENE_TEST(test_a_status_is_its_detail),
    };
    return cmocka_run_group_tests_name("fault/result_error", tests, NULL, NULL);
}
