/* SPDX-License-Identifier: MIT */
/* A good guest of the process: fork, signals, descriptors, threads.  (I14) */
#include "support/lone_fork.h"
#include "support/process_state.h"
#include "support/scene.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* Every call of the child says whose client it is.  Returns the number of the first
 * that does not; no lock of the test may be needed here. */
static int check_calls_in_child(shoal_client_t *client,
                                shoal_completions_t *completions)
{
    const char *const argv[] = {"INCR", "child"};
    shoal_command_t command = {2, argv, NULL};
    shoal_call_t patient = {.size = sizeof patient, .flags = SHOAL_CALL_WAIT_FOR_ROOM};
    shoal_result_t *result = NULL;
    shoal_stats_t stats = SHOAL_STATS_INIT;
    int number = 0;

#define EXPECT(call, code)                                                             \
    do {                                                                               \
        number++;                                                                      \
        if ((call) != (code))                                                          \
            return number;                                                             \
    } while (0)
    EXPECT(shoal_client_submit(client, 2, argv, NULL, NULL, NULL, NULL), SHOAL_EFORK);
    EXPECT(shoal_client_submit_many(client, &command, 1, &patient, NULL, NULL, NULL),
           SHOAL_EFORK);
    EXPECT(shoal_client_call(client, 2, argv, NULL, &result), SHOAL_EFORK);
    EXPECT(shoal_client_cancel(client, 1), SHOAL_EFORK);
    EXPECT(shoal_client_wait_ready(client, 1000), SHOAL_EFORK);
    EXPECT(shoal_stats_get(client, &stats), SHOAL_EFORK);
    EXPECT(shoal_client_close(client, 0, NULL, NULL), SHOAL_EFORK);
    EXPECT(shoal_client_close_and_wait(client, 0), SHOAL_EFORK);
    if (completions)
        EXPECT(
            shoal_completions_submit(completions, client, &command, 1, NULL, 0, NULL),
            SHOAL_EFORK);
    EXPECT(shoal_client_after_fork_child(client), 0);
#undef EXPECT
    return 0;
}

