/* SPDX-License-Identifier: MIT */
/* The bulk lane: when it is opened, what takes it, and what stays behind. */
#include "support/live.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES_MAX 400000

static char padding[VALUE_BYTES_MAX + 1];

static shoal_client_t *open_named(bool has_lane)
{
    shoal_options_t *options = live_options();

    assert_int_equal(shoal_options_set_client_name(options, "lanes"), 0);
    assert_int_equal(shoal_options_set_bulk_lane(options, has_lane), 0);
    return live_open(options);
}

/* ---- one command at a time ---- */

static void on_done(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    assert_int_equal(shoal_result_status(result), 0);
    atomic_fetch_add((_Atomic size_t *)data, 1);
}

/* SET with so many bytes; not as a blocking call, which might stay where it is. */
static void set(shoal_client_t *client, const char *key, size_t bytes, uint32_t flags)
{
    const char *argv[] = {"SET", key, padding};
    const size_t argvlen[] = {3, strlen(key), bytes};
    const shoal_command_t command = {3, argv, argvlen};
    shoal_call_t call = SHOAL_CALL_INIT;
    _Atomic size_t done = 0;

    call.flags = flags;
    assert_int_equal(
        shoal_client_submit_many(client, &command, 1, &call, on_done, &done, NULL), 0);
    WAIT_FOR(done == 1);
}

static void get(shoal_client_t *client, const char *key)
{
    const char *argv[] = {"GET", key};
    const shoal_command_t command = {2, argv, NULL};
    _Atomic size_t done = 0;

    assert_int_equal(
        shoal_client_submit_many(client, &command, 1, NULL, on_done, &done, NULL), 0);
    WAIT_FOR(done == 1);
}

