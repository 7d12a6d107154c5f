/* SPDX-License-Identifier: MIT */
/* Every reply goes to its own command: with pushes and errors at every position, split
 * after every byte, behind dropped callbacks; and any doubt ends the connection.
 * (I1 I2 I8) */
#include "support/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 64

/* A batch of echoes, each with a text of its own. */
typedef struct batch {
    size_t count;
    shoal_command_t commands[BATCH_MAX];
    const char *argv[BATCH_MAX][2];
    char texts[BATCH_MAX][24];
    outcome_t *outcomes;
} batch_t;

static batch_t *batch_new(scene_t *scene, size_t count)
{
    static unsigned batches;
    batch_t *batch = scene_alloc(scene, sizeof *batch);

    batches++;
    batch->count = count;
    batch->outcomes = scene_outcomes(scene, count);
    for (size_t i = 0; i < count; i++) {
        snprintf(batch->texts[i], sizeof batch->texts[i], "b%u.%zu", batches, i);
        batch->argv[i][0] = "ECHO";
        batch->argv[i][1] = batch->texts[i];
        batch->commands[i] = (shoal_command_t){2, batch->argv[i], NULL};
    }
    return batch;
}

/* Every echo but number `but` has its own reply. */
static void batch_check(const batch_t *batch, size_t but)
{
    for (size_t i = 0; i < batch->count; i++)
        if (i != but)
            scene_check_text(&batch->outcomes[i], batch->texts[i]);
}

/* clang-format off */
static const char *const pushes[] = {
    ">2\r\n+kind\r\n+text\r\n",
    ">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$5\r\nhello\r\n",
    ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n",
    ">2\r\n$10\r\ninvalidate\r\n_\r\n",
    ">3\r\n$12\r\nsunsubscribe\r\n$2\r\nch\r\n:0\r\n",
    ">1\r\n%1\r\n+a\r\n*2\r\n:1\r\n:2\r\n",
    ">1\r\n+x\r\n>1\r\n+y\r\n>1\r\n+z\r\n",
};
/* clang-format on */

#define PUSHES (sizeof pushes / sizeof *pushes)

static void check_pushes(scene_t *scene, size_t count)
{
    for (size_t position = 0; position < count; position++) {
        for (size_t i = 0; i < PUSHES; i++) {
            batch_t *batch = batch_new(scene, count);
            fake_server_forget_rules(scene->server);
            fake_server_rule(scene->server,
                             &(fake_rule_t){.command = "ECHO",
                                            .argument = batch->texts[position],
                                            .before = pushes[i]});
            scene_call_many(scene, batch->commands, count, NULL, batch->outcomes);
            batch_check(batch, count);
        }
    }
}

