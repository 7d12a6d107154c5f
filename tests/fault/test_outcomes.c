/* SPDX-License-Identifier: MIT */
/* The table "outcome of every command": how far a command got, times what happened to
 * it, gives its status and fate; and the server's ledger agrees.  (I1 I2 I3 I4) */
#include "support/scene.h"

#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

#define BIG_BYTES 12582912 /* more than the kernel's buffers take */
#define TIMEOUT_US 200000  /* at first */

typedef enum progress { QUEUED, PARTLY, WRITTEN, REPLYING, PROGRESSES } progress_t;

typedef enum ending {
    TIMEOUT,
    CANCEL,
    RESET,
    END,
    DESYNC,
    DRAIN,
    NOW,
    ENDINGS
} ending_t;

#define NO SHOAL_FATE_NOT_EXECUTED
#define MAYBE SHOAL_FATE_UNKNOWN
#define LOST SHOAL_FATE_REPLY_LOST
#define DONE SHOAL_FATE_REPLIED

typedef struct verdict {
    int status;
    shoal_fate_t fate;
    unsigned executed; /* times, by the server's ledger, in the end */
} verdict_t;

/* clang-format off */
static const verdict_t verdicts[ENDINGS][PROGRESSES] = {
    [TIMEOUT] = {{SHOAL_ETIMEOUT,   NO, 0}, {SHOAL_ETIMEOUT,   MAYBE, 1},
                 {SHOAL_ETIMEOUT,   MAYBE, 1}, {SHOAL_ETIMEOUT,   LOST, 1}},
    [CANCEL]  = {{SHOAL_ECANCELLED, NO, 0}, {SHOAL_ECANCELLED, MAYBE, 1},
                 {SHOAL_ECANCELLED, MAYBE, 1}, {SHOAL_ECANCELLED, LOST, 1}},
    [RESET]   = {{0,                DONE, 1}, {0,              DONE, 1},
                 {SHOAL_ECONN,      MAYBE, 1}, {SHOAL_ECONN,      LOST, 1}},
    [END]     = {{0,                DONE, 1}, {0,              DONE, 1},
                 {SHOAL_ECONN,      MAYBE, 1}, {SHOAL_ECONN,      LOST, 1}},
    [DESYNC]  = {{0,                DONE, 1}, {0,              DONE, 1},
                 {SHOAL_EDESYNC,    MAYBE, 1}, {SHOAL_EDESYNC,    LOST, 1}},
    [DRAIN]   = {{SHOAL_ESHUTDOWN,  NO, 0}, {SHOAL_ESHUTDOWN,  NO, 0},
                 {SHOAL_ESHUTDOWN,  MAYBE, 1}, {SHOAL_ESHUTDOWN,  LOST, 1}},
    [NOW]     = {{SHOAL_ESHUTDOWN,  NO, 0}, {SHOAL_ESHUTDOWN,  NO, 0},
                 {SHOAL_ESHUTDOWN,  MAYBE, 1}, {SHOAL_ESHUTDOWN,  LOST, 1}},
};
/* clang-format on */

static const char *const progress_names[] = {"queued", "partly", "written", "replying"};
static const char *const ending_names[] = {"timeout", "cancel", "reset", "end",
                                           "desync",  "drain",  "now"};

typedef struct play {
    scene_t *scene;
    progress_t progress;
    const char *command; /* of the subject */
    outcome_t *subject;
    uint64_t ticket;
} play_t;

/* Wait until the subject got so far, or has ended before: at its deadline. */
#define AWAIT_PROGRESS(condition)                                                      \
    WAIT_FOR(outcome_is_done(play->subject) || (condition))

/* The answer to a fence would be taken for a part of the reply. */
static void without_fences(scene_t *scene)
{
    assert_int_equal(
        shoal_options_set_integrity(scene->options, SHOAL_INTEGRITY_SHAPES), 0);
}

