/* SPDX-License-Identifier: MIT */

/* Losses, deadlines, closes and forks in the middle of a direct call, and what a parked
 * client notices. */

#include "support/lone_caller.h"
#include <pthread.h>
#include <shoal/events.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* A hasty call that nobody answers goes through the background thread.  A deadline that
 * passed before the command was written is put off. */
static void check_does_not_drive(scene_t *scene, shoal_fate_t fate)
{
    const char *const argv[] = {"INCR", "k"};
    const shoal_command_t command = {2, argv, NULL};
    shoal_call_t hasty = {.size = sizeof hasty, .timeout_us = 50000};
    uint64_t before = lone_caller_drives(scene);
    shoal_fate_t got;

    do {
        shoal_result_t *result = NULL;
        hasty.timeout_us *= 2;
        assert_int_equal(
            shoal_client_call_with(scene->client, &command, &hasty, &result), 0);
        assert_int_equal(shoal_result_status(result), SHOAL_ETIMEOUT);
        got = shoal_result_fate(result);
        shoal_result_release(result);
    } while (got == SHOAL_FATE_NOT_EXECUTED && got != fate &&
             hasty.timeout_us < WAITING_US_MAX);
    assert_int_equal(got, fate);
    assert_int_equal(lone_caller_drives(scene), before);
}

/* ---- losses ---- */

/* Called when the server is about to end the connection, or has. */
static void check_loss(scene_t *scene, lone_caller_t *caller)
{
    lone_caller_end(caller);
    scene_check(&caller->outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    assert_int_equal(caller->losses_told, 1); /* before the result */
    fake_server_release(scene->server);
    WAIT_FOR(scene_events(scene).ready == 2);
    scene_check_works(scene);
    lone_caller_become_direct(scene);
}

static void test_reset_in_a_direct_call(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("INCR", "k"), 0);
    WAIT_FOR(fake_server_holds(scene->server, "INCR")); /* it was written */
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    check_loss(scene, caller);
}

static void test_end_of_stream_in_a_direct_call(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .times = 1,
                                                   .is_swallowed = true,
                                                   .then = FAKE_FIN});
    lone_caller_open(scene);
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("INCR", "k"), 0);
    fake_server_release(scene->server);
    check_loss(scene, caller);
}

/* Harmless commands are sent again on the next connection; their caller only sees that
 * it took longer. */
static void test_read_only_command_survives_a_loss(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("ECHO", "again"), 0);
    WAIT_FOR(fake_server_holds(scene->server, "again"));
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).lost == 1);
    fake_server_release(scene->server);
    lone_caller_end(caller);
    scene_check_text(&caller->outcome, "again");
    assert_int_equal(caller->outcome.attempts, 2);
}

static void test_a_broken_protocol_in_a_direct_call(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = "INCR", .times = 1, .reply = "nonsense\r\n"});
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("INCR", "k"), 0);
    fake_server_release(scene->server);
    lone_caller_end(caller);
    scene_check(&caller->outcome, SHOAL_EDESYNC, SHOAL_FATE_UNKNOWN);
    assert_int_equal(scene_events(scene).lost_desync, 1);
    scene_check_works(scene);
}

/* ---- events ---- */

typedef struct diary {
    pthread_mutex_t lock;
    unsigned count;
    shoal_event_kind_t kinds[16];
    pthread_t threads[16];
} diary_t;

static void note(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    diary_t *diary = data;
    (void)client;

    pthread_mutex_lock(&diary->lock);
    if (diary->count < 16) {
        diary->kinds[diary->count] = shoal_event_kind(event);
        diary->threads[diary->count++] = pthread_self();
    }
    pthread_mutex_unlock(&diary->lock);
}

static unsigned noted(diary_t *diary)
{
    pthread_mutex_lock(&diary->lock);
    unsigned count = diary->count;
    pthread_mutex_unlock(&diary->lock);
    return count;
}

