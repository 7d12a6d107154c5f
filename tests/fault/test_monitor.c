/* SPDX-License-Identifier: MIT */
/* MONITOR on a server that answers as the test wants: each line comes once and in order, and
 * the end once, whatever ends it. */
#include "support/lease_scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What came of one MONITOR. */
typedef struct watcher {
    _Atomic unsigned results, lines, ends;
    unsigned misplaced;     /* lines that are not the next number */
    unsigned after_end;     /* results behind the end */
    uint64_t pause_us;      /* the callback takes so long for each of the first lines */
    unsigned close_at;      /* the callback closes the lease at this line; 0: never */
    shoal_lease_t *lease;   /* ... this one */
    pthread_t thread;       /* that told the last result */
    shoal_reply_type_t end; /* of the reply of the end */
    int status;
    shoal_fate_t fate;
    char detail[256];
} watcher_t;

#define SLOW_LINES 20

static void note_line(watcher_t *watcher, const shoal_reply_t *reply)
{
    unsigned number = watcher->lines + 1;
    size_t bytes;
    const char *text = shoal_reply_string(reply, &bytes);
    char want[32];

    if (watcher->results == 1) { /* the answer to MONITOR */
        watcher->misplaced += strcmp(text, "OK") != 0;
        return;
    }
    snprintf(want, sizeof want, "%u [0 a:1] \"get\"", number);
    watcher->misplaced += strcmp(text, want) != 0;
    if (watcher->pause_us > 0 && number <= SLOW_LINES)
        waiting_sleep_us(watcher->pause_us);
    if (number == watcher->close_at)
        shoal_lease_close(watcher->lease);
    watcher->lines = number;
}

static void on_line(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    watcher_t *watcher = data;
    const shoal_reply_t *reply = shoal_result_reply(result);
    int status = shoal_result_status(result);

    (void)client;
    watcher->after_end += watcher->ends;
    watcher->results++;
    watcher->thread = pthread_self();
    if (status == 0 && shoal_reply_type(reply) == SHOAL_REPLY_STATUS) {
        note_line(watcher, reply);
        return;
    }
    watcher->status = status;
    watcher->fate = shoal_result_fate(result);
    watcher->end = reply ? shoal_reply_type(reply) : SHOAL_REPLY_NIL;
    snprintf(watcher->detail, sizeof watcher->detail, "%s",
             shoal_result_detail(result));
    watcher->ends++;
}

/* `count` lines, numbered from 1. */
static const char *make_lines(scene_t *scene, unsigned count)
{
    char *text = scene_alloc(scene, count * 32 + 1), *at = text;

    for (unsigned i = 1; i <= count; i++)
        at += snprintf(at, 32, "+%u [0 a:1] \"get\"\r\n", i);
    return text;
}

static watcher_t *watch(scene_t *scene, shoal_lease_t *lease, uint64_t timeout_us)
{
    watcher_t *watcher = scene_alloc(scene, sizeof *watcher);
    shoal_call_t call = SHOAL_CALL_INIT;

    call.timeout_us = timeout_us;
    watcher->lease = lease;
    assert_int_equal(shoal_lease_monitor(lease, &call, on_line, watcher), 0);
    return watcher;
}

/* The end came, once, and nothing behind it.  The client works, and no holder gets the
 * connection. */
static void check_end(scene_t *scene, const watcher_t *watcher, int status)
{
    WAIT_FOR(watcher->ends == 1);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    scene_check_works(scene);
    assert_int_equal(watcher->ends, 1);
    assert_int_equal(watcher->after_end, 0);
    assert_int_equal(watcher->misplaced, 0);
    assert_int_equal(watcher->status, status);
    assert_int_equal(scene_stats(scene).leases_idle_now, 0);
    shoal_stats_t stats = scene_idle_stats(scene);
    assert_int_equal(stats.commands, stats.completed);
}

/* Also in the middle of a line, and of the answer to MONITOR. */
static void test_the_connection_is_lost(void **state)
{
    scene_t *scene = *state;
    const char *lines = make_lines(scene, 3);
    static const size_t cuts[] = {3, 5, 6, 15, 25};

    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        fake_server_rule(scene->server,
                         &(fake_rule_t){.command = "MONITOR",
                                        .times = 1,
                                        .reply = "+OK\r\n",
                                        .after = lines,
                                        .is_cut = true,
                                        .cut_bytes = cuts[i],
                                        .then = i % 2 ? FAKE_FIN : FAKE_RESET});
    scene_open_ready(scene);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        shoal_lease_t *lease = lease_scene_open(scene);
        watcher_t *watcher = watch(scene, lease, 0);
        WAIT_FOR(watcher->ends == 1);
        assert_string_not_equal(watcher->detail, "");
        /* The lease is at its end. */
        outcome_t outcome = lease_scene_ask(scene, lease, WORDS("ECHO", "x"));
        scene_check(&outcome, SHOAL_EREFUSED, SHOAL_FATE_NOT_EXECUTED);
        shoal_lease_close(lease);
        check_end(scene, watcher, SHOAL_ECONN);
    }
}