/* A command is under way and the connection's only place is taken. */
static void queue_subject(play_t *play, const shoal_call_t *call)
{
    scene_t *scene = play->scene;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "head",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_submit(scene, WORDS("ECHO", "head"), NULL, scene_outcomes(scene, 1));
    WAIT_FOR(fake_server_received(scene->server, 1, "ECHO", "head") == 1);
    play->ticket = scene_submit(scene, WORDS("INCR", "k"), call, play->subject);
}

/* The server takes the beginning of a command that its buffers cannot hold. */
static void write_subject_partly(play_t *play, const shoal_call_t *call)
{
    scene_t *scene = play->scene;
    char *value = scene_alloc(scene, BIG_BYTES);

    memset(value, 'v', BIG_BYTES);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "stop",
                                                   .then = FAKE_STOP_READING});
    outcome_t stop = scene_call(scene, WORDS("ECHO", "stop"), NULL);
    scene_check_text(&stop, "stop");
    shoal_command_t set = {3, (const char *const[]){"SET", "k", value},
                           (const size_t[]){3, 1, BIG_BYTES}};
    play->ticket = scene_submit(scene, set, call, play->subject);
    AWAIT_PROGRESS(fake_server_holds(scene->server, "vvvv"));
}

static void write_subject(play_t *play, const shoal_call_t *call)
{
    scene_t *scene = play->scene;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    play->ticket = scene_submit(scene, WORDS("INCR", "k"), call, play->subject);
    AWAIT_PROGRESS(fake_server_received(scene->server, 1, "INCR", "k") == 1);
}

/* An element of the answer arrived, the other is held. */
static void answer_subject_partly(play_t *play, const shoal_call_t *call)
{
    scene_t *scene = play->scene;
    uint64_t before = scene_stats(scene).bytes_in;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "EVAL",
                                    .connection = 1,
                                    .reply = "*2\r\n$1\r\na\r\n$1\r\nb\r\n",
                                    .is_executed = true,
                                    .is_cut = true,
                                    .cut_bytes = 11,
                                    .then = FAKE_HOLD});
    play->ticket = scene_submit(scene, WORDS("EVAL", "k", "0"), call, play->subject);
    AWAIT_PROGRESS(scene_stats(scene).bytes_in >= before + 11);
}

static play_t bring_to(scene_t *scene, progress_t progress, const shoal_call_t *call)
{
    play_t play = {scene, progress, "INCR", scene_outcomes(scene, 1), 0};

    scene_serve(scene, &(fake_config_t){.buffer_bytes = 8192});
    scene->events = (scene_events_t){0};
    size_t inflight_max = progress == QUEUED ? 1 : 1000;
    assert_int_equal(
        shoal_options_set_outstanding_max(scene->options, 1000, inflight_max, 67108864),
        0);
    without_fences(scene);
    scene_open_one(scene);
    switch (progress) {
    case QUEUED:
        queue_subject(&play, call);
        break;
    case PARTLY:
        play.command = "SET";
        write_subject_partly(&play, call);
        break;
    case WRITTEN:
        write_subject(&play, call);
        break;
    case REPLYING:
    case PROGRESSES:
        play.command = "EVAL"; /* may answer with anything */
        answer_subject_partly(&play, call);
        break;
    }
    return play;
}

/* Bring a command so far with a deadline behind that.  How long a machine takes to get
 * there, nobody knows: the deadline is put off until it is long enough. */
static play_t bring_to_in_time(scene_t *scene, progress_t progress)
{
    shoal_call_t call = {.size = sizeof call, .timeout_us = TIMEOUT_US};
    play_t play = bring_to(scene, progress, &call);

    while (outcome_is_done(play.subject) && call.timeout_us < WAITING_US_MAX) {
        scene_close(scene, 0);
        call.timeout_us *= 2;
        play = bring_to(scene, progress, &call);
    }
    return play;
}