static int wait_for_child(pid_t child)
{
    int status = 0;
    assert_true(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        fail_msg("the child was killed by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void test_child_of_a_quiet_client(void **state)
{
    scene_t *scene = *state;
    shoal_completions_t *completions = NULL;

    assert_int_equal(shoal_completions_new(0, &completions), 0);
    size_t before = process_sockets();
    scene_open_ready(scene);
    assert_int_equal(shoal_client_after_fork_child(scene->client), SHOAL_EINVAL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        int wrong = check_calls_in_child(scene->client, completions);
        /* Left are those of before, and the server's end of the connection. */
        if (wrong == 0 && process_sockets() > before + 1)
            wrong = 99;
        _exit(wrong);
    }
    assert_int_equal(wait_for_child(child), 0);
    for (int i = 0; i < 50; i++)
        scene_check_works(scene);
    shoal_completions_free(completions);
    assert_int_equal(fake_server_accepted(scene->server), 1);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", "child"), 0);
}

typedef struct load {
    scene_t *scene;
    _Atomic bool is_over;
    _Atomic unsigned long accepted, answered, wrong;
} load_t;

static void count_result(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    load_t *load = data;
    (void)client;
    if (shoal_result_status(result) == 0)
        load->answered++;
    else
        load->wrong++;
}

static void *make_load(void *data)
{
    load_t *load = data;
    const char *const argv[] = {"INCR", "parent"};

    while (!load->is_over) {
        if (shoal_client_submit(load->scene->client, 2, argv, NULL, count_result, load,
                                NULL) == 0)
            load->accepted++;
        else
            waiting_sleep_us(100);
    }
    return NULL;
}

/* Forked at any moment, with every lock in any state. */
static void test_children_of_a_busy_client(void **state)
{
    enum { THREADS = 3, FORKS = 100 };
    scene_t *scene = *state;
    load_t *load = scene_alloc(scene, sizeof *load);
    pthread_t threads[THREADS];
    int wrong = 0;

    assert_int_equal(
        shoal_options_set_outstanding_max(scene->options, 2000, 1000, 10000000), 0);
    scene_open_ready(scene);
    load->scene = scene;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_load, load);
    for (int i = 0; i < FORKS && wrong == 0; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            busy_fork_exit(check_calls_in_child(scene->client, NULL));
        }
        int status = 0;
        wrong = waitpid(child, &status, 0) == child ? status : -1;
    }
    load->is_over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(wrong, 0);
    WAIT_FOR(load->answered + load->wrong == load->accepted);
    assert_int_equal(load->wrong, 0);
    assert_int_equal(fake_server_number(scene->server, 0, "parent"), load->accepted);
    assert_int_equal(fake_server_accepted(scene->server), 1);
    assert_int_equal(fake_server_received(scene->server, 0, "INCR", "child"), 0);
}

static void test_the_child_may_open_its_own(void **state)
{
    scene_t *scene = *state;

    if (process_is_sanitized())
        skip(); /* their locks stay as another thread left them: support/lone_fork.h */
    scene_open_ready(scene);
    pid_t child = fork();
    if (child == 0) {
        shoal_client_t *client = NULL;
        shoal_result_t *result = NULL;
        alarm(60);
        if (shoal_client_after_fork_child(scene->client) != 0)
            _exit(1);
        if (shoal_client_open(scene->options, &client, NULL) != 0)
            _exit(2);
        if (shoal_client_callf(client, &result, "INCR own") != 0 ||
            shoal_result_status(result) != 0)
            _exit(3);
        shoal_result_release(result);
        int rc = shoal_client_close_and_wait(client, 0);
        shoal_client_release(client);
        shoal_client_release(scene->client); /* does nothing here */
        _exit(rc == 0 ? 0 : 4);
    }
    assert_int_equal(wait_for_child(child), 0);
    scene_check_works(scene);
    assert_int_equal(fake_server_number(scene->server, 0, "own"), 1);
}

static void test_the_loop_thread_blocks_signals(void **state)
{
    static const int signals[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGPIPE,
                                  SIGALRM, SIGTERM,  SIGUSR1, SIGUSR2,
                                  SIGCHLD, SIGWINCH, SIGIO,   SIGPROF};
    scene_t *scene = *state;
    pid_t before[64], after[64];
    size_t found = 0, count = process_thread_ids(before, 64);

    scene_open_ready(scene);
    size_t count_after = process_thread_ids(after, 64);
    assert_true(count_after > count && count_after <= 64);
    for (size_t i = 0; i < count_after; i++) {
        bool was_there = false;
        for (size_t j = 0; j < count; j++)
            was_there = was_there || before[j] == after[i];
        if (was_there)
            continue;
        found++;
        uint64_t mask = process_blocked_signals(after[i]);
        for (size_t s = 0; s < sizeof signals / sizeof *signals; s++)
            if (!(mask >> (signals[s] - 1) & 1))
                fail_msg("signal %d is not blocked", signals[s]);
        assert_false(mask >> (SIGSEGV - 1) & 1); /* synchronous faults are not hidden */
    }
    assert_true(found >= 1);
}

static void test_signals_stay_as_they_are(void **state)
{
    scene_t *scene = *state;
    struct sigaction before[32], after;
    uint64_t mask = process_blocked_signals(getpid());

    for (int signal = 1; signal < 32; signal++)
        (void)sigaction(signal, NULL, &before[signal]);
    scene_open_ready(scene);
    scene_check_works(scene);
    scene_close(scene, 0);
    for (int signal = 1; signal < 32; signal++) {
        if (sigaction(signal, NULL, &after) == 0 &&
            (after.sa_handler != before[signal].sa_handler ||
             after.sa_flags != before[signal].sa_flags))
            fail_msg("signal %d is handled otherwise", signal);
    }
    assert_true(mask == process_blocked_signals(getpid()));
}

/* With the default disposition a SIGPIPE would end the process. */
static void test_writing_to_a_dead_peer(void **state)
{
    scene_t *scene = *state;

    signal(SIGPIPE, SIG_DFL);
    for (int is_unix = 0; is_unix <= 1; is_unix++) {
        scene_serve(scene, &(fake_config_t){.is_unix = is_unix});
        assert_int_equal(
            shoal_client_open_borrowed(scene->options, &scene->client, NULL), 0);
        for (int round = 0; round < 10; round++) {
            outcome_t *outcomes = scene_outcomes(scene, 50);
            unsigned ready = scene_events(scene).ready;
            for (uint64_t since_us = waiting_now_us();
                 scene_events(scene).ready == ready &&
                 waiting_now_us() - since_us < WAITING_US_MAX;)
                (void)shoal_client_step(scene->client, 10000);
            fake_server_cut(scene->server, FAKE_CUT_RESET);
            for (size_t i = 0; i < 50; i++)
                scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[i]);
            for (size_t i = 0; i < 50; i++)
                while (!outcome_is_done(&outcomes[i]))
                    (void)shoal_client_step(scene->client, 1000000);
            fake_server_cut(scene->server, FAKE_CUT_RESET);
        }
        scene_close(scene, 0);
    }
}

