/* SPDX-License-Identifier: MIT */
/* Commands over keys of several slots, which may be split.  The test plays the nodes; all
 * slots belong to the first one. */
#include "fault/cluster_scene.h"

/* Keys, and their slots. */
#define B "b"
#define B_SLOT "3300"
#define C "c"
#define A "a"
#define A_SLOT 15495

static const shoal_call_t may_split = {.size = sizeof may_split,
                                       .flags = SHOAL_CALL_MAY_SPLIT};

static void answer(size_t node, const char *command, const char *key, const char *reply)
{
    fake_server_rule(
        nodes[node],
        &(fake_rule_t){.command = command, .argument = key, .reply = reply});
}

static shoal_result_t *ask(scene_t *scene, shoal_command_t command,
                           const shoal_call_t *call)
{
    shoal_result_t *result = NULL;

    assert_int_equal(shoal_client_call_with(scene->client, &command, call, &result), 0);
    return result;
}

static void check_text(const shoal_result_t *result, size_t at, const char *text)
{
    const shoal_reply_t *reply = shoal_reply_at(shoal_result_reply(result), at);

    assert_string_equal(shoal_reply_string(reply, &(size_t){0}), text);
}

/* MGET a b {a}2: what the parts answer. */
static void answer_mget(void)
{
    answer(0, "MGET", A, "*2\r\n$2\r\nva\r\n$3\r\nva2\r\n");
    answer(0, "MGET", B, "*1\r\n$2\r\nvb\r\n");
}

static void check_mget(const shoal_result_t *result)
{
    assert_int_equal(shoal_result_status(result), 0);
    assert_int_equal(shoal_reply_count(shoal_result_reply(result)), 3);
    check_text(result, 0, "va");
    check_text(result, 1, "vb");
    check_text(result, 2, "va2");
    assert_int_equal(shoal_result_parts(result), 2);
}

static void the_result_has_the_order_of_the_keys(void **state)
{
    scene_t *scene = *state;
    char name[64];

    agree();
    answer_mget();
    open_cluster(scene, 0);
    shoal_result_t *result = ask(scene, WORDS("MGET", A, B, "{a}2"), &may_split);
    check_mget(result);
    snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(nodes[0]));
    assert_int_equal(shoal_result_slot(shoal_result_part(result, 0)), A_SLOT);
    assert_int_equal(shoal_result_slot(shoal_result_part(result, 1)), atoi(B_SLOT));
    assert_string_equal(shoal_result_node(shoal_result_part(result, 0)), name);
    shoal_result_release(result);
    shoal_stats_t stats = scene_idle_stats(scene);
    assert_int_equal(stats.completed, 1);
}

/* The whole command waits until the owners are known. */
static void it_waits_for_the_cluster(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    agree();
    answer(0, "DEL", A, ":1\r\n");
    answer(0, "DEL", B, ":2\r\n");
    fake_server_freeze(nodes[0]);
    open_cluster(scene, 0);
    scene_submit(scene, WORDS("DEL", A, B, B), &may_split, outcome);
    WAIT_FOR(scene_stats(scene).queued_now == 1);
    fake_server_release(nodes[0]);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(outcome->integer, 3);
}

/* Of one slot it is an ordinary command. */
static void keys_of_one_slot_are_one_command(void **state)
{
    scene_t *scene = *state;

    agree();
    answer(0, "MSET", A, "+OK\r\n");
    open_cluster(scene, 0);
    shoal_result_t *result = ask(scene, WORDS("MSET", A, "1", "{a}2", "2"), &may_split);
    assert_int_equal(shoal_result_parts(result), 0);
    assert_int_equal(shoal_result_status(result), 0);
    shoal_result_release(result);
    assert_int_equal(fake_server_received(nodes[0], 0, "MSET", NULL), 1);
}

static void a_part_is_redirected_alone(void **state)
{
    scene_t *scene = *state;

    agree();
    answer(0, "MGET", B, redirect_to("MOVED", B_SLOT, 1));
    answer(1, "MGET", B, "*1\r\n$2\r\nvb\r\n");
    answer_mget();
    open_cluster(scene, 0);
    shoal_result_t *result = ask(scene, WORDS("MGET", A, B, "{a}2"), &may_split);
    check_mget(result);
    assert_int_equal(shoal_result_redirects(result), 1);
    assert_int_equal(shoal_result_redirects(shoal_result_part(result, 0)), 0);
    shoal_result_release(result);
    assert_int_equal(fake_server_received(nodes[1], 0, "MGET", NULL), 1);
}

