/* SPDX-License-Identifier: MIT */

/* A connection is given up while its writes are under way: in the buffers of a server that
 * stands still, or in a network that holds them back.  They would run later, behind what
 * came over the next connection; the client ends the former one first, and says so. */
#include "fault_proxy/fault_proxy.h"
#include "support/live.h"
#include "support/redis_process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITES 2000 /* so many that the server reads them in several parts */
#define LOOKS 20
#define STALL_US 500000
#define HOLD_US 1200000 /* how long the network holds back what it has */

typedef struct scene {
    redis_process_t *redis;
    fault_proxy_t *proxy;
    shoal_client_t *client;
    _Atomic size_t completed, unknown, other;
    _Atomic size_t claimed; /* settled, although they were not answered */
    _Atomic bool is_answered, is_settled;
    _Atomic int64_t value;
} scene_t;

static void on_write(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    scene_t *scene = data;
    (void)client;

    if (shoal_result_fate(result) == SHOAL_FATE_UNKNOWN)
        scene->unknown++;
    else if (shoal_result_fate(result) != SHOAL_FATE_NOT_EXECUTED)
        scene->other++;
    if (shoal_result_status(result) != 0 && shoal_result_is_settled(result))
        scene->claimed++;
    scene->completed++;
}

static void on_value(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    scene_t *scene = data;
    size_t bytes = 0;
    const char *text = NULL;
    (void)client;

    if (shoal_result_status(result) == 0)
        text = shoal_reply_string(shoal_result_reply(result), &bytes);
    scene->value = text ? atoll(text) : 0;
    scene->is_settled = shoal_result_is_settled(result);
    scene->is_answered = true;
}

/* The network still holds back what it has, but nothing that comes from now on. */
static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    scene_t *scene = data;
    (void)client;

    if (shoal_event_kind(event) == SHOAL_EVENT_LOST)
        fault_proxy_carry(scene->proxy, FAULT_TO_SERVER, &(fault_carriage_t){0});
}

static void set_up(scene_t *scene, bool is_settling)
{
    memset(scene, 0, sizeof *scene);
    scene->redis = redis_process_start(NULL);
    assert_non_null(scene->redis);
    scene->proxy = fault_proxy_start(
        &(fault_proxy_config_t){.server_port = redis_process_port(scene->redis)});
    assert_non_null(scene->proxy);
    shoal_options_t *options = live_options_of_port(fault_proxy_port(scene->proxy));
    assert_int_equal(shoal_options_set_on_event(options, on_event, scene), 0);
    assert_int_equal(shoal_options_set_stall_timeout_us(options, STALL_US), 0);
    assert_int_equal(shoal_options_set_timeout_us(options, 60000000), 0);
    assert_int_equal(shoal_options_set_connect_timeout_us(options, 30000000, 30000000),
                     0);
    assert_int_equal(shoal_options_set_settle(options, is_settling), 0);
    scene->client = live_open(options);
}

static void tear_down(scene_t *scene)
{
    assert_int_equal(shoal_client_close_and_wait(scene->client, 0), 0);
    shoal_client_release(scene->client);
    fault_proxy_stop(scene->proxy);
    redis_process_stop(scene->redis);
}

/* In one call: a thread that stands still between two lets the connection be lost in the
 * middle of them. */
static void submit(scene_t *scene, size_t count, const char *command,
                   shoal_result_cb on_result)
{
    const char *const argv[] = {command, "k"};
    shoal_command_t commands[WRITES];

    for (size_t i = 0; i < count; i++)
        commands[i] = (shoal_command_t){2, argv, NULL};
    assert_int_equal(shoal_client_submit_many(scene->client, commands, count, NULL,
                                              on_result, scene, NULL),
                     0);
}

static int64_t ask_value(const scene_t *scene)
{
    char answer[64];

    assert_true(
        redis_ask(redis_process_port(scene->redis), "GET k", answer, sizeof answer));
    return atoll(answer);
}

typedef enum trouble { SERVER_STANDS_STILL, NETWORK_HOLDS_BACK } trouble_t;

/* Lose a connection whose writes are under way.  Returns since when there was trouble; 0: the
 * client stood still for so long that the network let the answers through first. */
static uint64_t lose_writes(scene_t *scene, trouble_t trouble)
{
    uint64_t since_us = waiting_now_us();

    scene->completed = scene->unknown = scene->other = 0;
    scene->is_answered = false;
    if (trouble == SERVER_STANDS_STILL)
        redis_process_pause(scene->redis);
    else
        fault_proxy_carry(scene->proxy, FAULT_TO_SERVER,
                          &(fault_carriage_t){.delay_us = HOLD_US});
    submit(scene, WRITES, "INCR", on_write);
    WAIT_FOR(scene->completed == WRITES);
    assert_int_equal(scene->claimed, 0);
    if (trouble == NETWORK_HOLDS_BACK && scene->other > 0) {
        fault_proxy_carry(scene->proxy, FAULT_TO_SERVER, &(fault_carriage_t){0});
        return 0;
    }
    assert_int_equal(scene->other, 0);
    assert_int_equal(scene->unknown, WRITES); /* all were written before the loss */
    return since_us;
}

