/* SPDX-License-Identifier: MIT */
/* Replies that are one large string: in chunks, and whole. */
#include "support/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define LARGE_BYTES 300000
#define CUT_BYTES 200000 /* of the reply, header included */

/* What a chunk sink heard. */
typedef struct heard {
    unsigned begins, ends, resets;
    uint64_t announced;
    size_t bytes; /* since it began */
    bool is_right;
    outcome_t outcome; /* comes last */
    unsigned calls_at_result;
} heard_t;

static char letter(size_t at)
{
    return (char)('a' + at % 23);
}

static void on_begin(uint64_t bytes, void *data)
{
    heard_t *heard = data;

    heard->begins++;
    heard->announced = bytes;
    heard->bytes = 0;
    heard->is_right = true;
}

static void on_chunk(const char *chunk, size_t bytes, void *data)
{
    heard_t *heard = data;

    for (size_t i = 0; i < bytes; i++)
        heard->is_right &= chunk[i] == letter(heard->bytes + i);
    heard->bytes += bytes;
}

static void on_end(void *data)
{
    ((heard_t *)data)->ends++;
}

static void on_reset(void *data)
{
    ((heard_t *)data)->resets++;
}

static const shoal_chunk_sink_t chunks = {on_begin, on_chunk, on_end, on_reset};

static void on_heard(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    heard_t *heard = data;

    heard->calls_at_result = heard->begins + heard->ends + heard->resets;
    outcome_cb(client, result, &heard->outcome);
}

/* The answer to a fence would be taken for a part of the reply. */
static void without_fences(scene_t *scene)
{
    assert_int_equal(
        shoal_options_set_integrity(scene->options, SHOAL_INTEGRITY_SHAPES), 0);
}

static uint64_t submit(scene_t *scene, shoal_command_t command, uint64_t timeout_us,
                       heard_t *heard)
{
    shoal_call_t call = {.size = sizeof call,
                         .timeout_us = timeout_us,
                         .chunks = &chunks,
                         .sink_data = heard};
    uint64_t ticket = 0;

    assert_int_equal(shoal_client_submit_many(scene->client, &command, 1, &call,
                                              on_heard, heard, &ticket),
                     0);
    return ticket;
}

static char *large_reply(scene_t *scene)
{
    char *reply = scene_alloc(scene, LARGE_BYTES + 32);
    size_t header = (size_t)sprintf(reply, "$%d\r\n", LARGE_BYTES);

    for (size_t i = 0; i < LARGE_BYTES; i++)
        reply[header + i] = letter(i);
    memcpy(reply + header + LARGE_BYTES, "\r\n", 3);
    return reply;
}

static void check(const heard_t *heard, int status, unsigned begins, unsigned resets)
{
    scene_await(&heard->outcome);
    assert_int_equal(heard->outcome.calls, 1);
    assert_int_equal(heard->outcome.status, status);
    assert_false(heard->outcome.has_reply);
    assert_int_equal(heard->begins, begins);
    assert_int_equal(heard->resets, resets);
    assert_int_equal(heard->ends, begins - resets);
    assert_int_equal(heard->begins + heard->ends + heard->resets,
                     heard->calls_at_result);
    assert_int_equal(heard->announced, LARGE_BYTES);
    assert_true(heard->is_right);
    if (status == 0)
        assert_int_equal(heard->bytes, LARGE_BYTES);
}

static void check_whole(scene_t *scene)
{
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "GET", .reply = large_reply(scene)});
    scene_open_ready(scene);
    submit(scene, WORDS("GET", "k"), 0, heard);
    check(heard, 0, 1, 0);
    assert_int_equal(heard->outcome.fate, SHOAL_FATE_REPLIED);
    scene_check_works(scene);
}

static void test_whole(void **state)
{
    check_whole(*state);
}

static void test_whole_in_small_pieces(void **state)
{
    scene_serve(*state, &(fake_config_t){.is_unix = true, .chunk_bytes = 777});
    check_whole(*state);
}

static void test_whole_where_replies_are_held(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(
        shoal_options_set_integrity(scene->options, SHOAL_INTEGRITY_STRICT), 0);
    check_whole(scene);
}