static size_t connections(shoal_client_t *client)
{
    shoal_result_t *result;
    size_t count = 0, bytes;

    assert_int_equal(shoal_client_callf(client, &result, "CLIENT LIST TYPE normal"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    for (const char *at = shoal_reply_string(shoal_result_reply(result), &bytes);
         (at = strstr(at, "name=lanes ")) != NULL; at++)
        count++;
    shoal_result_release(result);
    return count;
}

static void test_is_opened_for_what_is_large(void **state)
{
    shoal_client_t *client = open_named(true);
    (void)state;

    set(client, "small", 60000, 0);
    assert_int_equal(connections(client), 1);
    set(client, "large", 100000, 0); /* opens it */
    WAIT_FOR(connections(client) == 2);
    WAIT_FOR((set(client, "large", 100000, 0), live_stats(client).bulk > 0));
    uint64_t before = live_stats(client).bulk;
    set(client, "small", 60000, 0);
    assert_int_equal(live_stats(client).bulk, before);
    set(client, "small", 10, SHOAL_CALL_BULK);
    assert_int_equal(live_stats(client).bulk, before + 1);
    live_finish(client);
}

static void test_learns_which_replies_are_large(void **state)
{
    shoal_client_t *client = open_named(true);
    shoal_client_t *other = open_named(false);
    (void)state;

    set(other, "learned", 390000, 0);
    set(other, "learned:not", 10, 0);
    WAIT_FOR((get(client, "learned"), live_stats(client).bulk > 0));
    uint64_t before = live_stats(client).bulk;
    get(client, "learned:not");
    assert_int_equal(live_stats(client).bulk, before);
    get(client, "learned");
    assert_int_equal(live_stats(client).bulk, before + 1);
    live_finish(other);
    live_finish(client);
}

static void test_can_be_turned_off(void **state)
{
    shoal_client_t *client = open_named(false);
    (void)state;

    for (int i = 0; i < 10; i++) {
        set(client, "large", 390000, SHOAL_CALL_BULK);
        get(client, "large");
    }
    assert_int_equal(connections(client), 1);
    assert_int_equal(live_stats(client).bulk, 0);
    live_finish(client);
}

/* ---- what stays together, and what stays behind ---- */

typedef struct group {
    size_t answered;
    bool has_failed;
    _Atomic bool is_over;
    size_t count;
} group_t;

static void on_one_of_group(shoal_client_t *client, const shoal_result_t *result,
                            void *data)
{
    group_t *group = data;
    (void)client;

    if (shoal_result_status(result) != 0 ||
        shoal_reply_type(shoal_result_reply(result)) == SHOAL_REPLY_ERROR)
        group->has_failed = true;
    if (++group->answered == group->count)
        group->is_over = true;
}

/* So many commands by one call, with a large SET as the first. */
static void set_with(shoal_client_t *client, const char *const *other, size_t argc)
{
    const char *large[] = {"SET", "large", padding};
    const size_t large_bytes[] = {3, 5, 100000};
    const shoal_command_t commands[] = {{3, large, large_bytes}, {argc, other, NULL}};
    group_t group = {.count = 2};

    assert_int_equal(shoal_client_submit_many(client, commands, 2, NULL,
                                              on_one_of_group, &group, NULL),
                     0);
    WAIT_FOR(group.is_over);
    assert_false(group.has_failed);
}

static void open_lane(shoal_client_t *client)
{
    WAIT_FOR((set(client, "large", 100000, 0), live_stats(client).bulk > 0));
}

static void test_commands_of_one_call_stay_together(void **state)
{
    static const char *const rpush[] = {"RPUSH", "list", "large"};
    static const char *const publish[] = {"PUBLISH", "channel", "large"};
    static const char *const unknown[] = {"EVAL", "return 1", "0"};
    shoal_client_t *client = open_named(true);
    (void)state;

    open_lane(client);
    uint64_t before = live_stats(client).bulk;
    set_with(client, rpush, 3);
    assert_int_equal(live_stats(client).bulk, before + 2);
    set_with(client, publish, 3); /* has no key: both stay */
    set_with(client, unknown, 3); /* may have any */
    assert_int_equal(live_stats(client).bulk, before + 2);
    live_finish(client);
}

static void test_a_unit_takes_the_lane_whole(void **state)
{
    const char *multi[] = {"MULTI"}, *exec[] = {"EXEC"};
    const char *large[] = {"SET", "large", padding}, *small[] = {"SET", "small", "1"};
    const size_t large_bytes[] = {3, 5, 100000};
    const shoal_command_t commands[] = {
        {1, multi, NULL}, {3, large, large_bytes}, {3, small, NULL}, {1, exec, NULL}};
    shoal_client_t *client = open_named(true);
    shoal_call_t call = SHOAL_CALL_INIT;
    group_t group = {.count = 4};
    (void)state;

    open_lane(client);
    uint64_t before = live_stats(client).bulk;
    call.flags = SHOAL_CALL_CONTIGUOUS;
    assert_int_equal(shoal_client_submit_many(client, commands, 4, &call,
                                              on_one_of_group, &group, NULL),
                     0);
    WAIT_FOR(group.is_over);
    assert_false(group.has_failed);
    assert_int_equal(live_stats(client).bulk, before + 4);
    live_finish(client);
}

static void test_commands_without_a_key_stay(void **state)
{
    const char *argv[] = {"PUBLISH", "channel", padding};
    const size_t argvlen[] = {7, 7, 390000};
    const shoal_command_t command = {3, argv, argvlen};
    shoal_client_t *client = open_named(true);
    shoal_call_t call = SHOAL_CALL_INIT;
    _Atomic size_t done = 0;
    (void)state;

    open_lane(client);
    uint64_t before = live_stats(client).bulk;
    call.flags = SHOAL_CALL_BULK;
    assert_int_equal(
        shoal_client_submit_many(client, &command, 1, &call, on_done, &done, NULL), 0);
    WAIT_FOR(done == 1);
    assert_int_equal(live_stats(client).bulk, before);
    live_finish(client);
}

typedef struct answer {
    char text[32];
    _Atomic bool is_there;
} answer_t;

static void on_answer(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    answer_t *answer = data;
    const shoal_reply_t *reply = shoal_result_reply(result);
    size_t bytes = 0;
    const char *text = "nil";
    (void)client;

    if (shoal_result_status(result) != 0)
        text = "failed";
    else if (shoal_reply_type(reply) == SHOAL_REPLY_STRING ||
             shoal_reply_type(reply) == SHOAL_REPLY_STATUS)
        text = shoal_reply_string(reply, &bytes);
    snprintf(answer->text, sizeof answer->text, "%.8s", text);
    answer->is_there = true;
}

static void submit_one(shoal_client_t *client, size_t argc, const char *const *argv,
                       answer_t *answer)
{
    const shoal_command_t command = {argc, argv, NULL};

    assert_int_equal(
        shoal_client_submit_many(client, &command, 1, NULL, on_answer, answer, NULL),
        0);
}

/* FLUSHALL changes every key: it has its place behind what is in the lane, and before all
 * that follows. */
static void test_flushall_has_its_place(void **state)
{
    static const char *const flush[] = {"FLUSHALL"};
    static const char *const get_a[] = {"GET", "a"}, *const get_b[] = {"GET", "b"};
    static const char *const set_b[] = {"SET", "b", "new"};
    const char *set_a[] = {"SET", "a", padding};
    const size_t set_a_bytes[] = {3, 1, 390000};
    const shoal_command_t large = {3, set_a, set_a_bytes};
    shoal_client_t *client = open_named(true);
    (void)state;

    open_lane(client);
    for (int i = 0; i < 50; i++) {
        answer_t answers[6] = {0};
        assert_int_equal(shoal_client_submit_many(client, &large, 1, NULL, on_answer,
                                                  &answers[0], NULL),
                         0);
        submit_one(client, 1, flush, &answers[1]);
        submit_one(client, 2, get_a, &answers[2]);
        submit_one(client, 3, set_b, &answers[3]);
        submit_one(client, 2, get_b, &answers[4]);
        for (size_t k = 0; k < 5; k++)
            WAIT_FOR(answers[k].is_there);
        assert_string_equal(answers[2].text, "nil");
        assert_string_equal(answers[4].text, "new");
        submit_one(client, 2, get_b, &answers[5]);
        WAIT_FOR(answers[5].is_there);
        assert_string_equal(answers[5].text, "new"); /* nothing came behind it */
    }
    live_finish(client);
}

/* The lane does a part of a large command in a turn. */
static void test_the_work_of_a_turn_is_bounded(void **state)
{
    const size_t bytes = 10485760;
    char *large = malloc(bytes);
    const char *argv[] = {"SET", "large", large};
    const size_t argvlen[] = {3, 5, bytes};
    const shoal_command_t command = {3, argv, argvlen};
    shoal_client_t *client = open_named(true);
    _Atomic size_t done = 0;
    (void)state;

    assert_non_null(large);
    memset(large, 'l', bytes);
    open_lane(client);
    shoal_stats_t before = live_stats(client);
    assert_int_equal(
        shoal_client_submit_many(client, &command, 1, NULL, on_done, &done, NULL), 0);
    WAIT_FOR(done == 1);
    shoal_stats_t between = live_stats(client);
    assert_true(between.turns - before.turns >= bytes / 400000);
    get(client, "large");
    shoal_stats_t after = live_stats(client);
    assert_int_equal(after.bulk, before.bulk + 2);
    assert_true(after.turns - between.turns >= bytes / 131072);
    free(large);
    live_finish(client);
}

/* After WAIT writes stay where it counts them. */
static void test_keeps_writes_with_wait(void **state)
{
    static const char *const argv[] = {"WAIT", "0", "1"};
    const shoal_command_t command = {3, argv, NULL};
    shoal_client_t *client = open_named(true);
    shoal_call_t call = SHOAL_CALL_INIT;
    _Atomic size_t done = 0;
    (void)state;

    WAIT_FOR((set(client, "large", 100000, 0), live_stats(client).bulk > 0));
    call.flags = SHOAL_CALL_MAY_BLOCK;
    assert_int_equal(
        shoal_client_submit_many(client, &command, 1, &call, on_done, &done, NULL), 0);
    WAIT_FOR(done == 1);
    uint64_t before = live_stats(client).bulk;
    set(client, "large", 390000, 0);
    assert_int_equal(live_stats(client).bulk, before);
    WAIT_FOR((get(client, "large"), live_stats(client).bulk > before));
    live_finish(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_opened_for_what_is_large),
        cmocka_unit_test(test_learns_which_replies_are_large),
        cmocka_unit_test(test_can_be_turned_off),
        cmocka_unit_test(test_commands_of_one_call_stay_together),
        cmocka_unit_test(test_a_unit_takes_the_lane_whole),
        cmocka_unit_test(test_commands_without_a_key_stay),
        cmocka_unit_test(test_flushall_has_its_place),
        cmocka_unit_test(test_the_work_of_a_turn_is_bounded),
        cmocka_unit_test(test_keeps_writes_with_wait),
    };
    memset(padding, 'p', VALUE_BYTES_MAX);
    return cmocka_run_group_tests_name("integration/lanes", tests, NULL, NULL);
}
