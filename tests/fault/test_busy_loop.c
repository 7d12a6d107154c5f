/* SPDX-License-Identifier: MIT */

/* Blocking calls on a borrowed client whose loop thread is busy with other things: they
 * keep their deadlines, and what they say of the command is true.  (I5) */

#include "support/process_state.h"
#include "support/scene.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define DEADLINE_US 30000
/* Long enough for the loop thread to take a command over, on any machine. */
#define LATER_US 2000000
#define SLICE_US 5000

/* The loop thread is there, for once. */
#define STEP_UNTIL(scene, condition)                                                   \
    for (uint64_t since_us_ = waiting_now_us(); !(condition);) {                       \
        assert_true(shoal_client_step((scene)->client, 1000) >= 0);                    \
        assert_true(waiting_now_us() - since_us_ < WAITING_US_MAX);                    \
    }

/* A thread in a blocking call. */
typedef struct caller {
    shoal_client_t *client;
    shoal_command_t command;
    shoal_call_t call;
    pthread_t thread;
    _Atomic pid_t id;
    _Atomic bool is_back;
    int rc;
    outcome_t outcome;
} caller_t;

static void *call(void *data)
{
    caller_t *caller = data;
    shoal_result_t *result = NULL;

    caller->id = gettid();
    caller->rc = shoal_client_call_with(caller->client, &caller->command, &caller->call,
                                        &result);
    if (caller->rc == 0)
        outcome_read(&caller->outcome, result);
    shoal_result_release(result);
    shoal_client_release(caller->client);
    caller->is_back = true;
    return NULL;
}

static caller_t *begin(scene_t *scene, shoal_command_t command, uint64_t timeout_us,
                       const shoal_sink_t *sink)
{
    caller_t *caller = scene_alloc(scene, sizeof *caller);

    caller->client = shoal_client_retain(scene->client);
    caller->command = command;
    caller->call = (shoal_call_t)SHOAL_CALL_INIT;
    caller->call.timeout_us = timeout_us;
    caller->call.sink = sink;
    assert_int_equal(pthread_create(&caller->thread, NULL, call, caller), 0);
    return caller;
}

/* Without a step meanwhile. */
static void end(caller_t *caller, int status, shoal_fate_t fate)
{
    pthread_join(caller->thread, NULL);
    assert_int_equal(caller->rc, 0);
    assert_int_equal(caller->outcome.status, status);
    assert_int_equal(caller->outcome.fate, fate);
}

static void open_borrowed(scene_t *scene)
{
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    STEP_UNTIL(scene, scene_events(scene).ready > 0);
}

/* The connection is of use, and no reply is one too late. */
static void check_works(scene_t *scene)
{
    outcome_t *outcome = scene_outcomes(scene, 1);

    scene_submit(scene, WORDS("ECHO", "works"), NULL, outcome);
    STEP_UNTIL(scene, outcome_is_done(outcome));
    scene_check_text(outcome, "works");
}

/* A call whose reply the server holds, once the loop has sent it. */
static caller_t *begin_held(scene_t *scene, const shoal_sink_t *sink)
{
    caller_t *caller = begin(scene, WORDS("ECHO", "held"), LATER_US, sink);

    STEP_UNTIL(scene, fake_server_received(scene->server, 0, "ECHO", "held") > 0);
    return caller;
}

static void hold_echo(scene_t *scene)
{
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "held",
                                                   .times = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
}

