/* SPDX-License-Identifier: MIT */
/* Replies that are delivered piece by piece while they are decoded. */
#include "support/scene.h"

#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* What a sink heard, as text: "A3(", leaf, leaf, ")" ... and "!" for a reset. */
typedef struct heard {
    char text[512];
    size_t size;
    unsigned resets, leaves;
    outcome_t outcome; /* comes last */
    size_t size_at_result;
} heard_t;

static void say(heard_t *heard, const char *text, size_t bytes)
{
    if (heard->size + bytes >= sizeof heard->text)
        return;
    memcpy(heard->text + heard->size, text, bytes);
    heard->size += bytes;
}

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    char digits[32];
    size_t bytes = 0;
    const char *text = shoal_reply_string(leaf, &bytes);

    ((heard_t *)data)->leaves++;
    if (!text) {
        bytes = (size_t)snprintf(digits, sizeof digits, "%lld",
                                 (long long)shoal_reply_integer(leaf));
        text = digits;
    }
    if (shoal_reply_type(leaf) == SHOAL_REPLY_NIL)
        say(data, "nil", 3);
    else
        say(data, text, bytes);
    say(data, " ", 1);
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    char text[32];
    int bytes = snprintf(text, sizeof text, "%s%zu( ",
                         type == SHOAL_REPLY_MAP   ? "M"
                         : type == SHOAL_REPLY_SET ? "S"
                                                   : "A",
                         count);
    say(data, text, (size_t)bytes);
}

static void on_end(void *data)
{
    say(data, ") ", 2);
}

static void on_reset(void *data)
{
    ((heard_t *)data)->resets++;
    say(data, "! ", 2);
}

static const shoal_sink_t sink = {on_leaf, on_begin, on_end, on_reset};

static void on_heard(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    heard_t *heard = data;
    heard->size_at_result = heard->size;
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
                         .sink = &sink,
                         .sink_data = heard};
    uint64_t ticket = 0;
    assert_int_equal(shoal_client_submit_many(scene->client, &command, 1, &call,
                                              on_heard, heard, &ticket),
                     0);
    return ticket;
}

/* Complete, without a reply tree, and nothing was heard after the result. */
static void check(const heard_t *heard, int status, const char *text)
{
    scene_await(&heard->outcome);
    assert_int_equal(heard->outcome.calls, 1);
    assert_int_equal(heard->outcome.status, status);
    assert_false(heard->outcome.has_reply);
    assert_int_equal(heard->size, heard->size_at_result);
    assert_string_equal(heard->text, text);
}

/* clang-format off */
static const struct shape {
    const char *reply, *heard;
} shapes[] = {
    {"+OK\r\n",                                         "OK "},
    {":42\r\n",                                         "42 "},
    {"$5\r\nhello\r\n",                                 "hello "},
    {"$0\r\n\r\n",                                      " "},
    {"_\r\n",                                           "nil "},
    {"*0\r\n",                                          "A0( ) "},
    {"*2\r\n:1\r\n*2\r\n$1\r\na\r\n_\r\n",              "A2( 1 A2( a nil ) ) "},
    {"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n",            "M4( a 1 b A1( 2 ) ) "},
    {"~2\r\n#t\r\n#f\r\n",                              "S2( 1 0 ) "},
    {"*1\r\n*1\r\n*1\r\n:7\r\n",                        "A1( A1( A1( 7 ) ) ) "},
    {"*2\r\n-ERR nested\r\n:1\r\n",                     "A2( ERR nested 1 ) "},
};
/* clang-format on */

static void check_shapes(scene_t *scene)
{
    scene_open_ready(scene);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        heard_t *heard = scene_alloc(scene, sizeof *heard);
        fake_server_forget_rules(scene->server);
        fake_server_rule(scene->server,
                         &(fake_rule_t){.command = "EVAL", .reply = shapes[i].reply});
        submit(scene, WORDS("EVAL", "k", "0"), 0, heard);
        check(heard, 0, shapes[i].heard);
        scene_check_works(scene);
    }
}

static void test_shapes(void **state)
{
    check_shapes(*state);
}

static void test_shapes_byte_by_byte(void **state)
{
    scene_serve(*state, &(fake_config_t){.is_unix = true, .chunk_bytes = 1});
    check_shapes(*state);
}

/* An error at the top level is the command's result; the sink does not get it. */
static void test_an_error_is_a_reply(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "EVAL", .reply = "-WRONGTYPE no\r\n"});
    scene_open_ready(scene);
    submit(scene, WORDS("EVAL", "k", "0"), 0, heard);
    scene_check_error(&heard->outcome, "WRONGTYPE no");
    assert_string_equal(heard->text, "");
}