/* What the server sends instead of a line ends it. */
static void test_what_is_no_line(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "MONITOR",
                                    .reply = "+OK\r\n",
                                    .after = "+1 [0 a:1] \"get\"\r\n:5\r\n+2\r\n"});
    scene_open_ready(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    watcher_t *watcher = watch(scene, lease, 0);
    WAIT_FOR(watcher->ends == 1);
    assert_int_equal(watcher->lines, 1);
    shoal_lease_close(lease);
    check_end(scene, watcher, SHOAL_EDESYNC);
}

static void test_refused(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "MONITOR",
                                                   .reply = "-NOPERM no monitor\r\n"});
    scene_open_ready(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    watcher_t *watcher = watch(scene, lease, 0);
    WAIT_FOR(watcher->ends == 1);
    assert_int_equal(watcher->end, SHOAL_REPLY_ERROR);
    assert_int_equal(watcher->status, 0);
    shoal_lease_close(lease);
    /* The server changed nothing: the connection is as good as before. */
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    assert_int_equal(watcher->results, 1);
}

/* Inside of MULTI it is not executed: its end comes at once, and nobody gets the connection. */
static void test_inside_of_multi(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "MULTI", .reply = "+OK\r\n"});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "MONITOR", .reply = "+QUEUED\r\n"});
    scene_open_ready(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("MULTI"));
    scene_check_text(&outcome, "OK");
    watcher_t *watcher = watch(scene, lease, 0);
    WAIT_FOR(watcher->ends == 1);
    shoal_lease_close(lease);
    check_end(scene, watcher, SHOAL_EREFUSED);
    assert_int_equal(watcher->results, 1);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
}

/* The deadline passes.  Was that before MONITOR was written? */
static bool give_up_in(scene_t *scene, uint64_t timeout_us)
{
    shoal_lease_t *lease = lease_scene_open(scene);
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("PING"));
    watcher_t *watcher = watch(scene, lease, timeout_us);

    scene_check_text(&outcome, "PONG");
    WAIT_FOR(watcher->ends == 1);
    assert_int_equal(watcher->status, SHOAL_ETIMEOUT);
    assert_int_equal(watcher->results, 1);
    shoal_lease_close(lease);
    return watcher->fate == SHOAL_FATE_NOT_EXECUTED;
}

/* The answer comes too late, and lines behind it: nobody hears of them. */
static void test_a_late_answer(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "MONITOR",
                                                   .reply = "+OK\r\n",
                                                   .after = make_lines(scene, 10),
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open_ready(scene);
    for (uint64_t timeout_us = 1000; give_up_in(scene, timeout_us); timeout_us *= 2)
        WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    WAIT_FOR(fake_server_received(scene->server, 2, "MONITOR", NULL) == 1);
    fake_server_release(scene->server);
    WAIT_FOR(fake_server_open_now(scene->server) == 1);
    scene_check_works(scene);
    assert_int_equal(scene_stats(scene).desyncs, 0);
}

#define MANY 20000

/* A callback that is slow, and closes the lease while lines come. */
static void test_a_slow_reader_that_closes(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "MONITOR",
                                                   .reply = "+OK\r\n",
                                                   .after = make_lines(scene, MANY)});
    scene_open_ready(scene);
    for (int i = 0; i < 2; i++) {
        shoal_lease_t *lease = lease_scene_open(scene);
        watcher_t *watcher = scene_alloc(scene, sizeof *watcher);
        *watcher = (watcher_t){
            .pause_us = 2000, .close_at = i == 0 ? 7 : MANY, .lease = lease};
        assert_int_equal(shoal_lease_monitor(lease, NULL, on_line, watcher), 0);
        check_end(scene, watcher, SHOAL_ECANCELLED);
        if (i == 1)
            assert_int_equal(watcher->lines, MANY);
    }
}

static void test_closed_before_the_answer(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "MONITOR",
                                                   .reply = "+OK\r\n",
                                                   .after = make_lines(scene, 5)});
    scene_open_ready(scene);
    for (int i = 0; i < 20; i++) {
        shoal_lease_t *lease = lease_scene_open(scene);
        watcher_t *watcher = watch(scene, lease, 0);
        shoal_lease_close(lease);
        check_end(scene, watcher, SHOAL_ECANCELLED);
    }
}

static void test_the_client_closes(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "MONITOR",
                                                   .reply = "+OK\r\n",
                                                   .after = make_lines(scene, 5)});
    scene_open_ready(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    watcher_t *watcher = watch(scene, lease, 0);
    WAIT_FOR(watcher->lines == 5);
    /* Nothing is owed: it does not wait for the end of the monitor. */
    assert_int_equal(shoal_client_close_and_wait(scene->client, SHOAL_TIMEOUT_NEVER),
                     0);
    assert_int_equal(watcher->ends, 1);
    assert_int_equal(watcher->status, SHOAL_ESHUTDOWN);
    assert_int_equal(shoal_lease_monitor(lease, NULL, on_line, watcher), SHOAL_ECLOSED);
    shoal_lease_close(lease);
    shoal_client_release(scene->client);
    scene->client = NULL;
    assert_int_equal(watcher->results, 7);
}

