/* SPDX-License-Identifier: MIT */

/* The state of a connection as other threads see it, and connecting anew on request. */

#include "support/lone_caller.h"
#include <shoal/connection.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define MINUTE_US 60000000

static shoal_connection_info_t look(scene_t *scene)
{
    shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;

    assert_int_equal(shoal_connection_get(scene->client, 1, &info), 0);
    assert_int_equal(info.size, sizeof info);
    assert_int_equal(info.connection, 1);
    return info;
}

static void reconnect(scene_t *scene)
{
    assert_int_equal(shoal_client_reconnect(scene->client), 0);
}

/* ---- states ---- */

static void test_a_connection_tells_its_state(void **state)
{
    scene_t *scene = *state;
    shoal_connection_info_t info;
    char name[32];

    snprintf(name, sizeof name, "127.0.0.1:%d", fake_server_port(scene->server));
    assert_int_equal(shoal_options_set_backoff_us(scene->options, MINUTE_US, MINUTE_US),
                     0);
    fake_server_refuse(scene->server, true);
    scene_open(scene);
    WAIT_FOR(look(scene).state == SHOAL_CONNECTION_WAITING);
    info = look(scene);
    assert_int_equal(info.protocol, 0);
    assert_int_equal(info.server_id, 0);
    assert_true(info.epoch >= 1);
    assert_string_equal(info.server, name);

    fake_server_hold(scene->server, "HELLO");
    fake_server_refuse(scene->server, false);
    reconnect(scene);
    WAIT_FOR(look(scene).state == SHOAL_CONNECTION_GREETING);
    WAIT_FOR(fake_server_hits(scene->server, 0) > 0);
    fake_server_release(scene->server);
    WAIT_FOR(look(scene).state == SHOAL_CONNECTION_READY);
    info = look(scene);
    assert_int_equal(info.protocol, 3);
    assert_true(info.server_id > 0);
}

static void test_an_old_server_agrees_on_protocol_2(void **state)
{
    scene_t *scene = *state;

    scene_serve(scene, &(fake_config_t){.identity = {.kind = FAKE_RESP2}});
    scene_open_ready(scene);
    assert_int_equal(look(scene).protocol, 2);
}

static void test_connections_that_are_not_there(void **state)
{
    static const uint64_t numbers[] = {0, 2, UINT64_MAX};
    static const char zeros[sizeof(shoal_connection_info_t)];
    scene_t *scene = *state;
    shoal_connection_info_t info;

    scene_open_ready(scene);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        memset(&info, 0x5a, sizeof info);
        info.size = sizeof info;
        assert_int_equal(shoal_connection_get(scene->client, numbers[i], &info),
                         SHOAL_ENOENT);
        assert_memory_equal(&info.connection, zeros,
                            sizeof info -
                                offsetof(shoal_connection_info_t, connection));
    }
    info.size = sizeof info.size;
    assert_int_equal(shoal_connection_get(scene->client, 1, &info), SHOAL_EINVAL);
    assert_int_equal(shoal_connection_get(scene->client, 1, NULL), SHOAL_EINVAL);
    info.size = sizeof info;
    assert_int_equal(shoal_connection_get(NULL, 1, &info), SHOAL_EINVAL);
}

/* A caller of another version knows fewer fields, or more. */
static void test_callers_of_other_versions(void **state)
{
    scene_t *scene = *state;
    struct {
        shoal_connection_info_t known;
        uint64_t later[4];
    } wide;
    const size_t fewer = offsetof(shoal_connection_info_t, epoch);

    scene_open_ready(scene);
    memset(&wide, 0x5a, sizeof wide);
    wide.known.size = fewer;
    assert_int_equal(shoal_connection_get(scene->client, 1, &wide.known), 0);
    assert_int_equal(wide.known.protocol, 3);
    assert_int_equal(wide.known.epoch, UINT64_C(0x5a5a5a5a5a5a5a5a));
    wide.known.size = sizeof wide;
    assert_int_equal(shoal_connection_get(scene->client, 1, &wide.known), 0);
    assert_int_equal(wide.known.epoch, 1);
    for (size_t i = 0; i < sizeof wide.later / sizeof *wide.later; i++)
        assert_int_equal(wide.later[i], 0);
}