/* Cut in the middle of the answer: what was heard is void. */
static void test_cut(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    fake_server_rule(scene->server, &(fake_rule_t){.command = "EVAL",
                                                   .reply = "*3\r\n:1\r\n:2\r\n:3\r\n",
                                                   .is_cut = true,
                                                   .cut_bytes = 12,
                                                   .then = FAKE_FIN});
    scene_open_ready(scene);
    submit(scene, WORDS("EVAL", "k", "0"), 0, heard);
    check(heard, SHOAL_ECONN, "A3( 1 2 ! ");
    assert_int_equal(heard->outcome.fate, SHOAL_FATE_REPLY_LOST);
}

/* The same for a command that may be repeated: the whole follows anew. */
static void test_retry_delivers_anew(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    fake_server_rule(scene->server, &(fake_rule_t){.command = "LRANGE",
                                                   .connection = 1,
                                                   .reply = "*3\r\n:1\r\n:2\r\n:3\r\n",
                                                   .is_cut = true,
                                                   .cut_bytes = 12,
                                                   .then = FAKE_FIN});
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "LRANGE", .reply = "*2\r\n$3\r\nnew\r\n:4\r\n"});
    scene_open_ready(scene);
    submit(scene, WORDS("LRANGE", "k", "0", "-1"), 0, heard);
    check(heard, 0, "A3( 1 2 ! A2( new 4 ) ");
    assert_int_equal(heard->resets, 1);
    assert_int_equal(heard->outcome.attempts, 2);
}

/* Given up in the middle: reset, result, and then silence though the rest arrives.  False:
 * the deadline (0: it is cancelled) had passed before the middle was reached. */
static bool is_given_up(scene_t *scene, uint64_t timeout_us)
{
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    scene_serve(scene, NULL);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "EVAL",
                                                   .reply = "*3\r\n:1\r\n:2\r\n:3\r\n",
                                                   .is_cut = true,
                                                   .cut_bytes = 12,
                                                   .then = FAKE_HOLD});
    without_fences(scene);
    scene_open_ready(scene);
    uint64_t before = scene_stats(scene).bytes_in;
    uint64_t ticket = submit(scene, WORDS("EVAL", "k", "0"), timeout_us, heard);
    WAIT_FOR(outcome_is_done(&heard->outcome) ||
             scene_stats(scene).bytes_in == before + 12);
    if (timeout_us == 0)
        assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_await(&heard->outcome);
    if (timeout_us > 0 && timeout_us < WAITING_US_MAX &&
        heard->outcome.fate != SHOAL_FATE_REPLY_LOST) {
        scene_close(scene, 0);
        return false;
    }
    check(heard, timeout_us == 0 ? SHOAL_ECANCELLED : SHOAL_ETIMEOUT, "A3( 1 2 ! ");
    assert_int_equal(heard->outcome.fate, SHOAL_FATE_REPLY_LOST);
    fake_server_release(scene->server);
    for (int i = 0; i < 5; i++)
        scene_check_works(scene);
    check(heard, heard->outcome.status, "A3( 1 2 ! ");
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

static outcome_t ask_shared_for(scene_t *scene, const char *key, uint32_t flags,
                                shoal_lease_t *lease, heard_t *heard)
{
    shoal_call_t call = {.size = sizeof call,
                         .flags = SHOAL_CALL_SINK_SHARED | flags,
                         .sink = &sink,
                         .sink_data = heard,
                         .lease = lease};

    return scene_call(scene, WORDS("LRANGE", key, "0", "-1"), &call);
}

static outcome_t ask_shared(scene_t *scene, uint32_t flags, shoal_lease_t *lease,
                            heard_t *heard)
{
    return ask_shared_for(scene, "k", flags, lease, heard);
}

static bool takes_lane(scene_t *scene, heard_t *heard)
{
    outcome_t outcome;
    bool was_heard, has_taken;

    heard->size = 0;
    outcome = ask_shared(scene, SHOAL_CALL_BULK, NULL, heard);
    was_heard = heard->size > 0;
    has_taken = scene_stats(scene).bulk > 0;
    assert_int_equal(was_heard, !has_taken);
    assert_int_equal(outcome.has_reply, has_taken);
    return has_taken;
}

/* A sink that commands share gets the replies of the ordinary connection; the lane's, and
 * those of a leased connection, are trees. */
