/* SPDX-License-Identifier: MIT */
/* A server that takes everything and says nothing; and replies beyond the bounds.
 * (I5 I6 I8) */
#include "support/scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* Keeps the connection busy with writes until it is told to end. */
typedef struct chatter {
    scene_t *scene;
    size_t commands;
    _Atomic bool is_over;
    pthread_t thread;
} chatter_t;

static void *chat(void *data)
{
    chatter_t *chatter = data;
    const char *const argv[] = {"ECHO", "chatter"};

    while (!chatter->is_over) {
        (void)shoal_client_submit(chatter->scene->client, 2, argv, NULL, NULL, NULL,
                                  NULL);
        chatter->commands++;
        waiting_sleep_us(2000);
    }
    return NULL;
}

/* Writes to a dead server do not keep the connection alive. */
static void test_writes_do_not_prolong_a_stall(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    chatter_t *chatter = scene_alloc(scene, sizeof *chatter);
    shoal_call_t patient = {.size = sizeof patient, .timeout_us = SHOAL_TIMEOUT_NEVER};

    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, 200000), 0);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open_ready(scene);
    chatter->scene = scene;
    scene_submit(scene, WORDS("INCR", "k"), &patient, outcome);
    pthread_create(&chatter->thread, NULL, chat, chatter);
    for (uint64_t since_us = waiting_now_us();
         !outcome_is_done(outcome) && waiting_now_us() - since_us < WAITING_US_MAX;)
        waiting_sleep_us(1000);
    chatter->is_over = true;
    pthread_join(chatter->thread, NULL);
    scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    /* Long before the connection was full: 3000 of them are 30 times the bound. */
    assert_true(chatter->commands < 3000);
    scene_check_works(scene);
    /* On a slow machine the next connections may have stalled, too. */
    assert_int_equal(fake_server_accepted(scene->server), scene_events(scene).lost + 1);
}

/* Nothing is owed but the rest of a command, and the server does not take it. */
static void test_a_stall_within_a_command(void **state)
{
    enum { BYTES = 2097152 }; /* a Unix socket takes a tenth of it */
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_call_t patient = {.size = sizeof patient, .timeout_us = SHOAL_TIMEOUT_NEVER};
    char *value = scene_alloc(scene, BYTES);

    scene_serve(scene, &(fake_config_t){.is_unix = true, .buffer_bytes = 8192});
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "stop",
                                                   .then = FAKE_STOP_READING});
    /* Ample for the server to swallow the value, on a slow machine under a sanitizer. */
    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, 3000000), 0);
    scene_open_one(scene);
    outcome_t stop = scene_call(scene, WORDS("ECHO", "stop"), NULL);
    scene_check_text(&stop, "stop");
    waiting_sleep_us(400000); /* no timer of an earlier command is left */
    memset(value, 'v', BYTES);
    shoal_command_t set = {3, (const char *const[]){"SET", "k", value},
                           (const size_t[]){3, 1, BYTES}};
    scene_submit(scene, set, &patient, outcome);
    scene_check_text(outcome, "OK"); /* over the next connection */
    assert_int_equal(outcome->attempts, 1);
    assert_int_equal(fake_server_accepted(scene->server), 2);
    fake_server_release(scene->server);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
    assert_int_equal(fake_server_executed(scene->server, 0, "SET", NULL), 1);
}

/* Since the server began to send what the client received last. */
static void note_silence(uint64_t since_us, uint64_t *silent_us_max)
{
    uint64_t silent_us = waiting_now_us() - since_us;

    if (silent_us > *silent_us_max)
        *silent_us_max = silent_us;
}

/* Bytes do: a slow server is not a dead one.  If the machine stood still for so long that
 * the server was silent, the test proves nothing. */
static void test_bytes_prolong_a_stall(void **state)
{
    enum { STALL_US = 1000000 };
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    uint64_t silent_us_max = 0;

    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, STALL_US), 0);
    fake_server_hold(scene->server, "INCR");
    scene_open_ready(scene);
    uint64_t since_us = waiting_now_us();
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(fake_server_received(scene->server, 1, "INCR", NULL) == 1);
    for (int i = 0; i < 25; i++) { /* 2.5 s in all */
        waiting_sleep_us(100000);
        uint64_t before = scene_stats(scene).bytes_in, now_us = waiting_now_us();
        fake_server_send(scene->server, ">1\r\n+alive\r\n");
        WAIT_FOR(scene_stats(scene).bytes_in > before || scene_events(scene).lost > 0);
        note_silence(since_us, &silent_us_max);
        since_us = now_us;
    }
    fake_server_release(scene->server);
    scene_await(outcome);
    note_silence(since_us, &silent_us_max);
    if (silent_us_max >= STALL_US)
        skip();
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

/* Zombies count: the command was given up, the answer is still due. */
static void test_a_stall_behind_a_zombie(void **state)
{
    scene_t *scene = *state;
    shoal_call_t hasty = {.size = sizeof hasty, .timeout_us = 20000};

    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, 200000), 0);
    scene_open_ready(scene);
    fake_server_freeze(scene->server);
    for (bool is_written = false; !is_written; hasty.timeout_us *= 2) {
        outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), &hasty);
        assert_int_equal(outcome.status, SHOAL_ETIMEOUT);
        is_written = outcome.fate == SHOAL_FATE_UNKNOWN;
    }
    WAIT_FOR(scene_events(scene).lost >= 1);
    fake_server_release(scene->server);
    scene_check_works(scene);
    assert_int_equal(fake_server_accepted(scene->server), scene_events(scene).lost + 1);
}