static void an_error_is_the_result(void **state)
{
    scene_t *scene = *state;

    agree();
    answer(0, "MSET", A, "+OK\r\n");
    answer(0, "MSET", B, "-OOM no\r\n");
    open_cluster(scene, 0);
    shoal_result_t *result = ask(scene, WORDS("MSET", A, "1", B, "2"), &may_split);
    assert_string_equal(shoal_result_error(result), "OOM no");
    assert_null(shoal_result_error(shoal_result_part(result, 0)));
    shoal_result_release(result);
}

static void hold(const char *command, const char *key)
{
    fake_server_rule(nodes[0], &(fake_rule_t){.command = command,
                                              .argument = key,
                                              .reply = ":1\r\n",
                                              .is_cut = true,
                                              .then = FAKE_HOLD});
}

static void a_part_without_a_reply_is_told(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = may_split;

    agree();
    answer(0, "DEL", A, ":1\r\n");
    hold("DEL", B);
    open_cluster(scene, 0);
    check_ok(scene, WORDS("PING"));
    call.timeout_us = 200000;
    shoal_result_t *result = ask(scene, WORDS("DEL", A, B), &call);
    while (shoal_result_fate(shoal_result_part(result, 0)) != SHOAL_FATE_REPLIED) {
        shoal_result_release(result); /* the part that is answered was late */
        fake_server_release(nodes[0]);
        call.timeout_us *= 2;
        assert_true(call.timeout_us < WAITING_US_MAX);
        result = ask(scene, WORDS("DEL", A, B), &call);
    }
    assert_int_equal(shoal_result_status(result), SHOAL_ETIMEOUT);
    assert_int_equal(shoal_result_fate(result), SHOAL_FATE_UNKNOWN);
    assert_non_null(strstr(shoal_result_detail(result), "1 of 2 parts"));
    const shoal_result_t *good = shoal_result_part(result, 0);
    const shoal_result_t *bad = shoal_result_part(result, 1);
    assert_int_equal(shoal_result_fate(good), SHOAL_FATE_REPLIED);
    assert_int_equal(shoal_reply_integer(shoal_result_reply(good)), 1);
    assert_int_equal(shoal_result_fate(bad), SHOAL_FATE_UNKNOWN);
    assert_int_equal(shoal_result_slot(bad), atoi(B_SLOT));
    shoal_result_release(result);
    fake_server_release(nodes[0]);
}

/* The parts of one node have one ticket. */
static void a_cancel_ends_all_parts(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    agree();
    hold("DEL", A);
    open_cluster(scene, 0);
    check_ok(scene, WORDS("PING"));
    uint64_t ticket = scene_submit(scene, WORDS("DEL", A, B, C), &may_split, outcome);
    WAIT_FOR(fake_server_received(nodes[0], 0, "DEL", NULL) == 3);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN);
    fake_server_release(nodes[0]);
    check_ok(scene, WORDS("PING"));
}

static void check_refused(scene_t *scene, const shoal_command_t *commands, size_t count,
                          uint32_t flags, const char *text)
{
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_call_t call = SHOAL_CALL_INIT;

    call.flags = flags;
    call.error = &error;
    assert_int_equal(shoal_client_submit_many(scene->client, commands, count, &call,
                                              NULL, NULL, NULL),
                     SHOAL_ECROSSSLOT);
    if (!strstr(error.text, text))
        fail_msg("%s", error.text);
}

static void what_may_not_be_split_is_refused(void **state)
{
    scene_t *scene = *state;
    const shoal_command_t mget = WORDS("MGET", A, B);
    const shoal_command_t two[] = {mget, mget};
    const shoal_command_t mixed[] = {mget, WORDS("SINTER", A, B)};
    const shoal_command_t msetnx = WORDS("MSETNX", A, "1", B, "2");

    agree();
    open_cluster(scene, 0);
    check_refused(scene, &mget, 1, 0,
                  "MGET belong to several slots of the cluster: give "
                  "them a common {tag}, or let the command be split");
    check_refused(scene, &msetnx, 1, SHOAL_CALL_MAY_SPLIT, "MSETNX");
    check_refused(scene, mixed, 2, SHOAL_CALL_MAY_SPLIT, "SINTER");
    check_refused(scene, two, 2, SHOAL_CALL_MAY_SPLIT | SHOAL_CALL_CONTIGUOUS,
                  "must stay together");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_result_has_the_order_of_the_keys),
        TEST(it_waits_for_the_cluster),
        TEST(keys_of_one_slot_are_one_command),
        TEST(a_part_is_redirected_alone),
        TEST(an_error_is_the_result),
        TEST(a_part_without_a_reply_is_told),
        TEST(a_cancel_ends_all_parts),
        TEST(what_may_not_be_split_is_refused),
    };

    return cmocka_run_group_tests_name("cluster_split", tests, NULL, NULL);
}