static void test_pushes_at_every_position(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    check_pushes(scene, 5);
    assert_int_equal(scene_stats(scene).pushes, 5 * (PUSHES + 2));
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_pushes_split_after_every_byte(void **state)
{
    scene_t *scene = *state;

    scene_serve(scene, &(fake_config_t){.is_unix = true, .chunk_bytes = 1});
    scene_open_ready(scene);
    check_pushes(scene, 3);
    assert_int_equal(scene_stats(scene).pushes, 3 * (PUSHES + 2));
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_a_push_to_an_idle_connection(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    for (size_t i = 0; i < PUSHES; i++)
        fake_server_send(scene->server, pushes[i]);
    WAIT_FOR(scene_stats(scene).pushes == PUSHES + 2);
    scene_check_works(scene);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

/* Large and small, nested and flat, in pieces of each size. */
static void test_replies_in_pieces_of_each_size(void **state)
{
    static const char *const replies[] = {
        "$3000\r\n", /* completed below */
        "*3\r\n$1\r\na\r\n*2\r\n:1\r\n_\r\n%1\r\n+k\r\n,1.5\r\n",
        "-ERR some error\r\n",
        "~2\r\n#t\r\n#f\r\n",
        "(3492890328409238509324850943850943825024385\r\n",
        "=7\r\ntxt:abc\r\n",
    };
    enum { REPLIES = sizeof replies / sizeof *replies };
    static const char *const keys[REPLIES] = {"0", "1", "2", "3", "4", "5"};
    static const shoal_reply_type_t types[REPLIES] = {
        SHOAL_REPLY_STRING, SHOAL_REPLY_ARRAY,  SHOAL_REPLY_ERROR,
        SHOAL_REPLY_SET,    SHOAL_REPLY_BIGNUM, SHOAL_REPLY_VERBATIM};
    scene_t *scene = *state;
    char *big = scene_alloc(scene, 3100);

    memcpy(big, replies[0], 7);
    memset(big + 7, 'x', 3000);
    memcpy(big + 3007, "\r\n", 3);
    for (size_t chunk = 1; chunk <= 40; chunk += chunk < 8 ? 1 : 16) {
        scene_serve(scene, &(fake_config_t){.is_unix = true, .chunk_bytes = chunk});
        for (size_t i = 0; i < REPLIES; i++)
            fake_server_rule(scene->server,
                             &(fake_rule_t){.command = "EVAL", /* answers anything */
                                            .argument = keys[i],
                                            .reply = i == 0 ? big : replies[i]});
        scene_open_ready(scene);
        for (size_t i = 0; i < REPLIES; i++) {
            outcome_t outcome =
                scene_call(scene, scene_words("EVAL", keys[i], "0", NULL), NULL);
            scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
            assert_int_equal(outcome.type, types[i]);
            if (i == 0)
                assert_int_equal(outcome.bytes, 3000);
            scene_check_works(scene);
        }
        assert_int_equal(fake_server_accepted(scene->server), 1);
        scene_close(scene, 0);
    }
}

static void test_errors_at_every_position(void **state)
{
    static const size_t counts[] = {1, 2, 3, 7, 64};
    scene_t *scene = *state;
    scene_open_ready(scene);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (size_t position = 0; position < counts[c]; position++) {
            batch_t *batch = batch_new(scene, counts[c]);
            fake_server_forget_rules(scene->server);
            fake_server_rule(scene->server,
                             &(fake_rule_t){.command = "ECHO",
                                            .argument = batch->texts[position],
                                            .reply = "-WRONGTYPE no\r\n"});
            scene_call_many(scene, batch->commands, batch->count, NULL,
                            batch->outcomes);
            batch_check(batch, position);
            scene_check_error(&batch->outcomes[position], "WRONGTYPE no");
        }
    }
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

/* A reply that nobody asked for, on an idle connection: later replies cannot be
 * trusted. */
static void test_an_unsolicited_reply_ends_the_connection(void **state)
{
    static const char *const unsolicited[] = {
        "+OK\r\n", ":1\r\n", "$1\r\nx\r\n", "*0\r\n", "-ERR Protocol error\r\n",
        "garbage"};
    scene_t *scene = *state;

    scene_open_ready(scene);
    for (unsigned i = 0; i < sizeof unsolicited / sizeof *unsolicited; i++) {
        scene_check_works(scene);
        fake_server_send(scene->server, unsolicited[i]);
        WAIT_FOR(scene_events(scene).ready == i + 2);
        assert_int_equal(scene_events(scene).lost_desync, i + 1);
        scene_check_works(scene);
    }
    assert_int_equal(scene_stats(scene).desyncs,
                     sizeof unsolicited / sizeof *unsolicited);
}

/* Two replies where one is due: the second is unsolicited, and dies with the
 * connection before it meets a command. */
static void test_a_doubled_reply_meets_nobody(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                   .reply = "$5\r\nright\r\n",
                                                   .after = "$5\r\nwrong\r\n"});
    scene_open_ready(scene);
    for (unsigned i = 0; i < 20; i++) {
        outcome_t outcome = scene_call(scene, scene_words("GET", "k", NULL), NULL);
        scene_check_text(&outcome, "right");
        WAIT_FOR(scene_events(scene).lost_desync == i + 1);
        scene_check_works(scene);
    }
}

/* A push inside a reply cannot be told from the reply's own elements. */
static void test_a_push_inside_an_array(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    shoal_command_t commands[2] = {scene_words("INCR", "a", NULL),
                                   scene_words("INCR", "b", NULL)};

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "INCR",
                                    .argument = "a",
                                    .reply = "*1\r\n>3\r\n+subscribe\r\n+ch\r\n:1\r\n",
                                    .is_executed = true});
    scene_open_ready(scene);
    scene_call_many(scene, commands, 2, NULL, outcomes);
    scene_check(&outcomes[0], SHOAL_EDESYNC, SHOAL_FATE_REPLY_LOST);
    scene_check(&outcomes[1], SHOAL_EDESYNC, SHOAL_FATE_UNKNOWN);
    scene_check_works(scene);
    assert_int_equal(scene_events(scene).lost_desync, 1);
}

/* Metadata before a reply is skipped. */
static void test_an_attribute_before_a_reply(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                   .before = "|1\r\n+ttl\r\n:3600\r\n",
                                                   .reply = "$5\r\nvalue\r\n"});
    scene_open_ready(scene);
    for (int i = 0; i < 3; i++) {
        outcome_t outcome = scene_call(scene, scene_words("GET", "k", NULL), NULL);
        scene_check_text(&outcome, "value");
        scene_check_works(scene);
    }
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_dropped_results_keep_their_place(void **state)
{
    enum { COUNT = 3000 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, COUNT);
    char text[16];

    scene_open_ready(scene);
    for (unsigned i = 0; i < COUNT; i++) {
        const char *const argv[2] = {"ECHO", text};
        snprintf(text, sizeof text, "%u", i);
        assert_int_equal(shoal_client_submit(scene->client, 2, argv, NULL,
                                             i % 3 ? outcome_cb : NULL, &outcomes[i],
                                             NULL),
                         0);
    }
    uint64_t order = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        if (i % 3 == 0)
            continue;
        snprintf(text, sizeof text, "%u", i);
        scene_check_text(&outcomes[i], text);
        assert_true(outcomes[i].order > order); /* in the order of submission */
        order = outcomes[i].order;
        assert_ptr_equal(outcomes[i].sender, scene->client);
    }
    for (unsigned i = 0; i < COUNT; i += 3)
        assert_false(outcome_is_done(&outcomes[i]));
    WAIT_FOR(scene_stats(scene).completed == COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_pushes_at_every_position),
        SCENE_TEST(test_pushes_split_after_every_byte),
        SCENE_TEST(test_a_push_to_an_idle_connection),
        SCENE_TEST(test_replies_in_pieces_of_each_size),
        SCENE_TEST(test_errors_at_every_position),
        SCENE_TEST(test_an_unsolicited_reply_ends_the_connection),
        SCENE_TEST(test_a_doubled_reply_meets_nobody),
        SCENE_TEST(test_a_push_inside_an_array),
        SCENE_TEST(test_an_attribute_before_a_reply),
        SCENE_TEST(test_dropped_results_keep_their_place),
    };
    return cmocka_run_group_tests_name("fault/order", tests, NULL, NULL);
}