/* Earlier commands get their results, later ones are refused: also a second MONITOR. */
static void test_it_is_the_last_command(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "MONITOR", .reply = "+OK\r\n"});
    scene_open_ready(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    lease_scene_submit(scene, lease, WORDS("ECHO", "x"), 0, &outcomes[0], NULL);
    watcher_t *watcher = watch(scene, lease, 0);
    lease_scene_submit(scene, lease, WORDS("ECHO", "y"), 0, &outcomes[1], NULL);
    watcher_t *second = watch(scene, lease, 0);
    scene_check_text(&outcomes[0], "x");
    scene_check(&outcomes[1], SHOAL_EREFUSED, SHOAL_FATE_NOT_EXECUTED);
    WAIT_FOR(second->ends == 1);
    assert_int_equal(second->status, SHOAL_EREFUSED);
    assert_int_equal(watcher->ends, 0);
    assert_int_equal(fake_server_received(scene->server, 2, "ECHO", "y"), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "MONITOR", NULL), 1);
    shoal_lease_close(lease);
    check_end(scene, watcher, SHOAL_ECANCELLED);
}

/* Lone blocking calls make their threads run the loop: not while lines may come, because
 * callbacks run on the loop thread alone. */
static void test_no_line_on_a_callers_thread(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "MONITOR",
                                                   .reply = "+OK\r\n",
                                                   .after = make_lines(scene, 100),
                                                   .is_cut = true,
                                                   .cut_bytes = 5,
                                                   .then = FAKE_HOLD});
    scene_open_ready(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    watcher_t *watcher = watch(scene, lease, 0);
    WAIT_FOR(watcher->results == 1);
    for (int i = 0; i < 100; i++) {
        outcome_t outcome = {0};
        shoal_result_t *result;
        assert_int_equal(shoal_client_callf(scene->client, &result, "ECHO x"), 0);
        outcome_read(&outcome, result);
        assert_string_equal(outcome.text, "x");
        shoal_result_release(result);
        if (i == 50)
            fake_server_release(scene->server);
    }
    WAIT_FOR(watcher->lines == 100);
    assert_false(pthread_equal(watcher->thread, pthread_self()));
    assert_int_equal(scene_stats(scene).direct_calls, 0);
    shoal_lease_close(lease);
    check_end(scene, watcher, SHOAL_ECANCELLED);
}

static void test_what_it_needs(void **state)
{
    scene_t *scene = *state;
    static const shoal_chunk_sink_t no_chunks;
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_error_t error = SHOAL_ERROR_INIT;

    scene_open_ready(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    call.error = &error;
    call.chunks = &no_chunks;
    assert_int_equal(shoal_lease_monitor(lease, &call, on_line, NULL), SHOAL_EINVAL);
    assert_string_equal(error.text, "the chunk sink lacks a function");
    call.chunks = NULL;
    assert_int_equal(shoal_lease_monitor(lease, &call, NULL, NULL), SHOAL_EINVAL);
    shoal_lease_close(lease);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

/* The library closes the connection: what it asked for an earlier command of the lease could
 * hit another one. */
static void test_the_library_gives_it_up(void **state)
{
    scene_t *scene = *state;
    shoal_lease_t *lease = lease_scene_open_used(scene);
    outcome_t *outcome = scene_outcomes(scene, 1);
    uint64_t ticket;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP",
                                    .reply = "*2\r\n$1\r\nk\r\n$1\r\nv\r\n",
                                    .is_cut = true,
                                    .then = FAKE_HOLD});
    size_t unblock =
        fake_server_rule(scene->server, &(fake_rule_t){.command = "CLIENT",
                                                       .argument = "UNBLOCK",
                                                       .is_swallowed = true});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "MONITOR", .reply = "+OK\r\n"});
    lease_scene_submit(scene, lease, WORDS("BLPOP", "k", "0"), 0, outcome, &ticket);
    watcher_t *watcher = watch(scene, lease, 0);
    WAIT_FOR(fake_server_received(scene->server, 2, "MONITOR", NULL) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    WAIT_FOR(fake_server_hits(scene->server, unblock) == 1 || outcome_is_done(outcome));
    fake_server_release(scene->server);
    WAIT_FOR(watcher->ends == 1);
    assert_int_equal(watcher->status, SHOAL_ECONN);
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    assert_int_equal(watcher->ends, 1);
    assert_int_equal(watcher->after_end, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_the_connection_is_lost),
        SCENE_TEST(test_what_is_no_line),
        SCENE_TEST(test_refused),
        SCENE_TEST(test_inside_of_multi),
        SCENE_TEST(test_a_late_answer),
        SCENE_TEST(test_a_slow_reader_that_closes),
        SCENE_TEST(test_closed_before_the_answer),
        SCENE_TEST(test_the_client_closes),
        SCENE_TEST(test_it_is_the_last_command),
        SCENE_TEST(test_no_line_on_a_callers_thread),
        SCENE_TEST(test_what_it_needs),
        SCENE_TEST(test_the_library_gives_it_up),
    };
    return cmocka_run_group_tests_name("fault/monitor", tests, NULL, NULL);
}