/* Read over the next connection.  Returns whether the value changed after it was read. */
static bool play(scene_t *scene, trouble_t trouble)
{
    uint64_t since_us;

    for (int tries = 0; (since_us = lose_writes(scene, trouble)) == 0; tries++)
        assert_true(tries < 20);
    submit(scene, 1, "GET", on_value);
    if (trouble == SERVER_STANDS_STILL)
        redis_process_resume(scene->redis);
    WAIT_FOR(scene->is_answered);

    bool has_moved = false;
    uint64_t until_us = since_us + HOLD_US + 100000;
    for (int i = 0; i < LOOKS || waiting_now_us() < until_us; i++) {
        waiting_sleep_us(2000);
        has_moved = has_moved || ask_value(scene) != scene->value;
    }
    return has_moved;
}

static void check_settling(trouble_t trouble, size_t rounds)
{
    static scene_t scene; /* static: callbacks may come after the test has failed */

    set_up(&scene, true);
    for (size_t i = 0; i < rounds; i++) {
        bool has_moved = play(&scene, trouble);
        assert_true(scene.is_settled);
        assert_false(has_moved);
    }
    shoal_stats_t stats = live_stats(scene.client);
    assert_int_equal(stats.unsettled, 0);
    assert_int_equal(stats.settled, stats.connects);
    assert_true(stats.connects > rounds);
    printf("%zu rounds, no value changed after it was read; %" PRId64 " of %zu ran\n",
           rounds, scene.value, rounds * WRITES);
    tear_down(&scene);
}

static void test_writes_in_a_server_that_stood_still_never_run_late(void **state)
{
    (void)state;
    check_settling(SERVER_STANDS_STILL, live_scaled(3));
}

static void test_writes_that_a_network_held_back_never_run_late(void **state)
{
    (void)state;
    check_settling(NETWORK_HOLDS_BACK, live_scaled(3));
}

/* Without settling, values do change, and no result claims that they cannot. */
static void test_without_settling_nothing_is_claimed(void **state)
{
    size_t rounds = live_scaled(3), moved = 0;
    static scene_t scene; /* static: see check_settling() */

    (void)state;
    set_up(&scene, false);
    /* On a slow machine the reads come when the network has nothing left. */
    for (size_t i = 0; i < rounds || (moved == 0 && i < 20); i++) {
        moved += play(&scene, NETWORK_HOLDS_BACK);
        assert_false(scene.is_settled);
    }
    printf("without: the value changed after %zu reads\n", moved);
    assert_true(moved > 0); /* otherwise the tests above prove nothing */
    assert_int_equal(live_stats(scene.client).settled, 1); /* the first connection */
    tear_down(&scene);
}

/* A user who may not end connections: commands are answered, and nothing is settled. */
static void test_a_user_that_may_not_kill_is_answered(void **state)
{
    char answer[64];
    static scene_t scene; /* static: see check_settling() */

    (void)state;
    set_up(&scene, true);
    int port = redis_process_port(scene.redis);
    assert_true(redis_ask(port,
                          "ACL SETUSER default resetkeys ~* -@all +@read +@write "
                          "+acl +ping +hello",
                          answer, sizeof answer));
    assert_string_equal(answer, "+OK");
    play(&scene, SERVER_STANDS_STILL);
    assert_true(scene.is_answered);
    assert_false(scene.is_settled);
    assert_true(live_stats(scene.client).unsettled >= 1);
    tear_down(&scene);
}

/* A server that was started anew is another process, which does not know what became of
 * the commands of the first one. */
static void test_another_process_settles_nothing(void **state)
{
    static scene_t scene; /* static: see check_settling() */

    (void)state;
    set_up(&scene, true);
    redis_process_pause(scene.redis);
    submit(&scene, 100, "INCR", on_write);
    WAIT_FOR(scene.completed == 100);
    assert_int_equal(scene.claimed, 0);
    redis_process_kill(scene.redis);
    assert_true(redis_process_restart(scene.redis));
    submit(&scene, 1, "GET", on_value);
    WAIT_FOR(scene.is_answered);
    assert_false(scene.is_settled);
    tear_down(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes_in_a_server_that_stood_still_never_run_late),
        cmocka_unit_test(test_writes_that_a_network_held_back_never_run_late),
        cmocka_unit_test(test_without_settling_nothing_is_claimed),
        cmocka_unit_test(test_a_user_that_may_not_kill_is_answered),
        cmocka_unit_test(test_another_process_settles_nothing),
    };
    return cmocka_run_group_tests_name("integration/settling", tests, NULL, NULL);
}