static void test_other_replies_are_the_results(void **state)
{
    static const char *const replies[] = {"$5\r\nhello\r\n", "$-1\r\n", "*1\r\n:1\r\n",
                                          "-ERR no\r\n"};
    static const shoal_reply_type_t types[] = {SHOAL_REPLY_STRING, SHOAL_REPLY_NIL,
                                               SHOAL_REPLY_ARRAY, SHOAL_REPLY_ERROR};
    scene_t *scene = *state;

    scene_open_ready(scene);
    for (size_t i = 0; i < 4; i++) {
        heard_t *heard = scene_alloc(scene, sizeof *heard);
        fake_server_forget_rules(scene->server);
        fake_server_rule(scene->server,
                         &(fake_rule_t){.command = "EVAL", .reply = replies[i]});
        submit(scene, WORDS("EVAL", "k", "0"), 0, heard);
        scene_await(&heard->outcome);
        assert_true(heard->outcome.has_reply);
        assert_int_equal(heard->outcome.type, types[i]);
        assert_int_equal(heard->begins, 0);
    }
}

static void rule_cut(scene_t *scene, const char *command, unsigned connection,
                     fake_then_t then)
{
    fake_server_rule(scene->server, &(fake_rule_t){.command = command,
                                                   .connection = connection,
                                                   .reply = large_reply(scene),
                                                   .is_cut = true,
                                                   .cut_bytes = CUT_BYTES,
                                                   .then = then});
}

/* Cut in the middle: what was heard is void. */
static void test_cut(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    rule_cut(scene, "EVAL", 0, FAKE_FIN);
    scene_open_ready(scene);
    submit(scene, WORDS("EVAL", "k", "0"), 0, heard);
    check(heard, SHOAL_ECONN, 1, 1);
    assert_int_equal(heard->outcome.fate, SHOAL_FATE_REPLY_LOST);
}

/* The same for a command that may be repeated: the whole follows anew. */
static void test_retry_delivers_anew(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    rule_cut(scene, "GET", 1, FAKE_FIN);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "GET", .reply = large_reply(scene)});
    scene_open_ready(scene);
    submit(scene, WORDS("GET", "k"), 0, heard);
    check(heard, 0, 2, 1);
    assert_int_equal(heard->outcome.attempts, 2);
}

/* Given up in the middle: reset, result, and then silence though the rest arrives.  False:
 * the deadline (0: it is cancelled) had passed before the middle was reached. */
static bool is_given_up(scene_t *scene, uint64_t timeout_us)
{
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    scene_serve(scene, NULL);
    rule_cut(scene, "EVAL", 0, FAKE_HOLD);
    without_fences(scene);
    scene_open_ready(scene);
    uint64_t before = scene_stats(scene).bytes_in;
    uint64_t ticket = submit(scene, WORDS("EVAL", "k", "0"), timeout_us, heard);
    WAIT_FOR(outcome_is_done(&heard->outcome) ||
             scene_stats(scene).bytes_in == before + CUT_BYTES);
    if (timeout_us == 0)
        assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_await(&heard->outcome);
    if (timeout_us > 0 && timeout_us < WAITING_US_MAX &&
        heard->outcome.fate != SHOAL_FATE_REPLY_LOST) {
        scene_close(scene, 0);
        return false;
    }
    check(heard, timeout_us == 0 ? SHOAL_ECANCELLED : SHOAL_ETIMEOUT, 1, 1);
    assert_int_equal(heard->outcome.fate, SHOAL_FATE_REPLY_LOST);
    fake_server_release(scene->server);
    for (int i = 0; i < 5; i++)
        scene_check_works(scene);
    check(heard, heard->outcome.status, 1, 1);
    assert_int_equal(fake_server_accepted(scene->server), 1);
    scene_close(scene, 0);
    return true;
}

static void check_given_up(scene_t *scene, bool is_cancelled)
{
    for (uint64_t timeout_us = is_cancelled ? 0 : 200000;
         !is_given_up(scene, timeout_us);)
        timeout_us *= 2;
}

static void test_given_up(void **state)
{
    check_given_up(*state, true);
    check_given_up(*state, false);
}

static void test_close_in_the_middle(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    rule_cut(scene, "EVAL", 0, FAKE_HOLD);
    without_fences(scene);
    scene_open_ready(scene);
    uint64_t before = scene_stats(scene).bytes_in;
    submit(scene, WORDS("EVAL", "k", "0"), 0, heard);
    WAIT_FOR(scene_stats(scene).bytes_in == before + CUT_BYTES);
    scene_close(scene, 0);
    check(heard, SHOAL_ESHUTDOWN, 1, 1);
}

