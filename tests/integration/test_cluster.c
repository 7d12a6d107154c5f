/* SPDX-License-Identifier: MIT */

/* A client of a real cluster: commands find their nodes, and slots move under load. */

#include "support/cluster_load.h"

#include <stdio.h>
#include <string.h>

static void a_command_finds_the_node_of_its_key(void **state)
{
    cluster_rig_t *rig = cluster_rig_start_patient();
    char command[64];
    (void)state;

    if (!rig)
        skip();
    shoal_client_t *client = live_open(cluster_rig_options(rig, 1));
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(command, sizeof command, "SET key%u %u", i, i);
        live_ask(client, command);
    }
    for (unsigned i = 0; i < 1000; i++) {
        shoal_result_t *result = NULL;
        assert_int_equal(shoal_client_callf(client, &result, "GET key%u", i), 0);
        assert_int_equal(shoal_result_status(result), 0);
        snprintf(command, sizeof command, "%u", i);
        assert_string_equal(
            shoal_reply_string(shoal_result_reply(result), &(size_t){0}), command);
        shoal_result_release(result);
    }
    live_finish(client);
    cluster_rig_stop(rig);
}

static shoal_result_t *ask(shoal_client_t *client, const char *text)
{
    shoal_result_t *result = NULL;

    assert_int_equal(shoal_client_callf(client, &result, text), 0);
    if (shoal_result_error(result))
        fail_msg("%s: %s", text, shoal_result_error(result));
    return result;
}

static void expect_integer(shoal_client_t *client, const char *text, int64_t expected)
{
    shoal_result_t *result = ask(client, text);

    assert_int_equal(shoal_reply_integer(shoal_result_reply(result)), expected);
    assert_int_equal(shoal_result_parts(result), CLUSTER_PRIMARIES);
    shoal_result_release(result);
}

static void commands_without_keys_go_to_all(void **state)
{
    cluster_rig_t *rig = cluster_rig_start_patient();
    char command[80];
    (void)state;

    if (!rig)
        skip();
    shoal_client_t *client = live_open(cluster_rig_options(rig, 1));
    for (unsigned i = 0; i < 30; i++) {
        snprintf(command, sizeof command, "SET k%u v", i);
        live_ask(client, command);
    }
    expect_integer(client, "DBSIZE", 30);
    shoal_result_t *result = ask(client, "KEYS k1*");
    assert_int_equal(shoal_reply_count(shoal_result_reply(result)), 11);
    shoal_result_release(result);
    live_ask(client, "SCRIPT LOAD return(1)");
    for (unsigned i = 0; i < 30; i++) {
        snprintf(command, sizeof command,
                 "EVALSHA 930269f31393d0be681588b6ab08dccee7d6bb67 1 k%u", i);
        shoal_result_release(ask(client, command));
    }
    live_ask(client, "FLUSHALL");
    expect_integer(client, "DBSIZE", 0);
    live_finish(client);
    cluster_rig_stop(rig);
}

static shoal_result_t *ask_split(shoal_client_t *client, size_t argc,
                                 const char *const *argv)
{
    const shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_MAY_SPLIT};
    const shoal_command_t command = {argc, argv, NULL};
    shoal_result_t *result = NULL;

    assert_int_equal(shoal_client_call_with(client, &command, &call, &result), 0);
    assert_int_equal(shoal_result_status(result), 0);
    if (shoal_result_error(result))
        fail_msg("%s: %s", argv[0], shoal_result_error(result));
    return result;
}

#define SPLIT_KEYS 200

/* The keys are those of MSET, one after the other. */
static void read_back(shoal_client_t *client, const char *const *pairs)
{
    const char *argv[SPLIT_KEYS + 1] = {"MGET"};

    for (size_t i = 0; i < SPLIT_KEYS; i++)
        argv[i + 1] = pairs[2 * (SPLIT_KEYS - 1 - i)];
    shoal_result_t *result = ask_split(client, SPLIT_KEYS + 1, argv);
    const shoal_reply_t *all = shoal_result_reply(result);
    assert_int_equal(shoal_reply_count(all), SPLIT_KEYS);
    for (size_t i = 0; i < SPLIT_KEYS; i++)
        assert_string_equal(shoal_reply_string(shoal_reply_at(all, i), &(size_t){0}),
                            pairs[2 * (SPLIT_KEYS - 1 - i) + 1]);
    assert_true(shoal_result_parts(result) > CLUSTER_PRIMARIES);
    shoal_result_release(result);
    static const char *const counting[] = {"EXISTS", "TOUCH", "UNLINK", "DEL"};
    for (size_t i = 0; i < sizeof counting / sizeof *counting; i++) {
        argv[0] = counting[i];
        result = ask_split(client, SPLIT_KEYS + 1, argv);
        assert_int_equal(shoal_reply_integer(shoal_result_reply(result)),
                         i < 3 ? SPLIT_KEYS : 0);
        shoal_result_release(result);
    }
}