static void test_names(void **state)
{
    static const char *const names[] = {"idle",  "dialing", "greeting",
                                        "ready", "waiting", "closed"};

    (void)state;
    for (int i = 0; i < 6; i++)
        assert_string_equal(shoal_connection_state_name((shoal_connection_state_t)i),
                            names[i]);
    assert_string_equal(shoal_connection_state_name((shoal_connection_state_t)6),
                        "unknown");
    assert_string_equal(shoal_connection_state_name((shoal_connection_state_t)-1),
                        "unknown");
}

/* ---- connecting anew ---- */

/* Commands before, during and after it are executed once each. */
static void test_a_ready_connection_is_replaced(void **state)
{
    enum { COMMANDS = 200 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, COMMANDS);

    scene_open_ready(scene);
    for (int i = 0; i < COMMANDS; i++) {
        scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]);
        if (i == COMMANDS / 2)
            reconnect(scene);
    }
    for (int i = 0; i < COMMANDS; i++) {
        scene_await(&outcomes[i]);
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
    }
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), COMMANDS);
    assert_int_equal(scene_events(scene).lost, 0);
    assert_string_equal(scene_events(scene).renewed,
                        "renewed, because the program asked for it");
    scene_check_works(scene);
}

/* More often than once a second: the library takes its time. */
static void test_many_wishes_are_one(void **state)
{
    scene_t *scene = *state;
    uint64_t since_us;

    scene_open_ready(scene);
    since_us = waiting_now_us();
    for (int i = 0; i < 1000; i++)
        reconnect(scene);
    WAIT_FOR(scene_events(scene).ready >= 2);
    scene_check_works(scene);
    assert_true(scene_events(scene).ready <=
                2 + (waiting_now_us() - since_us) / 1000000);
}

/* The wait before the next attempt could be minutes. */
static void test_the_wait_for_the_next_attempt_ends(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_backoff_us(scene->options, MINUTE_US, MINUTE_US),
                     0);
    fake_server_refuse(scene->server, true);
    scene_open(scene);
    for (unsigned i = 1; i <= 3; i++) {
        WAIT_FOR(look(scene).epoch == i);
        WAIT_FOR(look(scene).state == SHOAL_CONNECTION_WAITING);
        if (i == 3)
            fake_server_refuse(scene->server, false);
        reconnect(scene);
    }
    WAIT_FOR(scene_events(scene).ready == 1);
    scene_check_works(scene);
}

/* A thread that waits in a blocking call drives the connection. */
static void test_a_direct_caller_makes_way(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("INCR", "k"), 0);
    reconnect(scene);
    fake_server_release(scene->server);
    lone_caller_end(caller);
    scene_check(&caller->outcome, 0, SHOAL_FATE_REPLIED);
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_int_equal(fake_server_number(scene->server, 0, "k"), 1);
}

static void reconnect_from_here(shoal_client_t *client, const shoal_result_t *result,
                                void *data)
{
    outcome_t *outcome = data;

    assert_int_equal(shoal_client_reconnect(client), 0);
    outcome_cb(client, result, outcome);
}

static void test_a_callback_may_ask(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    const shoal_command_t ping = {1, (const char *const[]){"PING"}, NULL};

    scene_open_ready(scene);
    assert_int_equal(shoal_client_submit_many(scene->client, &ping, 1, NULL,
                                              reconnect_from_here, outcome, NULL),
                     0);
    scene_await(outcome);
    WAIT_FOR(scene_events(scene).ready == 2);
}

static void test_a_closed_client_does_not_reconnect(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_client_reconnect(NULL), SHOAL_EINVAL);
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    assert_int_equal(shoal_client_close(scene->client, 0, NULL, NULL), 0);
    assert_int_equal(shoal_client_reconnect(scene->client), SHOAL_ECLOSED);
    while (shoal_client_step(scene->client, SHOAL_TIMEOUT_NEVER) == 0)
        continue;
    shoal_client_release(scene->client);
    scene->client = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_connection_tells_its_state),
        SCENE_TEST(test_an_old_server_agrees_on_protocol_2),
        SCENE_TEST(test_connections_that_are_not_there),
        SCENE_TEST(test_callers_of_other_versions),
        cmocka_unit_test(test_names),
        SCENE_TEST(test_a_ready_connection_is_replaced),
        SCENE_TEST(test_many_wishes_are_one),
        SCENE_TEST(test_the_wait_for_the_next_attempt_ends),
        SCENE_TEST(test_a_direct_caller_makes_way),
        SCENE_TEST(test_a_callback_may_ask),
        SCENE_TEST(test_a_closed_client_does_not_reconnect),
    };
    return cmocka_run_group_tests_name("reconnect", tests, NULL, NULL);
}