/* Without a line end behind it the connection is of no use. */
static void test_desync(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);
    char *reply = large_reply(scene);

    reply[strlen(reply) - 1] = 'x';
    fake_server_rule(scene->server, &(fake_rule_t){.command = "EVAL", .reply = reply});
    scene_open_ready(scene);
    submit(scene, WORDS("EVAL", "k", "0"), 0, heard);
    check(heard, SHOAL_EDESYNC, 1, 1);
    scene_check_works(scene);
}

/* ---- without a chunk sink ---- */

static void check_tree(scene_t *scene)
{
    const char *const argv[] = {"GET", "k"};
    const shoal_reply_t *kept[4];
    size_t bytes;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "GET", .reply = large_reply(scene)});
    scene_open_ready(scene);
    for (size_t i = 0; i < 4; i++) {
        shoal_result_t *result;
        assert_int_equal(shoal_client_call(scene->client, 2, argv, NULL, &result), 0);
        assert_int_equal(shoal_result_status(result), 0);
        kept[i] = shoal_reply_retain(shoal_result_reply(result));
        shoal_result_release(result);
        scene_check_works(scene);
    }
    for (size_t i = 0; i < 4; i++) {
        const char *text = shoal_reply_string(kept[i], &bytes);
        assert_int_equal(bytes, LARGE_BYTES);
        for (size_t at = 0; at < bytes; at++)
            if (text[at] != letter(at))
                fail_msg("byte %zu", at);
        assert_int_equal(text[bytes], '\0');
        shoal_reply_release(kept[i]);
    }
}

static void test_a_tree(void **state)
{
    check_tree(*state);
}

static void test_a_tree_in_small_pieces(void **state)
{
    scene_serve(*state, &(fake_config_t){.is_unix = true, .chunk_bytes = 1777});
    check_tree(*state);
}

/* Its connection ends while it is read into its memory. */
static void test_a_tree_that_is_cut(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    rule_cut(scene, "EVAL", 1, FAKE_FIN);
    rule_cut(scene, "EVAL", 2, FAKE_HOLD);
    without_fences(scene);
    scene_open_ready(scene);
    scene_submit(scene, WORDS("EVAL", "k", "0"), NULL, &outcomes[0]);
    scene_await(&outcomes[0]);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_REPLY_LOST);
    scene_check_works(scene);
    uint64_t before = scene_stats(scene).bytes_in;
    uint64_t ticket = scene_submit(scene, WORDS("EVAL", "k", "0"), NULL, &outcomes[1]);
    WAIT_FOR(scene_stats(scene).bytes_in == before + CUT_BYTES);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_await(&outcomes[1]);
    scene_check(&outcomes[1], SHOAL_ECANCELLED, SHOAL_FATE_REPLY_LOST);
    fake_server_release(scene->server);
    scene_check_works(scene);
}

/* ---- blocking calls ---- */

static void test_a_blocking_call(void **state)
{
    scene_t *scene = *state;
    const char *const argv[] = {"GET", "k"};
    const shoal_command_t command = {.argc = 2, .argv = argv};

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "GET", .reply = large_reply(scene)});
    scene_open_ready(scene);
    for (uint32_t flags = 0; flags <= SHOAL_CALL_SINK_HERE;
         flags += SHOAL_CALL_SINK_HERE) {
        heard_t heard = {.begins = 0};
        shoal_call_t call = {.size = sizeof call,
                             .flags = flags,
                             .chunks = &chunks,
                             .sink_data = &heard};
        shoal_result_t *result;
        assert_int_equal(
            shoal_client_call_with(scene->client, &command, &call, &result), 0);
        assert_int_equal(shoal_result_status(result), 0);
        assert_null(shoal_result_reply(result));
        shoal_result_release(result);
        assert_int_equal(heard.ends, 1);
        assert_int_equal(heard.bytes, LARGE_BYTES);
        assert_true(heard.is_right);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_whole),
        SCENE_TEST(test_whole_in_small_pieces),
        SCENE_TEST(test_whole_where_replies_are_held),
        SCENE_TEST(test_other_replies_are_the_results),
        SCENE_TEST(test_cut),
        SCENE_TEST(test_retry_delivers_anew),
        SCENE_TEST(test_given_up),
        SCENE_TEST(test_close_in_the_middle),
        SCENE_TEST(test_desync),
        SCENE_TEST(test_a_tree),
        SCENE_TEST(test_a_tree_in_small_pieces),
        SCENE_TEST(test_a_tree_that_is_cut),
        SCENE_TEST(test_a_blocking_call),
    };
    return cmocka_run_group_tests_name("fault/large_replies", tests, NULL, NULL);
}