/* In order, and on the background thread, though the caller met the loss. */
static void test_events_are_told_by_the_background_thread(void **state)
{
    static const shoal_event_kind_t want[] = {
        SHOAL_EVENT_CONNECTED, SHOAL_EVENT_READY,     SHOAL_EVENT_LOST,
        SHOAL_EVENT_RETRYING,  SHOAL_EVENT_CONNECTED, SHOAL_EVENT_READY};
    enum { COUNT = sizeof want / sizeof *want };
    scene_t *scene = *state;
    diary_t *diary = scene_alloc(scene, sizeof *diary);

    pthread_mutex_init(&diary->lock, NULL);
    assert_int_equal(shoal_options_set_on_event(scene->options, note, diary), 0);
    lone_caller_open(scene);
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("INCR", "k"), 0);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    fake_server_release(scene->server);
    lone_caller_end(caller);
    WAIT_FOR(noted(diary) == COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(diary->kinds[i], want[i]);
        assert_true(pthread_equal(diary->threads[i], diary->threads[0]));
        assert_false(pthread_equal(diary->threads[i], caller->thread));
    }
    scene_close(scene, 0);
    pthread_mutex_destroy(&diary->lock);
}

/* Nobody calls: the naps of the background thread end. */
static void test_a_parked_client_notices_a_dead_connection(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    fake_server_refuse(scene->server, true);
    fake_server_cut(scene->server, FAKE_CUT_FIN);
    WAIT_FOR(scene_events(scene).lost > 0);
    check_does_not_drive(scene, SHOAL_FATE_NOT_EXECUTED);
    fake_server_refuse(scene->server, false);
    WAIT_FOR(scene_events(scene).ready == 2);
    lone_caller_become_direct(scene);
}

/* A reply that nobody waits for came while nobody looked.  It must not become the reply
 * of the next call, nor shift those after it. */
static void test_a_stray_reply_meets_no_call(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    for (unsigned i = 1; i <= 5; i++) {
        fake_server_send(scene->server, "+STRAY\r\n");
        WAIT_FOR(fake_server_is_done(scene->server));
        lone_caller_echo(scene, "mine");
        assert_int_equal(scene_events(scene).lost_desync, i);
        lone_caller_become_direct(scene);
    }
}

/* The connection ended while nobody looked: the call is not written to it, so that it
 * may be made on the next one. */
static void test_a_call_after_the_end_of_the_stream(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    for (unsigned i = 1; i <= 5; i++) {
        const char *const argv[] = {"INCR", "k"};
        const shoal_command_t command = {2, argv, NULL};
        shoal_result_t *result = NULL;

        fake_server_cut(scene->server, FAKE_CUT_FIN);
        WAIT_FOR(fake_server_is_done(scene->server));
        if (i % 2) { /* the call drives, or wakes the background thread */
            assert_int_equal(
                shoal_client_call_with(scene->client, &command, NULL, &result), 0);
            assert_int_equal(shoal_result_status(result), 0);
            assert_int_equal(shoal_reply_integer(shoal_result_reply(result)), i);
            shoal_result_release(result);
        } else {
            outcome_t outcome = scene_call(scene, command, NULL);
            scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
        }
        lone_caller_become_direct(scene);
    }
}

/* Its PING is sent in time, and answered. */
static void test_a_parked_client_pings(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_ping_idle_us(scene->options, 20000), 0);
    lone_caller_open(scene);
    WAIT_FOR(fake_server_executed(scene->server, 0, "PING", NULL) >= 5);
    assert_int_equal(scene_events(scene).lost, 0);
}

/* ---- deadlines ---- */

/* The deadline of a direct call passes behind its write.  One that passed before, on a
 * machine that did something else for a while, is put off. */
static void expire(scene_t *scene, uint64_t timeout_us)
{
    for (;; timeout_us *= 2) {
        lone_caller_t *caller =
            lone_caller_begin(scene, WORDS("ECHO", "late"), timeout_us);
        lone_caller_end(caller);
        if (caller->outcome.fate != SHOAL_FATE_NOT_EXECUTED ||
            timeout_us > WAITING_US_MAX) {
            scene_check(&caller->outcome, SHOAL_ETIMEOUT, SHOAL_FATE_UNKNOWN);
            return;
        }
        assert_int_equal(caller->outcome.status, SHOAL_ETIMEOUT);
        fake_server_release(scene->server);
        lone_caller_become_direct(scene);
    }
}