static void test_no_descriptor_is_inherited(void **state)
{
    scene_t *scene = *state;
    uint64_t before = process_descriptor_set();
    shoal_completions_t *completions = NULL;
    shoal_client_t *borrowed = NULL;

    assert_int_equal(shoal_completions_new(0, &completions), 0);
    scene_open_ready(scene);
    assert_int_equal(shoal_client_open_borrowed(scene->options, &borrowed, NULL), 0);
    for (int i = 0; i < 20; i++)
        (void)shoal_client_step(borrowed, 1000);
    assert_int_equal(process_inherited(before), -1);
    assert_int_equal(shoal_client_close_and_wait(borrowed, 0), 0);
    shoal_client_release(borrowed);
    shoal_completions_free(completions);
}

/* ---- waiting for the connection ---- */

static void call_on_loop(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    _Atomic int *codes = data;
    const char *const argv[] = {"ECHO", "x"};
    shoal_result_t *inner = NULL;
    (void)result;

    codes[0] = shoal_client_wait_ready(client, SHOAL_TIMEOUT_NEVER);
    codes[1] = shoal_client_call(client, 2, argv, NULL, &inner);
    codes[2] = 1;
}

static void test_what_would_block_the_loop_is_refused(void **state)
{
    scene_t *scene = *state;
    _Atomic int *codes = scene_alloc(scene, 3 * sizeof *codes);
    const char *const argv[] = {"ECHO", "x"};

    scene_open_ready(scene);
    assert_int_equal(
        shoal_client_submit(scene->client, 2, argv, NULL, call_on_loop, codes, NULL),
        0);
    WAIT_FOR(codes[2]);
    assert_int_equal(codes[0], SHOAL_ELOOP);
    assert_int_equal(codes[1], SHOAL_ELOOP);
}

typedef struct waiter {
    shoal_client_t *client;
    _Atomic pid_t thread;
    int rc;
    outcome_t outcome;
} waiter_t;

static void *wait_ready(void *data)
{
    waiter_t *waiter = data;

    waiter->thread = gettid();
    waiter->rc = shoal_client_wait_ready(waiter->client, SHOAL_TIMEOUT_NEVER);
    return NULL;
}

static void test_wait_ready(void **state)
{
    enum { WAITERS = 5 };
    scene_t *scene = *state;
    waiter_t waiters[WAITERS];
    pthread_t threads[WAITERS];

    fake_server_freeze(scene->server);
    scene_open(scene);
    assert_int_equal(shoal_client_wait_ready(scene->client, 20000), SHOAL_ETIMEOUT);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < WAITERS; i++) {
            waiters[i] = (waiter_t){.client = scene->client, .rc = 1};
            pthread_create(&threads[i], NULL, wait_ready, &waiters[i]);
        }
        waiting_sleep_us(20000);
        if (round == 0)
            fake_server_release(scene->server);
        for (int i = 0; i < WAITERS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(waiters[i].rc, 0);
        }
    }
}

static void *call_and_wait(void *data)
{
    waiter_t *waiter = data;
    const char *const argv[] = {"INCR", "k"};
    shoal_result_t *result = NULL;

    waiter->thread = gettid();
    waiter->rc = shoal_client_call(waiter->client, 2, argv, NULL, &result);
    if (waiter->rc == 0)
        outcome_read(&waiter->outcome, result);
    shoal_result_release(result);
    return NULL;
}

