/* SPDX-License-Identifier: MIT */
/* Whether the server sends events of keys is asked once, before or beside the names, and told
 * once; whoever may not ask hears nothing. */
#include "support/listener.h"
#include "support/scene.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define KEYS "__keyspace@0__:one"
#define YES(mark, name) mark "3\r\n+subscribe\r\n+" name "\r\n:1\r\n"
#define OFF "$22\r\nnotify-keyspace-events\r\n$1\r\nE\r\n"

typedef struct stage {
    scene_t *scene;
    shoal_pubsub_t *pubsub;
    listener_t a;
    _Atomic unsigned told; /* times */
    char detail[200], server[64];
} stage_t;

/* The client is NULL, and the detail dies with the call. */
static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    stage_t *stage = data;

    assert_null(client);
    if (shoal_event_kind(event) != SHOAL_EVENT_KEYSPACE_OFF)
        return;
    snprintf(stage->detail, sizeof stage->detail, "%s", shoal_event_detail(event));
    snprintf(stage->server, sizeof stage->server, "%s", shoal_event_server(event));
    stage->told++;
}

static void answer(scene_t *scene, const char *command, const char *reply)
{
    fake_server_rule(scene->server, &(fake_rule_t){.command = command, .reply = reply});
}

static stage_t *open_stage(void **state, int protocol, const char *setting,
                           const char *names)
{
    scene_t *scene = *state;
    stage_t *stage = scene_alloc(scene, sizeof *stage);

    stage->scene = scene;
    if (setting)
        answer(scene, "CONFIG", setting);
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "SUBSCRIBE",
                       .argument = "x",
                       .times = 1,
                       .reply = protocol == 3 ? YES(">", "x") : YES("*", "x")});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "SUBSCRIBE",
                                    .argument = "x",
                                    .reply = protocol == 3
                                                 ? YES(">", "x") YES(">", KEYS)
                                                 : YES("*", "x") YES("*", KEYS)});
    answer(scene, "SUBSCRIBE", protocol == 3 ? YES(">", KEYS) : YES("*", KEYS));
    assert_int_equal(shoal_options_set_protocol(scene->options, protocol), 0);
    assert_int_equal(shoal_options_set_on_event(scene->options, on_event, stage), 0);
    assert_int_equal(shoal_pubsub_open(scene->options, &stage->pubsub, NULL), 0);
    listener_begin(&stage->a, stage->pubsub, names);
    listener_wait(&stage->a);
    return stage;
}

static size_t asked(const stage_t *stage, unsigned connection)
{
    return fake_server_received(stage->scene->server, connection, "CONFIG", "GET");
}

/* Which of the two came first on the first connection. */
static bool is_asked_before(const stage_t *stage, const char *command)
{
    fake_server_t *server = stage->scene->server;

    for (size_t i = 0; i < fake_server_ledger_size(server); i++) {
        fake_entry_t entry = fake_server_ledger_at(server, i);
        if (strcmp(entry.args[0], command) == 0)
            return false;
        if (strcmp(entry.args[0], "CONFIG") == 0)
            return true;
    }
    return false;
}

static void lose(stage_t *stage)
{
    fake_server_cut(stage->scene->server, FAKE_CUT_RESET);
    WAIT_FOR(listener_has(&stage->a, "~ "));
    WAIT_FOR(listener_has(&stage->a, "?" KEYS " "));
    listener_wait(&stage->a);
}

static void close_stage(stage_t *stage)
{
    assert_int_equal(listener_stats(stage->pubsub).desyncs, 0);
    listener_end(&stage->a);
    assert_int_equal(shoal_pubsub_close_and_wait(stage->pubsub), 0);
    shoal_pubsub_release(stage->pubsub);
}

/* ---- what is told ---- */