/* ... also while a slot of them goes to another node. */
static void a_command_over_many_slots_is_split(void **state)
{
    cluster_rig_t *rig = cluster_rig_start_patient();
    char texts[2 * SPLIT_KEYS][16];
    const char *argv[2 * SPLIT_KEYS + 1] = {"MSET"};
    (void)state;

    if (!rig)
        skip();
    shoal_client_t *client = live_open(cluster_rig_options(rig, 1));
    for (size_t i = 0; i < SPLIT_KEYS; i++) {
        snprintf(texts[2 * i], sizeof *texts, "key%zu", i);
        snprintf(texts[2 * i + 1], sizeof *texts, "%zu", i);
        argv[2 * i + 1] = texts[2 * i];
        argv[2 * i + 2] = texts[2 * i + 1];
    }
    /* The slot of "key1". */
    cluster_rig_begin_move(rig, 9189, 1, 0);
    for (unsigned i = 0; i < 3; i++) {
        shoal_result_release(ask_split(client, 2 * SPLIT_KEYS + 1, argv));
        if (i == 1)
            cluster_rig_move_keys(rig, 9189, 1, 0, CLUSTER_KEYS_MAX);
        if (i == 2)
            cluster_rig_end_move(rig, 9189, 1, 0, false);
        read_back(client, argv + 1);
    }
    live_finish(client);
    cluster_rig_stop(rig);
}

/* ... of which some are for the bulk lanes, too. */
static cluster_load_t *begin_load(cluster_rig_t *rig)
{
    return cluster_load_begin_as(rig,
                                 &(cluster_load_plan_t){.window = 8, .has_bulk = true});
}

static void expect_no_failure(const cluster_tally_t *tally)
{
    assert_int_equal(tally->unknown, 0);
    assert_int_equal(tally->not_executed, 0);
    assert_int_equal(tally->errors, 0);
    assert_int_equal(tally->lost, 0);
    assert_int_equal(tally->inversions, 0);
    assert_int_equal(tally->misread, 0);
}

static void check_loss(const cluster_load_t *load, const cluster_tally_t *tally)
{
    size_t in_flight = (size_t)load->plan.window * load->plan.callers;

    assert_int_equal(tally->not_executed, 0);
    assert_int_equal(tally->errors, 0);
    assert_int_equal(tally->inversions, 0);
    assert_true(tally->unknown <= in_flight * load->losses);
}

typedef void (*check_fn)(const cluster_load_t *load, const cluster_tally_t *tally);

static void check_order(const cluster_load_t *load, const cluster_tally_t *tally)
{
    (void)load;
    expect_no_failure(tally);
}

/* Lists do not grow for ever. */
static void begin_anew(cluster_load_t *load, size_t round, check_fn check)
{
    if (round % 10 != 0)
        return;
    cluster_tally_t tally = cluster_load_stop(load);
    check(load, &tally);
    cluster_load_go_on(load);
}

/* The slots of all callers go to the next primary, several times. */
static void slots_move_under_load(void **state)
{
    cluster_rig_t *rig = cluster_rig_start_patient();
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = begin_load(rig);
    for (size_t round = live_scaled(2); round > 0; round--) {
        for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++) {
            const char *key = cluster_load_key(load, i);
            size_t from = cluster_rig_agreed_owner(rig, key);
            size_t to = (from + 1) % CLUSTER_PRIMARIES;
            cluster_rig_move(rig, cluster_load_slot(load, i), from, to);
            cluster_rig_await_owner(rig, key, to);
        }
        cluster_load_await_progress(load, 10);
    }
    cluster_tally_t tally = cluster_load_stop(load);
    expect_no_failure(&tally);
    assert_true(live_stats(load->client).bulk > 0);
    cluster_load_end(load);
}