static void test_a_command_that_was_never_taken_over(void **state)
{
    scene_t *scene = *state;

    open_borrowed(scene);
    for (int round = 0; round < 5; round++) {
        caller_t *first = begin(scene, WORDS("INCR", "k"), DEADLINE_US, NULL);
        caller_t *second = begin(scene, WORDS("INCR", "k"), DEADLINE_US, NULL);
        end(first, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
        end(second, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
        if (round > 2)
            check_works(scene);
    }
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
    shoal_stats_t stats = scene_stats(scene);
    assert_int_equal(stats.commands, stats.completed);
    assert_int_equal(stats.timeouts, 10);
    assert_int_equal(stats.cancels, 0);
    scene_close(scene, 0);
}

/* Its neighbours in the mailbox are sent. */
static void test_only_the_overdue_is_taken_back(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    open_borrowed(scene);
    caller_t *patient = begin(scene, WORDS("INCR", "patient"), 0, NULL);
    process_await_sleep(&patient->id);
    caller_t *hasty = begin(scene, WORDS("INCR", "hasty"), DEADLINE_US, NULL);
    caller_t *last = begin(scene, WORDS("INCR", "last"), 0, NULL);
    process_await_sleep(&last->id);
    end(hasty, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    scene_submit(scene, WORDS("ECHO", "x"), NULL, outcome);
    STEP_UNTIL(scene, patient->is_back && last->is_back);
    end(patient, 0, SHOAL_FATE_REPLIED);
    end(last, 0, SHOAL_FATE_REPLIED);
    STEP_UNTIL(scene, outcome_is_done(outcome));
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", "hasty"), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 2);
    scene_close(scene, 0);
}

/* No caller waits for the late reply: it is dropped. */
static void test_a_command_that_was_sent(void **state)
{
    scene_t *scene = *state;

    open_borrowed(scene);
    hold_echo(scene);
    end(begin_held(scene, NULL), SHOAL_ETIMEOUT, SHOAL_FATE_UNKNOWN);
    fake_server_release(scene->server);
    check_works(scene);
    assert_int_equal(scene_stats(scene).cancels, 0);
    scene_close(scene, 0);
}

/* The client is closed, and its loop is run, after the caller went. */
static void test_a_close_after_the_caller_has_gone(void **state)
{
    scene_t *scene = *state;

    open_borrowed(scene);
    hold_echo(scene);
    end(begin_held(scene, NULL), SHOAL_ETIMEOUT, SHOAL_FATE_UNKNOWN);
    end(begin(scene, WORDS("INCR", "k"), DEADLINE_US, NULL), SHOAL_ETIMEOUT,
        SHOAL_FATE_NOT_EXECUTED);
    scene_close(scene, 0);
}

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    (void)leaf;
    (void)data;
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    (void)type;
    (void)count;
    (void)data;
}

static void on_end(void *data)
{
    (void)data;
}

static const shoal_sink_t sink = {on_leaf, on_begin, on_end, on_end};

/* The loop may be about to write into the sink: its caller waits for the loop, unless the
 * loop never had the command. */
static void test_a_sink(void **state)
{
    scene_t *scene = *state;

    open_borrowed(scene);
    end(begin(scene, WORDS("INCR", "k"), DEADLINE_US, &sink), SHOAL_ETIMEOUT,
        SHOAL_FATE_NOT_EXECUTED);
    hold_echo(scene);
    caller_t *with_sink = begin_held(scene, &sink);
    caller_t *later = begin(scene, WORDS("INCR", "later"), LATER_US, NULL);
    STEP_UNTIL(scene, scene_stats(scene).inflight_now == 2);
    end(later, SHOAL_ETIMEOUT, SHOAL_FATE_UNKNOWN);
    assert_false(with_sink->is_back);
    STEP_UNTIL(scene, with_sink->is_back);
    end(with_sink, SHOAL_ETIMEOUT, SHOAL_FATE_UNKNOWN);
    fake_server_release(scene->server);
    check_works(scene);
    scene_close(scene, 0);
}

/* ---- calls that come back between ---- */

typedef struct slicer {
    shoal_client_t *client;
    bool gives_up;
    int rc_begin, rc;
    outcome_t outcome;
} slicer_t;

static void *call_in_slices(void *data)
{
    slicer_t *slicer = data;
    shoal_command_t command = WORDS("INCR", "k");
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_pending_t *pending = NULL;
    shoal_result_t *result = NULL;

    call.timeout_us = slicer->gives_up ? SHOAL_TIMEOUT_NEVER : DEADLINE_US;
    slicer->rc_begin = slicer->rc = shoal_client_call_begin(
        slicer->client, &command, &call, SLICE_US, &pending, &result);
    while (slicer->rc == SHOAL_EAGAIN)
        slicer->rc = slicer->gives_up ? shoal_pending_give_up(pending, &result)
                                      : shoal_pending_wait(pending, SLICE_US, &result);
    if (slicer->rc == 0)
        outcome_read(&slicer->outcome, result);
    shoal_result_release(result);
    return NULL;
}

static void test_calls_in_slices(void **state)
{
    scene_t *scene = *state;

    open_borrowed(scene);
    for (int gives_up = 0; gives_up <= 1; gives_up++) {
        slicer_t slicer = {.client = scene->client, .gives_up = gives_up};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, call_in_slices, &slicer), 0);
        pthread_join(thread, NULL);
        assert_int_equal(slicer.rc_begin, SHOAL_EAGAIN);
        assert_int_equal(slicer.rc, 0);
        assert_int_equal(slicer.outcome.status,
                         gives_up ? SHOAL_ECANCELLED : SHOAL_ETIMEOUT);
        assert_int_equal(slicer.outcome.fate, SHOAL_FATE_NOT_EXECUTED);
    }
    check_works(scene);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", NULL), 0);
    assert_int_equal(scene_stats(scene).timeouts, 1);
    assert_int_equal(scene_stats(scene).cancels, 1);
    scene_close(scene, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_command_that_was_never_taken_over),
        SCENE_TEST(test_only_the_overdue_is_taken_back),
        SCENE_TEST(test_a_command_that_was_sent),
        SCENE_TEST(test_a_close_after_the_caller_has_gone),
        SCENE_TEST(test_a_sink),
        SCENE_TEST(test_calls_in_slices),
    };
    return cmocka_run_group_tests_name("fault/busy_loop", tests, NULL, NULL);
}