/* The close ends every wait. */
static void test_closing_while_others_wait(void **state)
{
    enum { WAITERS = 6 };
    scene_t *scene = *state;
    waiter_t waiters[WAITERS];
    pthread_t threads[WAITERS];

    for (int round = 0; round < 10; round++) {
        fake_server_freeze(scene->server);
        scene_open(scene);
        for (int i = 0; i < WAITERS; i++) {
            waiters[i] =
                (waiter_t){.client = shoal_client_retain(scene->client), .rc = 1};
            pthread_create(&threads[i], NULL, i % 2 ? wait_ready : call_and_wait,
                           &waiters[i]);
        }
        for (int i = 0; i < WAITERS; i++) /* else they come too late to wait */
            process_await_sleep(&waiters[i].thread);
        WAIT_FOR(scene_stats(scene).commands == WAITERS / 2);
        scene_close(scene, 0);
        for (int i = 0; i < WAITERS; i++) {
            pthread_join(threads[i], NULL);
            shoal_client_release(waiters[i].client);
            if (i % 2) {
                assert_int_equal(waiters[i].rc, SHOAL_ECLOSED);
            } else {
                assert_int_equal(waiters[i].rc, 0);
                assert_int_equal(waiters[i].outcome.status, SHOAL_ESHUTDOWN);
            }
        }
        fake_server_release(scene->server);
    }
}

/* ---- what is told ---- */

typedef struct listener {
    pthread_mutex_t lock;
    unsigned lines, secrets, line_feeds;
} listener_t;

static void on_log(shoal_log_level_t level, const char *line, void *data)
{
    listener_t *listener = data;
    (void)level;

    pthread_mutex_lock(&listener->lock);
    listener->lines++;
    listener->secrets += strstr(line, "canary") != NULL;
    listener->line_feeds += strchr(line, '\n') != NULL;
    pthread_mutex_unlock(&listener->lock);
}

/* Not even when the server repeats them. */
static void test_no_secret_is_told(void **state)
{
    static const char *const errors[] = {
        "-WRONGPASS not user-canary with pass-canary\r\n",
        "-ERR what is\nHELLO 3 AUTH user-canary pass-canary\r\n",
        ("-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' "
         "'user-canary' 'pass-canary'\r\n"),
    };
    scene_t *scene = *state;
    listener_t *listener = scene_alloc(scene, sizeof *listener);
    shoal_call_t hasty = {.size = sizeof hasty, .timeout_us = 200000};

    pthread_mutex_init(&listener->lock, NULL);
    assert_int_equal(
        shoal_options_set_auth(scene->options, "user-canary", "pass-canary"), 0);
    assert_int_equal(
        shoal_options_set_on_log(scene->options, SHOAL_LOG_DEBUG, on_log, listener), 0);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        scene_serve(scene, NULL);
        fake_server_rule(scene->server,
                         &(fake_rule_t){.command = "HELLO", .reply = errors[i]});
        fake_server_rule(scene->server,
                         &(fake_rule_t){.command = "AUTH", .reply = errors[i]});
        scene_open(scene);
        outcome_t outcome =
            scene_call(scene, WORDS("SET", "k", "value-canary"), &hasty);
        assert_true(outcome.status < 0);
        assert_null(strstr(outcome.detail, "pass-canary"));
        assert_null(strstr(outcome.detail, "value-canary"));
        assert_null(strstr(scene_events(scene).detail, "pass-canary"));
        scene_close(scene, 0);
    }
    assert_true(listener->lines > 0);
    assert_int_equal(listener->secrets, 0);
    assert_int_equal(listener->line_feeds, 0);
    pthread_mutex_destroy(&listener->lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_child_of_a_quiet_client),
        SCENE_TEST(test_children_of_a_busy_client),
        SCENE_TEST(test_the_child_may_open_its_own),
        SCENE_TEST(test_the_loop_thread_blocks_signals),
        SCENE_TEST(test_signals_stay_as_they_are),
        SCENE_TEST(test_writing_to_a_dead_peer),
        SCENE_TEST(test_no_descriptor_is_inherited),
        SCENE_TEST(test_what_would_block_the_loop_is_refused),
        SCENE_TEST(test_wait_ready),
        SCENE_TEST(test_closing_while_others_wait),
        SCENE_TEST(test_no_secret_is_told),
    };
    return cmocka_run_group_tests_name("fault/process", tests, NULL, NULL);
}