/* CLUSTER FAILOVER: the primary works, and stops when its replica has everything. */
static void replicas_are_promoted_under_load(void **state)
{
    cluster_rig_t *rig = cluster_rig_start_as(&(cluster_plan_t){.keeps_roles = true});
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = begin_load(rig);
    for (size_t round = live_scaled(2); round > 0; round--) {
        for (size_t i = 0; i < CLUSTER_PRIMARIES; i++) {
            size_t replica = cluster_rig_is_primary(rig, i) ? i + 3 : i;
            cluster_rig_failover(rig, replica, "");
            cluster_rig_await_calm(rig);
        }
        cluster_load_await_progress(load, 10);
        begin_anew(load, round, check_order);
    }
    cluster_tally_t tally = cluster_load_stop(load);
    expect_no_failure(&tally);
    cluster_load_end(load);
}

/* A primary dies; its replica takes its place after the node timeout. */
static void a_primary_dies_under_load(void **state)
{
    cluster_rig_t *rig = cluster_rig_start();
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = begin_load(rig);
    for (size_t round = live_scaled(1); round > 0; round--) {
        size_t dead = cluster_rig_is_primary(rig, 0) ? 0 : 3;
        size_t caller = cluster_load_caller_of(load, 1, dead);
        redis_process_kill(rig->nodes[dead].server);
        WAIT_FOR(cluster_rig_is_primary(rig, 3 - dead));
        cluster_load_note_wait(load, caller, waiting_now_us());
        cluster_load_await_progress(load, 10);
        assert_true(redis_process_restart(rig->nodes[dead].server));
        cluster_rig_await_calm(rig);
        begin_anew(load, round, check_loss);
    }
    cluster_tally_t tally = cluster_load_stop(load);
    check_loss(load, &tally);
    cluster_load_end(load);
}

/* A primary is stopped; its replica takes its place, and what is for its slots goes on before
 * it wakes up. */
static void a_primary_is_stopped_under_load(void **state)
{
    cluster_rig_t *rig = cluster_rig_start();
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = begin_load(rig);
    for (size_t round = live_scaled(1); round > 0; round--) {
        size_t stopped = cluster_rig_is_primary(rig, 0) ? 0 : 3;
        size_t caller = cluster_load_caller_of(load, 1, stopped);
        redis_process_pause(rig->nodes[stopped].server);
        WAIT_FOR(cluster_rig_is_primary(rig, 3 - stopped));
        cluster_load_note_wait(load, caller, waiting_now_us());
        cluster_load_await_progress(load, 10);
        redis_process_resume(rig->nodes[stopped].server);
        WAIT_FOR(!cluster_rig_is_primary(rig, stopped));
        cluster_rig_await_calm(rig);
        begin_anew(load, round, check_loss);
    }
    cluster_tally_t tally = cluster_load_stop(load);
    check_loss(load, &tally);
    cluster_load_end(load);
}

/* The replica does not ask its primary, nor, with TAKEOVER, the others. */
static void replicas_take_over_under_load(void **state)
{
    static const char *const how[] = {" FORCE", " TAKEOVER"};
    cluster_rig_t *rig = cluster_rig_start_as(&(cluster_plan_t){.keeps_roles = true});
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = begin_load(rig);
    for (size_t round = live_scaled(2); round > 0; round--) {
        size_t replica = cluster_rig_is_primary(rig, 1) ? 4 : 1;
        cluster_rig_failover(rig, replica, how[round % 2]);
        cluster_load_await_progress(load, 10);
        /* Both may have come by the same epoch: then either of them may give in. */
        WAIT_FOR(cluster_rig_is_primary(rig, 1) != cluster_rig_is_primary(rig, 4));
        cluster_rig_await_calm(rig);
        begin_anew(load, round, check_loss);
    }
    cluster_tally_t tally = cluster_load_stop(load);
    check_loss(load, &tally);
    cluster_load_end(load);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_finds_the_node_of_its_key),
        cmocka_unit_test(commands_without_keys_go_to_all),
        cmocka_unit_test(a_command_over_many_slots_is_split),
        cmocka_unit_test(slots_move_under_load),
        cmocka_unit_test(replicas_are_promoted_under_load),
        cmocka_unit_test(a_primary_dies_under_load),
        cmocka_unit_test(a_primary_is_stopped_under_load),
        cmocka_unit_test(replicas_take_over_under_load),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
