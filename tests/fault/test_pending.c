/* SPDX-License-Identifier: MIT */

/* Blocking calls that come back before their result, alone on the client and not. */

#include "client/waiters.h"
#include "support/lone_caller.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define SLICE_US 20000
#define SLEEPERS 8

static size_t hold_echo(scene_t *scene)
{
    return fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                          .argument = "held",
                                                          .times = 1,
                                                          .is_cut = true,
                                                          .then = FAKE_HOLD});
}

/* ECHO held, which the server answers not before it is released. */
static shoal_pending_t *begin_held(scene_t *scene, const shoal_call_t *call)
{
    shoal_command_t command = WORDS("ECHO", "held");
    shoal_pending_t *pending = NULL;
    shoal_result_t *result = NULL;
    uint64_t since_us = waiting_now_us();
    size_t rule = hold_echo(scene);

    assert_int_equal(shoal_client_call_begin(scene->client, &command, call, SLICE_US,
                                             &pending, &result),
                     SHOAL_EAGAIN);
    assert_true(waiting_now_us() - since_us >= SLICE_US);
    assert_non_null(pending);
    assert_null(result);
    /* A release before that would be forgotten. */
    WAIT_FOR(fake_server_hits(scene->server, rule) == 1);
    return pending;
}

static outcome_t finish(shoal_result_t *result)
{
    outcome_t outcome = {0};

    outcome_read(&outcome, result);
    shoal_result_release(result);
    return outcome;
}

static void come_back(scene_t *scene, shoal_pending_t *pending)
{
    shoal_result_t *result = NULL;
    outcome_t outcome;

    assert_int_equal(shoal_pending_wait(pending, SLICE_US, &result), SHOAL_EAGAIN);
    assert_null(result);
    fake_server_release(scene->server);
    assert_int_equal(shoal_pending_wait(pending, SHOAL_TIMEOUT_NEVER, &result), 0);
    outcome = finish(result);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.text, "held");
    lone_caller_echo(scene, "next");
}

static void test_with_the_background_thread(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    come_back(scene, begin_held(scene, NULL));
}

/* The thread that drove hands the loop over before it comes back. */
static void test_while_driving(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    uint64_t before = lone_caller_drives(scene);
    shoal_pending_t *pending = begin_held(scene, NULL);
    assert_int_equal(lone_caller_drives(scene), before + 1);
    come_back(scene, pending);
}

static void test_a_result_in_time(void **state)
{
    scene_t *scene = *state;
    shoal_command_t command = WORDS("ECHO", "x");
    shoal_pending_t *pending = NULL;
    shoal_result_t *result = NULL;

    scene_open_ready(scene);
    for (int i = 0; i < 100; i++) { /* by the thread, then directly */
        assert_int_equal(shoal_client_call_begin(scene->client, &command, NULL, 5000000,
                                                 &pending, &result),
                         0);
        assert_string_equal(finish(result).text, "x");
    }
    assert_null(pending);
}

static void note_closed(void *data)
{
    *(_Atomic bool *)data = true;
}

static void give_up(scene_t *scene, shoal_pending_t *pending)
{
    shoal_result_t *result = NULL;

    assert_int_equal(shoal_pending_give_up(pending, &result), 0);
    outcome_t outcome = finish(result);
    assert_int_equal(outcome.status, SHOAL_ECANCELLED);
    assert_int_equal(outcome.fate, SHOAL_FATE_UNKNOWN);
    fake_server_release(scene->server);
    lone_caller_echo(scene, "next"); /* its reply, not the one that was given up */
}

static void test_giving_up(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    give_up(scene, begin_held(scene, NULL));
}

static void test_giving_up_what_was_driven(void **state)
{
    scene_t *scene = *state;

    lone_caller_open(scene);
    give_up(scene, begin_held(scene, NULL));
}

/* Was it written before its deadline? */
static bool expired(shoal_result_t *result)
{
    outcome_t outcome = finish(result);

    assert_int_equal(outcome.status, SHOAL_ETIMEOUT);
    return outcome.fate != SHOAL_FATE_NOT_EXECUTED;
}