/* Make it happen.  Returns whether the client is closed by it. */
static bool bring_about(const play_t *play, ending_t ending)
{
    scene_t *scene = play->scene;

    switch (ending) {
    case TIMEOUT:
        scene_await(play->subject);
        break;
    case CANCEL:
        assert_int_equal(shoal_client_cancel(scene->client, play->ticket), 0);
        scene_await(play->subject);
        break;
    case RESET:
        fake_server_cut(scene->server, FAKE_CUT_RESET);
        break;
    case END:
        fake_server_cut(scene->server, FAKE_CUT_FIN);
        break;
    case DESYNC:
        fake_server_send(scene->server, "no RESP\r\n");
        break;
    case DRAIN:
        scene_close(scene, 100000);
        return true;
    case NOW:
    case ENDINGS:
        scene_close(scene, 0);
        return true;
    }
    return false;
}

static void check_connection_is_sound(const play_t *play, ending_t ending)
{
    scene_t *scene = play->scene;
    bool is_zombie =
        play->progress != QUEUED && (ending == TIMEOUT || ending == CANCEL);

    for (int i = 0; i < 5; i++)
        scene_check_works(scene);
    shoal_stats_t stats = scene_idle_stats(scene);
    assert_int_equal(stats.zombies_dropped, is_zombie);
    assert_int_equal(stats.commands, stats.completed);
    unsigned connections = ending == TIMEOUT || ending == CANCEL ? 1 : 2;
    assert_int_equal(fake_server_accepted(scene->server), connections);
    assert_int_equal(scene_events(scene).lost_desync, ending == DESYNC);
}

static void check_cell(scene_t *scene, progress_t progress, ending_t ending)
{
    const verdict_t *verdict = &verdicts[ending][progress];
    play_t play = ending == TIMEOUT ? bring_to_in_time(scene, progress)
                                    : bring_to(scene, progress, NULL);
    assert_true(ending == TIMEOUT || !outcome_is_done(play.subject));
    bool is_closed = bring_about(&play, ending);
    const outcome_t *subject = play.subject;

    scene_await(subject);
    if (subject->calls != 1 || subject->status != verdict->status ||
        subject->fate != verdict->fate)
        fail_msg("%s, %s: want %s, %s; got: %s", progress_names[progress],
                 ending_names[ending], shoal_error_name(verdict->status),
                 shoal_fate_name(verdict->fate), outcome_describe(subject));
    if (verdict->status < 0)
        assert_int_equal(subject->attempts, progress >= WRITTEN);
    else
        assert_int_equal(subject->attempts, 1);
    fake_server_release(scene->server);
    if (!is_closed)
        check_connection_is_sound(&play, ending);
    else
        WAIT_FOR(fake_server_open_now(scene->server) == 0);
    size_t executed = fake_server_executed(scene->server, 0, play.command, "k");
    if (executed != verdict->executed)
        fail_msg("%s, %s: executed %zu times", progress_names[progress],
                 ending_names[ending], executed);
    if (!is_closed)
        scene_close(scene, 0);
}

static void check_row(scene_t *scene, ending_t ending)
{
    for (progress_t progress = QUEUED; progress < PROGRESSES; progress++)
        check_cell(scene, progress, ending);
}

static void test_timeout(void **state)
{
    check_row(*state, TIMEOUT);
}

static void test_cancel(void **state)
{
    check_row(*state, CANCEL);
}

static void test_lost_by_reset(void **state)
{
    check_row(*state, RESET);
}

static void test_lost_by_end_of_stream(void **state)
{
    check_row(*state, END);
}

static void test_desync(void **state)
{
    check_row(*state, DESYNC);
}

static void test_close_with_drain(void **state)
{
    check_row(*state, DRAIN);
}

static void test_close_now(void **state)
{
    check_row(*state, NOW);
}

/* What may be attempted once only is not even taken back from a connection that died
 * before the last byte. */