static void check_once(void **state, int protocol, const char *setting)
{
    char server[64];
    stage_t *stage = open_stage(state, protocol, setting, "k:" KEYS);

    snprintf(server, sizeof server, "127.0.0.1:%d",
             fake_server_port(stage->scene->server));
    WAIT_FOR(stage->told == 1);
    assert_string_equal(stage->detail,
                        "notify-keyspace-events is \"E\" there: events of keys that "
                        "are subscribed do not come without \"KA\"");
    assert_string_equal(stage->server, server);
    assert_true(is_asked_before(stage, "SUBSCRIBE"));
    lose(stage);
    assert_int_equal(asked(stage, 0), 1);
    assert_int_equal(stage->told, 1);
    assert_int_equal(fake_server_received(stage->scene->server, 0, "CONFIG", "SET"), 0);
    close_stage(stage);
}

static void test_it_is_told_once(void **state)
{
    check_once(state, 3, "%1\r\n" OFF);
}

static void test_it_is_told_once_in_resp2(void **state)
{
    check_once(state, 2, "*2\r\n" OFF);
}

/* The connection has other names already. */
static void test_a_name_that_comes_later(void **state)
{
    stage_t *stage = open_stage(state, 3, "%1\r\n" OFF, "x");

    assert_int_equal(asked(stage, 0), 0);
    listener_add(&stage->a, "k:" KEYS);
    listener_wait(&stage->a);
    WAIT_FOR(stage->told == 1);
    assert_int_equal(asked(stage, 1), 1);
    close_stage(stage);
}

/* ... which take no other command in RESP2: the next connection is asked. */
static void test_a_name_that_comes_later_in_resp2(void **state)
{
    stage_t *stage = open_stage(state, 2, "*2\r\n" OFF, "x");

    listener_add(&stage->a, "k:" KEYS);
    listener_wait(&stage->a);
    assert_int_equal(asked(stage, 0), 0);
    lose(stage);
    WAIT_FOR(stage->told == 1);
    assert_int_equal(asked(stage, 1), 0);
    assert_int_equal(asked(stage, 2), 1);
    close_stage(stage);
}

/* ---- what is not ---- */

static void check_silence(void **state, int protocol, const char *setting)
{
    stage_t *stage = open_stage(state, protocol, setting, "k:" KEYS);

    /* The names behind the question are confirmed: it was answered. */
    assert_int_equal(asked(stage, 0), 1);
    lose(stage);
    assert_int_equal(asked(stage, 0), 1);
    assert_int_equal(stage->told, 0);
    assert_int_equal(listener_stats(stage->pubsub).rejected, 0);
    close_stage(stage);
}

static void test_whoever_may_not_ask_hears_nothing(void **state)
{
    check_silence(state, 3, "-NOPERM this user has no permissions\r\n");
}

static void test_whoever_may_not_ask_hears_nothing_in_resp2(void **state)
{
    check_silence(state, 2, "-ERR unknown command 'CONFIG'\r\n");
}

static void test_a_setting_that_suffices(void **state)
{
    check_silence(state, 3, "%1\r\n$22\r\nnotify-keyspace-events\r\n$3\r\nAKE\r\n");
}

static void test_an_empty_answer(void **state)
{
    check_silence(state, 3, "%0\r\n");
}

static void test_an_odd_answer(void **state)
{
    check_silence(state, 2, "*2\r\n:1\r\n:2\r\n");
}

/* The server hangs up on the question: the names are subscribed all the same. */
static void test_a_server_that_hangs_up(void **state)
{
    scene_t *scene = *state;
    stage_t *stage;

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "CONFIG", .reply = "", .then = FAKE_RESET});
    stage = open_stage(state, 3, NULL, "k:" KEYS);
    LISTENER_HEARS(&stage->a, "+" KEYS " ");
    assert_int_equal(asked(stage, 0), 1);
    assert_int_equal(stage->told, 0);
    close_stage(stage);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_it_is_told_once),
        CASE(test_it_is_told_once_in_resp2),
        CASE(test_a_name_that_comes_later),
        CASE(test_a_name_that_comes_later_in_resp2),
        CASE(test_whoever_may_not_ask_hears_nothing),
        CASE(test_whoever_may_not_ask_hears_nothing_in_resp2),
        CASE(test_a_setting_that_suffices),
        CASE(test_an_empty_answer),
        CASE(test_an_odd_answer),
        CASE(test_a_server_that_hangs_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