/* The deadline is the command's, however often its caller comes back. */
static void test_a_deadline_between_two_waits(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = {.size = sizeof call, .timeout_us = SLICE_US};
    shoal_result_t *result = NULL;
    int rc;

    scene_open_ready(scene);
    size_t rule = hold_echo(scene);
    bool is_written = false;
    /* A caller that comes back late finds the result: then the deadline was too short. */
    shoal_pending_t *pending = NULL;
    do {
        shoal_command_t command = WORDS("ECHO", "held");
        call.timeout_us *= 2;
        rc = shoal_client_call_begin(scene->client, &command, &call, SLICE_US, &pending,
                                     &result);
        if (rc == 0)
            is_written = expired(result) || is_written;
    } while (rc == 0);
    assert_int_equal(rc, SHOAL_EAGAIN);
    do
        rc = shoal_pending_wait(pending, SLICE_US, &result);
    while (rc == SHOAL_EAGAIN);
    assert_int_equal(rc, 0);
    is_written = expired(result) || is_written;
    WAIT_FOR(!is_written || fake_server_hits(scene->server, rule) == 1);
    fake_server_release(scene->server);
    lone_caller_echo(scene, "next");
}

/* The thread that closes has the pending call itself: the close does not wait for it.  The
 * call's own reference is the last one. */
static void test_a_close_does_not_wait_for_it(void **state)
{
    scene_t *scene = *state;
    shoal_result_t *result = NULL;

    scene_open_ready(scene);
    shoal_pending_t *pending = begin_held(scene, NULL);
    scene_close(scene, 0);
    assert_int_equal(shoal_pending_wait(pending, SHOAL_TIMEOUT_NEVER, &result), 0);
    assert_int_equal(finish(result).status, SHOAL_ESHUTDOWN);
}

/* Callers of commands that block are answered one by one: where each of them sleeps, the
 * results of the others wake nobody. */
static void test_callers_of_blocking_commands_sleep_apart(void **state)
{
    scene_t *scene = *state;
    const shoal_command_t command = WORDS("BLPOP", "k", "0");
    shoal_pending_t *pending[SLEEPERS];
    shoal_result_t *result = NULL;
    uint32_t spots[SLEEPERS];

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "BLPOP", .is_swallowed = true});
    scene_open_ready(scene);
    for (unsigned i = 0; i < SLEEPERS; i++) {
        assert_int_equal(shoal_client_call_begin(scene->client, &command, NULL, 1,
                                                 &pending[i], &result),
                         SHOAL_EAGAIN);
        spots[i] = atomic_load(&((shoal__waiter_t *)pending[i])->parker.state);
        /* A semaphore is nobody else's in any case. */
        for (unsigned k = 0; SHOAL_PARKER_FUTEX && k < i; k++)
            assert_int_not_equal(spots[i], spots[k]);
    }
    scene_close(scene, 0);
    for (unsigned i = 0; i < SLEEPERS; i++) {
        assert_int_equal(shoal_pending_wait(pending[i], SHOAL_TIMEOUT_NEVER, &result),
                         0);
        assert_int_equal(finish(result).status, SHOAL_ESHUTDOWN);
    }
}

/* While the client drains, a command is given up at once. */
static void test_giving_up_while_the_client_drains(void **state)
{
    scene_t *scene = *state;
    shoal_result_t *result = NULL;
    _Atomic bool *is_closed = scene_alloc(scene, sizeof *is_closed);

    scene_open_ready(scene);
    shoal_pending_t *pending = begin_held(scene, NULL);
    assert_int_equal(
        shoal_client_close(scene->client, SHOAL_TIMEOUT_NEVER, note_closed, is_closed),
        0);
    assert_int_equal(shoal_pending_give_up(pending, &result), 0);
    outcome_t outcome = finish(result);
    assert_int_equal(outcome.status, SHOAL_ECANCELLED);
    assert_int_equal(outcome.fate, SHOAL_FATE_UNKNOWN);
    WAIT_FOR(*is_closed); /* nothing else was outstanding */
    shoal_client_release(scene->client);
    scene->client = NULL;
}

/* ---- inside a callback ---- */

typedef struct intruder {
    shoal_pending_t *pending;
    _Atomic int rc_wait, rc_give_up;
} intruder_t;

static void wait_here(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    intruder_t *intruder = data;
    shoal_result_t *other = NULL;

    (void)client;
    (void)result;
    intruder->rc_wait = shoal_pending_wait(intruder->pending, SLICE_US, &other);
    intruder->rc_give_up = shoal_pending_give_up(intruder->pending, &other);
}

static void test_waiting_inside_a_callback(void **state)
{
    scene_t *scene = *state;
    intruder_t *intruder = scene_alloc(scene, sizeof *intruder);
    const char *const argv[] = {"INCR", "k"};

    scene_open_ready(scene);
    /* Its result and that of the INCR come in one read. */
    shoal_pending_t *pending = intruder->pending = begin_held(scene, NULL);
    assert_int_equal(
        shoal_client_submit(scene->client, 2, argv, NULL, wait_here, intruder, NULL),
        0);
    fake_server_release(scene->server);
    WAIT_FOR(intruder->rc_give_up);
    assert_int_equal(intruder->rc_wait, SHOAL_ELOOP);
    assert_int_equal(intruder->rc_give_up, SHOAL_ELOOP);
    shoal_result_t *result = NULL;
    assert_int_equal(shoal_pending_wait(pending, SHOAL_TIMEOUT_NEVER, &result), 0);
    assert_int_equal(finish(result).status, 0);
}