static void test_shared(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);
    shoal_lease_t *lease;
    outcome_t outcome;

    assert_int_equal(shoal_options_set_bulk_lane(scene->options, true), 0);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "LRANGE", .reply = "*1\r\n:1\r\n"});
    scene_open_ready(scene);
    outcome = ask_shared(scene, 0, NULL, heard);
    assert_false(outcome.has_reply);
    assert_string_equal(heard->text, "A1( 1 ) ");
    assert_int_equal(shoal_lease_open(scene->client, &lease), 0);
    outcome = ask_shared(scene, 0, lease, heard);
    assert_true(outcome.has_reply);
    assert_string_equal(heard->text, "A1( 1 ) ");
    shoal_lease_close(lease);
    WAIT_FOR(takes_lane(scene, heard));
}

static void test_desync(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "EVAL", .reply = "*3\r\n:1\r\n?\r\n"});
    scene_open_ready(scene);
    submit(scene, WORDS("EVAL", "k", "0"), 0, heard);
    check(heard, SHOAL_EDESYNC, "A3( 1 ! ");
    scene_check_works(scene);
}

static void test_close_in_the_middle(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    fake_server_rule(scene->server, &(fake_rule_t){.command = "EVAL",
                                                   .reply = "*3\r\n:1\r\n:2\r\n:3\r\n",
                                                   .is_cut = true,
                                                   .cut_bytes = 8,
                                                   .then = FAKE_HOLD});
    without_fences(scene);
    scene_open_ready(scene);
    uint64_t before = scene_stats(scene).bytes_in;
    submit(scene, WORDS("EVAL", "k", "0"), 0, heard);
    WAIT_FOR(scene_stats(scene).bytes_in == before + 8);
    scene_close(scene, 0);
    check(heard, SHOAL_ESHUTDOWN, "A3( 1 ! ");
}

/* A command that never leaves has nothing to reset. */
static void test_nothing_to_reset(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);

    fake_server_freeze(scene->server);
    scene_open(scene);
    submit(scene, WORDS("EVAL", "k", "0"), 20000, heard);
    check(heard, SHOAL_ETIMEOUT, "");
}

/* Sinks and trees in one batch; an error among them that is tried again. */
static void test_beside_other_commands(void **state)
{
    enum { COUNT = 300 };
    scene_t *scene = *state;
    heard_t *heards = scene_alloc(scene, COUNT * sizeof *heards);
    outcome_t *outcomes = scene_outcomes(scene, COUNT);
    char text[32], expected[40];

    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "sink 7",
                                                   .times = 1,
                                                   .reply = "-LOADING wait\r\n"});
    scene_open_ready(scene);
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "sink %d", i);
        submit(scene, WORDS("ECHO", text), 0, &heards[i]);
        snprintf(text, sizeof text, "tree %d", i);
        scene_submit(scene, WORDS("ECHO", text), NULL, &outcomes[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "tree %d", i);
        scene_check_text(&outcomes[i], text);
        snprintf(expected, sizeof expected, "sink %d ", i);
        check(&heards[i], 0, expected);
    }
}

/* Of several connections the one that has the commands without a key. */
static void test_shared_by_several_connections(void **state)
{
    scene_t *scene = *state;
    heard_t *heard = scene_alloc(scene, sizeof *heard);
    unsigned first, count = 0;
    char key[2] = "a";

    assert_int_equal(shoal_options_set_connections(scene->options, 2), 0);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "LRANGE", .reply = "*1\r\n:1\r\n"});
    scene_open_ready(scene);
    scene_call(scene, WORDS("ECHO", "first"), NULL);
    first = fake_server_received(scene->server, 1, "ECHO", "first") > 0 ? 1 : 2;
    for (; key[0] <= 'z'; key[0]++) {
        heard->size = 0;
        outcome_t outcome = ask_shared_for(scene, key, 0, NULL, heard);
        bool is_first = fake_server_received(scene->server, first, "LRANGE", key) > 0;
        assert_int_equal(outcome.has_reply, !is_first);
        assert_int_equal(heard->size > 0, is_first);
        count += is_first;
    }
    assert_in_range(count, 1, 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_shapes),
        SCENE_TEST(test_shapes_byte_by_byte),
        SCENE_TEST(test_an_error_is_a_reply),
        SCENE_TEST(test_cut),
        SCENE_TEST(test_retry_delivers_anew),
        SCENE_TEST(test_given_up),
        SCENE_TEST(test_shared),
        SCENE_TEST(test_shared_by_several_connections),
        SCENE_TEST(test_desync),
        SCENE_TEST(test_close_in_the_middle),
        SCENE_TEST(test_nothing_to_reset),
        SCENE_TEST(test_beside_other_commands),
    };
    return cmocka_run_group_tests_name("fault/sink", tests, NULL, NULL);
}