static void test_an_idle_connection_is_tested(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_ping_idle_us(scene->options, 20000), 0);
    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, 3000000), 0);
    scene_open_ready(scene);
    WAIT_FOR(fake_server_received(scene->server, 1, "PING", NULL) >= 3);
    scene_check_works(scene);
    assert_int_equal(fake_server_accepted(scene->server), 1);
    shoal_stats_t stats = scene_stats(scene);
    assert_int_equal(stats.commands, 1); /* ours are not counted */
    assert_int_equal(stats.completed, 1);

    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "PING", .connection = 1, .is_swallowed = true});
    WAIT_FOR(scene_events(scene).lost == 1);
    scene_check_works(scene);
    assert_int_equal(fake_server_accepted(scene->server), 2);
}

static void test_idle_without_ping(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_stall_timeout_us(scene->options, 50000), 0);
    scene_open_ready(scene);
    waiting_sleep_us(300000);
    assert_int_equal(scene_events(scene).lost, 0);
    assert_int_equal(fake_server_received(scene->server, 0, "PING", NULL), 0);
    scene_check_works(scene);
}

/* A connection that cannot be made in time is a failed attempt. */
static void test_connecting_has_a_bound(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);
    shoal_call_t call = {.size = sizeof call, .timeout_us = 400000};

    fake_server_freeze(scene->server); /* the kernel accepts, nobody answers */
    assert_int_equal(shoal_options_set_connect_timeout_us(scene->options, 50000, 50000),
                     0);
    scene_open(scene);
    scene_submit(scene, WORDS("INCR", "k"), &call, outcome);
    scene_check(outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    WAIT_FOR(scene_events(scene).lost_timeout >= 2);
    fake_server_release(scene->server);
    scene_check_works(scene);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
}

/* clang-format off */
static const struct reply_case {
    const char *name;
    const char *reply;
    size_t filler; /* so many x are added, and CRLF */
    bool is_good;
} reply_cases[] = {
    {"a string within the bound",     "$1000\r\n",             1000, true},
    {"a string beyond it",            "$5000\r\n",             5000, false},
    {"a string that is announced",    "$999999999\r\n",        10,   false},
    {"more than 64 bits",             "$9223372036854775808\r\n", 0, false},
    {"a negative length",             "$-2\r\n",               0,    false},
    {"elements within the bound",     "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", 0, true},
    {"elements beyond it",            "*5\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n", 0, false},
    {"elements that are announced",   "*2147483647\r\n",       0,    false},
    {"a map of too many",             "%3\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n", 0,
                                                                     false},
    {"depth within the bound",        "*1\r\n*1\r\n*1\r\n:1\r\n", 0, true},
    {"depth beyond it",               "*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", 0, false},
    {"a streamed string",             "$?\r\n;4\r\nword\r\n;0\r\n", 0, false},
    {"a streamed array",              "*?\r\n:1\r\n.\r\n",     0,    false},
    {"a line without an end",         "+",                     70000, false},
    {"no number",                     ":12x\r\n",              0,    false},
    {"too large a number",            ":9223372036854775808\r\n", 0, false},
    {"no boolean",                    "#x\r\n",                0,    false},
    {"no nil",                        "_x\r\n",                0,    false},
    {"a missing line feed",           "$3\r\nabcdefgh\r\n",    0,    false},
    {"an attribute inside",           "*1\r\n|1\r\n+a\r\n+b\r\n:1\r\n", 0, false},
};
/* clang-format on */

static void test_bounds_of_a_reply(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_reply_max(scene->options, 2048, 4, 3), 0);
    for (size_t i = 0; i < sizeof reply_cases / sizeof *reply_cases; i++) {
        const struct reply_case *c = &reply_cases[i];
        size_t head = strlen(c->reply);
        char *reply = scene_alloc(scene, head + c->filler + 3);
        memcpy(reply, c->reply, head);
        memset(reply + head, 'x', c->filler);
        if (c->filler)
            memcpy(reply + head + c->filler, "\r\n", 3);
        scene_serve(scene, NULL);
        scene->events = (scene_events_t){0};
        fake_server_rule(
            scene->server,
            &(fake_rule_t){.command = "EVAL", .reply = reply, .is_executed = true});
        /* HELLO's answer has more elements than the bound allows: RESP2 has none. */
        assert_int_equal(shoal_options_set_protocol(scene->options, 2), 0);
        scene_open_ready(scene);
        outcome_t outcome = scene_call(scene, WORDS("EVAL", "k", "0"), NULL);
        scene_check_works(scene);
        bool is_as_wanted = c->is_good ? outcome.status == 0
                                       : outcome.status == SHOAL_EDESYNC &&
                                             outcome.fate != SHOAL_FATE_NOT_EXECUTED &&
                                             scene_events(scene).lost_desync == 1;
        if (!is_as_wanted)
            fail_msg("%s: %s", c->name, outcome_describe(&outcome));
        assert_int_equal(fake_server_executed(scene->server, 0, "EVAL", NULL), 1);
        scene_close(scene, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_writes_do_not_prolong_a_stall),
        SCENE_TEST(test_a_stall_within_a_command),
        SCENE_TEST(test_bytes_prolong_a_stall),
        SCENE_TEST(test_a_stall_behind_a_zombie),
        SCENE_TEST(test_an_idle_connection_is_tested),
        SCENE_TEST(test_idle_without_ping),
        SCENE_TEST(test_connecting_has_a_bound),
        SCENE_TEST(test_bounds_of_a_reply),
    };
    return cmocka_run_group_tests_name("fault/silence", tests, NULL, NULL);
}