static void ignore_signal(int number)
{
    (void)number;
}

/* A signal brings the caller back long before its time. */
static void test_a_signal(void **state)
{
    scene_t *scene = *state;
    shoal_command_t command = WORDS("ECHO", "held");
    struct sigaction action = {.sa_handler = ignore_signal}, former;
    /* Again and again: one that arrives while the thread does not sleep is missed. */
    struct itimerval soon = {.it_value.tv_usec = 50000, .it_interval.tv_usec = 10100};
    struct itimerval never = {.it_value = {0}};
    shoal_pending_t *pending = NULL;
    shoal_result_t *result = NULL;

    scene_open_ready(scene);
    size_t rule = hold_echo(scene);
    sigaction(SIGALRM, &action, &former);
    setitimer(ITIMER_REAL, &soon, NULL);
    int rc = shoal_client_call_begin(scene->client, &command, NULL, 30000000, &pending,
                                     &result);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &former, NULL);
    assert_int_equal(rc, SHOAL_EAGAIN);
    WAIT_FOR(fake_server_hits(scene->server, rule) == 1);
    fake_server_release(scene->server);
    assert_int_equal(shoal_pending_wait(pending, SHOAL_TIMEOUT_NEVER, &result), 0);
    assert_string_equal(finish(result).text, "held");
}

static void test_arguments(void **state)
{
    scene_t *scene = *state;
    shoal_command_t command = WORDS("ECHO", "x"), refused = WORDS("SUBSCRIBE", "c");
    shoal_pending_t *pending = NULL;
    shoal_result_t *result = NULL;

    scene_open_ready(scene);
    shoal_client_t *client = scene->client;
    assert_int_equal(shoal_client_call_begin(client, NULL, NULL, 1, &pending, &result),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_client_call_begin(client, &command, NULL, 1, NULL, &result),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_client_call_begin(client, &command, NULL, 1, &pending, NULL),
                     SHOAL_EINVAL);
    assert_int_equal(
        shoal_client_call_begin(client, &refused, NULL, 1, &pending, &result),
        SHOAL_EREFUSED);
    assert_int_equal(shoal_pending_wait(NULL, 1, &result), SHOAL_EINVAL);
    assert_int_equal(shoal_pending_give_up(NULL, &result), SHOAL_EINVAL);
    assert_null(pending);
    assert_null(result);
}

/* ---- tickets ---- */

typedef struct tickets {
    uint64_t seen[8];
    _Atomic unsigned count;
} tickets_t;

static void on_ticket(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    tickets_t *tickets = data;

    (void)client;
    tickets->seen[tickets->count] = shoal_result_ticket(result);
    tickets->count++;
}

static void test_results_know_their_ticket(void **state)
{
    enum { COMMANDS = 4 };
    scene_t *scene = *state;
    tickets_t *tickets = scene_alloc(scene, sizeof *tickets);
    const shoal_command_t commands[COMMANDS] = {WORDS("ECHO", "1"), WORDS("NOPE"),
                                                WORDS("ECHO", "3"), WORDS("ECHO", "4")};
    uint64_t first = 0;

    scene_open_ready(scene);
    assert_int_equal(shoal_client_submit_many(scene->client, commands, COMMANDS, NULL,
                                              on_ticket, tickets, &first),
                     0);
    WAIT_FOR(tickets->count == COMMANDS);
    for (unsigned i = 0; i < COMMANDS; i++)
        assert_int_equal(tickets->seen[i], first + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_with_the_background_thread),
        SCENE_TEST(test_while_driving),
        SCENE_TEST(test_a_result_in_time),
        SCENE_TEST(test_giving_up),
        SCENE_TEST(test_giving_up_what_was_driven),
        SCENE_TEST(test_a_deadline_between_two_waits),
        SCENE_TEST(test_a_close_does_not_wait_for_it),
        SCENE_TEST(test_callers_of_blocking_commands_sleep_apart),
        SCENE_TEST(test_giving_up_while_the_client_drains),
        SCENE_TEST(test_waiting_inside_a_callback),
        SCENE_TEST(test_a_signal),
        SCENE_TEST(test_arguments),
        SCENE_TEST(test_results_know_their_ticket),
    };
    return cmocka_run_group_tests_name("fault/pending", tests, NULL, NULL);
}