static void test_deadline_in_a_direct_call(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    expire(scene, 100000);
    /* Its reply is still to come: the next one is not alone. */
    check_does_not_drive(scene, SHOAL_FATE_UNKNOWN);
    fake_server_release(scene->server);
    lone_caller_echo(scene, "after");
    WAIT_FOR(scene_stats(scene).zombies_dropped == 2);
    lone_caller_become_direct(scene);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

/* The deadlines of calls that are over wake nobody, and those to come hold. */
static void test_short_deadlines_one_after_the_other(void **state)
{
    enum { CALLS = 500 };
    scene_t *scene = *state;
    const char *const argv[] = {"ECHO", "x"};
    const shoal_command_t command = {2, argv, NULL};
    const shoal_call_t hasty = {.size = sizeof hasty, .timeout_us = 5000000};

    lone_caller_open(scene);
    for (int i = 0; i < CALLS; i++) {
        shoal_result_t *result = NULL;
        assert_int_equal(
            shoal_client_call_with(scene->client, &command, &hasty, &result), 0);
        assert_int_equal(shoal_result_status(result), 0);
        shoal_result_release(result);
    }
    for (int i = 0; i < 3; i++) {
        expire(scene, 20000);
        fake_server_release(scene->server);
        lone_caller_become_direct(scene);
    }
}

/* ---- closes ---- */

static void test_close_in_a_direct_call(void **state)
{
    enum { ROUNDS = 20 };
    scene_t *scene = *state;

    for (int round = 0; round < ROUNDS; round++) {
        lone_caller_open(scene);
        lone_caller_t *caller = lone_caller_begin(scene, WORDS("INCR", "k"), 0);
        scene_close(scene, 0);
        lone_caller_end(caller);
        assert_int_equal(caller->outcome.status, SHOAL_ESHUTDOWN);
        assert_true(caller->outcome.fate == SHOAL_FATE_NOT_EXECUTED ||
                    caller->outcome.fate == SHOAL_FATE_UNKNOWN);
        fake_server_release(scene->server);
    }
}

static void test_close_waits_for_a_direct_call(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("ECHO", "drained"), 0);
    assert_int_equal(shoal_client_close(scene->client, WAITING_US_MAX, NULL, NULL), 0);
    fake_server_release(scene->server);
    lone_caller_end(caller);
    shoal_client_release(scene->client);
    scene->client = NULL;
    scene_check_text(&caller->outcome, "drained");
}

static void test_close_of_a_parked_client(void **state)
{
    enum { ROUNDS = 20 };
    scene_t *scene = *state;

    for (int round = 0; round < ROUNDS; round++) {
        lone_caller_open(scene);
        scene_close(scene, WAITING_US_MAX);
    }
}

/* ---- forks ---- */

static int run_child(scene_t *scene)
{
    const char *const argv[] = {"ECHO", "child"};
    shoal_result_t *result = NULL;

    if (shoal_client_call(scene->client, 2, argv, NULL, &result) != SHOAL_EFORK)
        return 1;
    return shoal_client_after_fork_child(scene->client) == 0 ? 0 : 2;
}

static void test_fork_in_a_direct_call(void **state)
{
    scene_t *scene = *state;
    int status = -1;

    lone_caller_open(scene);
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("ECHO", "parent"), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(run_child(scene));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fake_server_release(scene->server);
    lone_caller_end(caller);
    scene_check_text(&caller->outcome, "parent");
    lone_caller_become_direct(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_reset_in_a_direct_call),
        SCENE_TEST(test_end_of_stream_in_a_direct_call),
        SCENE_TEST(test_read_only_command_survives_a_loss),
        SCENE_TEST(test_a_broken_protocol_in_a_direct_call),
        SCENE_TEST(test_events_are_told_by_the_background_thread),
        SCENE_TEST(test_a_parked_client_notices_a_dead_connection),
        SCENE_TEST(test_a_stray_reply_meets_no_call),
        SCENE_TEST(test_a_call_after_the_end_of_the_stream),
        SCENE_TEST(test_a_parked_client_pings),
        SCENE_TEST(test_deadline_in_a_direct_call),
        SCENE_TEST(test_short_deadlines_one_after_the_other),
        SCENE_TEST(test_close_in_a_direct_call),
        SCENE_TEST(test_close_waits_for_a_direct_call),
        SCENE_TEST(test_close_of_a_parked_client),
        SCENE_TEST(test_fork_in_a_direct_call),
    };
    return cmocka_run_group_tests_name("fault/direct_ends", tests, NULL, NULL);
}