static void test_once_is_not_taken_back(void **state)
{
    scene_t *scene = *state;
    shoal_call_t once = {.size = sizeof once, .flags = SHOAL_CALL_ONCE};
    play_t play = bring_to(scene, PARTLY, &once);

    fake_server_cut(scene->server, FAKE_CUT_RESET);
    scene_check(play.subject, SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(play.subject->attempts, 0);
    scene_check_works(scene);
    assert_int_equal(fake_server_received(scene->server, 0, "SET", NULL), 0);
}

/* A reply that was cut after any byte was begun: the command was processed. */
static void test_reply_cut_after_every_byte(void **state)
{
    static const char *const replies[] = {"$5\r\nhello\r\n", ":1234\r\n", "+OK\r\n",
                                          "*1\r\n:7\r\n", "-ERR no\r\n"};
    scene_t *scene = *state;

    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        for (size_t cut = 0; cut < strlen(replies[i]); cut++) {
            unsigned ready = scene_events(scene).ready;
            fake_server_forget_rules(scene->server);
            fake_server_rule(scene->server, &(fake_rule_t){.command = "INCR",
                                                           .times = 1,
                                                           .reply = replies[i],
                                                           .is_cut = true,
                                                           .cut_bytes = cut,
                                                           .then = FAKE_FIN});
            if (!scene->client)
                scene_open_ready(scene);
            outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
            shoal_fate_t fate = cut == 0 ? MAYBE : LOST;
            if (outcome.status != SHOAL_ECONN || outcome.fate != fate)
                fail_msg("reply %zu cut at %zu: %s", i, cut,
                         outcome_describe(&outcome));
            WAIT_FOR(scene_events(scene).ready > ready);
        }
    }
    scene_check_works(scene);
}

/* Many are given up at once; those that remain get their own replies. */
static void test_cancelled_among_others(void **state)
{
    enum { COUNT = 500 };
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, COUNT);
    uint64_t tickets[COUNT];
    char texts[COUNT][16];

    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "0",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open_ready(scene);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "%zu", i);
        tickets[i] = scene_submit(scene, WORDS("ECHO", texts[i]), NULL, &outcomes[i]);
    }
    WAIT_FOR(fake_server_received(scene->server, 1, "ECHO", "0") == 1); /* and holds */
    for (size_t i = 0; i < COUNT; i += 3)
        assert_int_equal(shoal_client_cancel(scene->client, tickets[i]), 0);
    for (size_t i = 0; i < COUNT; i += 3)
        scene_await(&outcomes[i]);
    fake_server_release(scene->server);
    for (size_t i = 0; i < COUNT; i++) {
        scene_await(&outcomes[i]);
        assert_int_equal(outcomes[i].calls, 1);
        if (i % 3 == 0)
            assert_int_equal(outcomes[i].status, SHOAL_ECANCELLED);
        else
            scene_check_text(&outcomes[i], texts[i]);
    }
    scene_check_works(scene);
    assert_int_equal(scene_stats(scene).cancels, (COUNT + 2) / 3);
}

static void test_cancel_of_what_is_not_there(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    scene_open_ready(scene);
    uint64_t ticket = scene_submit(scene, WORDS("ECHO", "x"), NULL, outcome);
    scene_check_text(outcome, "x");
    assert_int_equal(shoal_client_cancel(scene->client, ticket + 1000), SHOAL_ENOENT);
    (void)shoal_client_cancel(scene->client, ticket); /* too late: no second call */
    scene_check_works(scene);
    assert_int_equal(outcome->calls, 1);
    assert_int_equal(outcome->status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_timeout),
        SCENE_TEST(test_cancel),
        SCENE_TEST(test_lost_by_reset),
        SCENE_TEST(test_lost_by_end_of_stream),
        SCENE_TEST(test_desync),
        SCENE_TEST(test_close_with_drain),
        SCENE_TEST(test_close_now),
        SCENE_TEST(test_once_is_not_taken_back),
        SCENE_TEST(test_reply_cut_after_every_byte),
        SCENE_TEST(test_cancelled_among_others),
        SCENE_TEST(test_cancel_of_what_is_not_there),
    };
    return cmocka_run_group_tests_name("fault/outcomes", tests, NULL, NULL);
}
