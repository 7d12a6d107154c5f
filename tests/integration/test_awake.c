/* SPDX-License-Identifier: MIT */
/* Threads in blocking calls stay awake, and run the loop for one another.  Each of them counts
 * by INCR in a key of its own, so it knows which reply is the right one, and after a loss or a
 * deadline which ones can be.  (I1 I2 I3) */
#include "support/live.h"
#include "support/redis_process.h"

#include <pthread.h>
#include <shoal/events.h>
#include <shoal/pending.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLERS_MAX 32
#define CALLERS 8
#define CALLS 300
#define NO_END SIZE_MAX

typedef struct counting {
    shoal_client_t *client;
    char key[32];
    size_t calls;        /* NO_END: until `is_over`, or until the client is closed */
    uint64_t timeout_us; /* 0: the client's */
    uint64_t think_us;   /* between calls */
    const _Atomic bool *is_over;
    pthread_t thread;
    long long low, high; /* the number is one of these, or between them */
    _Atomic size_t replied, losses, timeouts;
    size_t wrong, early, others, untold;
    int end; /* what a call returned that was refused */
} counting_t;

/* Code of the program runs on one thread only, which is nobody's in a call. */
static _Thread_local bool is_caller;
static _Atomic unsigned losses_told, others_told, callbacks, astray;
static pthread_t library;
static _Atomic bool is_library_known;

static void note_thread(void)
{
    if (!is_library_known) {
        library = pthread_self();
        is_library_known = true;
    }
    astray += is_caller || !pthread_equal(library, pthread_self());
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client;
    (void)data;
    note_thread();
    if (shoal_event_kind(event) == SHOAL_EVENT_LOST)
        losses_told++;
    else
        others_told++;
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    (void)data;
    note_thread();
    astray += shoal_result_status(result) != 0;
    callbacks++;
}

/* ---- callers ---- */

static void take_reply(counting_t *counting, const shoal_reply_t *reply)
{
    long long value;

    if (shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        return; /* a server that is starting says LOADING */
    value = shoal_reply_integer(reply);
    counting->wrong += value <= counting->low || value > counting->high + 1;
    counting->low = counting->high = value;
    counting->replied++;
}

static void take_failure(counting_t *counting, const shoal_result_t *result,
                         uint64_t took_us)
{
    counting->high += shoal_result_fate(result) != SHOAL_FATE_NOT_EXECUTED;
    switch (shoal_result_status(result)) {
    case SHOAL_ETIMEOUT:
        counting->early += took_us < counting->timeout_us;
        counting->timeouts++;
        break;
    case SHOAL_ECONN: /* the loss was told before */
        counting->untold += ++counting->losses > losses_told;
        break;
    default:
        counting->others += shoal_result_status(result) != SHOAL_ESHUTDOWN;
    }
}

static bool count_once(counting_t *counting)
{
    const char *const incr[] = {"INCR", counting->key};
    const shoal_command_t command = {2, incr, NULL};
    shoal_call_t call = {.size = sizeof call, .timeout_us = counting->timeout_us};
    shoal_result_t *result = NULL;
    uint64_t since_us = waiting_now_us();

    counting->end = shoal_client_call_with(counting->client, &command, &call, &result);
    if (counting->end != 0)
        return false;
    if (shoal_result_status(result) == 0)
        take_reply(counting, shoal_result_reply(result));
    else
        take_failure(counting, result, waiting_now_us() - since_us);
    shoal_result_release(result);
    return true;
}

static void *count(void *data)
{
    counting_t *counting = data;

    is_caller = true;
    for (size_t i = 0; i != counting->calls; i++) {
        if ((counting->is_over && *counting->is_over) || !count_once(counting))
            break;
        if (counting->think_us)
            waiting_sleep_us(counting->think_us);
    }
    return NULL;
}

/* The caller has set what differs from zero. */
static void start(counting_t *callers, unsigned callers_count, shoal_client_t *client)
{
    for (unsigned i = 0; i < callers_count; i++) {
        callers[i].client = shoal_client_retain(client);
        snprintf(callers[i].key, sizeof callers[i].key, "awake:%u", i);
        assert_int_equal(
            pthread_create(&callers[i].thread, NULL, count, &callers[i]), 0);
    }
}

static void join(counting_t *callers, unsigned callers_count)
{
    for (unsigned i = 0; i < callers_count; i++) {
        pthread_join(callers[i].thread, NULL);
        shoal_client_release(callers[i].client);
    }
    for (unsigned i = 0; i < callers_count; i++) {
        assert_int_equal(callers[i].wrong, 0);
        assert_int_equal(callers[i].early, 0);
        assert_int_equal(callers[i].others, 0);
        assert_int_equal(callers[i].untold, 0);
    }
}

/* Have all of them got so many replies more than before? */
static bool have_replies(const counting_t *callers, const size_t *before, size_t more)
{
    for (unsigned i = 0; i < CALLERS; i++)
        if (callers[i].replied < before[i] + more)
            return false;
    return true;
}

static void wait_for_replies(const counting_t *callers, size_t more)
{
    size_t before[CALLERS];

    for (unsigned i = 0; i < CALLERS; i++)
        before[i] = callers[i].replied;
    WAIT_FOR(have_replies(callers, before, more));
}

/* Until callers drive, which they do not in a pause of core/awake_rule.h. */
static void wait_for_drives(shoal_client_t *client)
{
    uint64_t before = live_stats(client).direct_calls;

    WAIT_FOR(live_stats(client).direct_calls > before);
}

static shoal_client_t *open_noting(shoal_options_t *options)
{
    losses_told = others_told = callbacks = astray = 0;
    is_library_known = false;
    assert_int_equal(shoal_options_set_on_event(options, on_event, NULL), 0);
    return live_open(options);
}

static void flush(shoal_client_t *client)
{
    shoal_result_t *result = NULL;

    assert_int_equal(shoal_client_callf(client, &result, "FLUSHALL"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    shoal_result_release(result);
}

static void end(shoal_client_t *client)
{
    shoal_stats_t stats = live_stats(client);

    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
    assert_int_equal(stats.completed, stats.commands);
    assert_int_equal(astray, 0);
}

/* ---- one after the other ---- */

static void test_each_has_its_own_replies(void **state)
{
    static const unsigned counts[] = {2, CALLERS, CALLERS_MAX};
    (void)state;

    for (unsigned i = 0; i < 2 * sizeof counts / sizeof *counts; i++) {
        counting_t callers[CALLERS_MAX] = {0};
        shoal_options_t *options = live_options();
        if (i % 2)
            assert_int_equal(shoal_options_set_unix_path(options, live_socket()), 0);
        shoal_client_t *client = open_noting(options);
        flush(client);
        for (unsigned k = 0; k < CALLERS_MAX; k++)
            callers[k].calls = live_scaled(CALLS);
        start(callers, counts[i / 2], client);
        join(callers, counts[i / 2]);
        for (unsigned k = 0; k < counts[i / 2]; k++)
            assert_int_equal(callers[k].replied, callers[k].calls);
        end(client);
    }
}

static void test_one_that_thinks_beside_others(void **state)
{
    counting_t callers[CALLERS] = {0};
    _Atomic bool is_over = false;
    (void)state;

    shoal_client_t *client = open_noting(live_options());
    flush(client);
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = NO_END, .is_over = &is_over};
    callers[0].think_us = 1000;
    start(callers, CALLERS, client);
    wait_for_replies(callers, live_scaled(CALLS));
    wait_for_drives(client);
    is_over = true;
    join(callers, CALLERS);
    end(client);
}

/* ---- calls that come back before their result ---- */

#define PENDING 8

/* A number, and the last one before it; false: it does not follow. */
static bool follows(shoal_result_t *result, long long *last)
{
    long long value = shoal_result_status(result) == 0
                          ? shoal_reply_integer(shoal_result_reply(result))
                          : -1;

    shoal_result_release(result);
    return value == ++*last;
}

static void test_calls_of_one_thread_keep_their_order(void **state)
{
    const char *const incr[] = {"INCR", "awake:order"};
    const shoal_command_t command = {2, incr, NULL};
    counting_t callers[CALLERS] = {0};
    _Atomic bool is_over = false;
    long long last = 0;
    size_t wrong = 0;
    (void)state;

    shoal_client_t *client = open_noting(live_options());
    flush(client);
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = NO_END, .is_over = &is_over};
    start(callers, CALLERS, client);
    for (size_t i = 0; i < live_scaled(4 * (size_t)CALLS); i++) {
        shoal_pending_t *pending[PENDING];
        shoal_result_t *results[PENDING];
        for (unsigned k = 0; k < PENDING; k++) {
            int rc = shoal_client_call_begin(client, &command, NULL, 0, &pending[k],
                                             &results[k]);
            assert_true(rc == 0 || rc == SHOAL_EAGAIN);
        }
        for (unsigned k = 0; k < PENDING; k++) {
            if (pending[k])
                assert_int_equal(shoal_pending_wait(pending[k], SHOAL_TIMEOUT_NEVER,
                                                    &results[k]),
                                 0);
            wrong += !follows(results[k], &last);
        }
    }
    is_over = true;
    join(callers, CALLERS);
    assert_int_equal(wrong, 0);
    end(client);
}

/* ---- the program's code ---- */

static void test_callbacks_beside_awake_callers(void **state)
{
    const char *const words[] = {"GET", "awake:0"};
    counting_t callers[CALLERS] = {0};
    _Atomic bool is_over = false;
    size_t submitted = 0;
    (void)state;

    shoal_client_t *client = open_noting(live_options());
    flush(client);
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = NO_END, .is_over = &is_over};
    start(callers, CALLERS, client);
    for (size_t i = 0; i < live_scaled(20); i++) {
        wait_for_drives(client);
        for (size_t k = 0; k <= i % 4; k++, submitted++) {
            assert_int_equal(
                shoal_client_submit(client, 2, words, NULL, on_result, NULL, NULL), 0);
            waiting_sleep_us(i * 10);
        }
    }
    WAIT_FOR(callbacks == submitted);
    is_over = true;
    join(callers, CALLERS);
    end(client);
}

/* ---- losses and deadlines ---- */

static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "no",
                                      NULL};

static shoal_client_t *open_to(const redis_process_t *redis, uint64_t timeout_us)
{
    shoal_options_t *options = live_options_of_port(redis_process_port(redis));

    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    assert_int_equal(shoal_options_set_timeout_us(options, timeout_us), 0);
    return open_noting(options);
}

static void test_losses(void **state)
{
    enum { ROUNDS = 10, PROGRESS = 100 };
    counting_t callers[CALLERS] = {0};
    _Atomic bool is_over = false;
    size_t losses = 0;
    (void)state;

    redis_process_t *redis = redis_process_start(durable);
    if (!redis)
        skip();
    shoal_client_t *client = open_to(redis, WAITING_US_MAX);
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = NO_END, .is_over = &is_over};
    start(callers, CALLERS, client);
    for (unsigned i = 0; i < ROUNDS; i++) {
        wait_for_replies(callers, PROGRESS);
        wait_for_drives(client);
        if (i % 2) {
            redis_process_kill(redis);
            assert_true(redis_process_restart(redis));
        } else {
            assert_true(redis_ask(redis_process_port(redis),
                                  "CLIENT KILL TYPE normal SKIPME yes", NULL, 0));
        }
    }
    wait_for_replies(callers, PROGRESS);
    is_over = true;
    join(callers, CALLERS);
    for (unsigned i = 0; i < CALLERS; i++)
        losses += callers[i].losses;
    assert_true(losses > 0);
    assert_true(losses_told >= ROUNDS);
    end(client);
    redis_process_stop(redis);
}

static bool have_all_timed_out(const counting_t *callers)
{
    for (unsigned i = 0; i < CALLERS; i++)
        if (callers[i].timeouts == 0)
            return false;
    return true;
}

static void test_deadlines_of_a_server_that_stands_still(void **state)
{
    enum { ROUNDS = 3, PROGRESS = 100 };
    counting_t callers[CALLERS];
    (void)state;

    redis_process_t *redis = redis_process_start(NULL);
    if (!redis)
        skip();
    shoal_client_t *client = open_to(redis, WAITING_US_MAX);
    for (unsigned round = 0; round < ROUNDS; round++) {
        _Atomic bool is_over = false;
        flush(client);
        for (unsigned i = 0; i < CALLERS; i++)
            callers[i] = (counting_t){
                .calls = NO_END, .is_over = &is_over, .timeout_us = 50000 * (i + 1)};
        start(callers, CALLERS, client);
        wait_for_replies(callers, PROGRESS);
        wait_for_drives(client);
        redis_process_pause(redis);
        WAIT_FOR(have_all_timed_out(callers));
        redis_process_resume(redis);
        wait_for_replies(callers, PROGRESS);
        is_over = true;
        join(callers, CALLERS);
    }
    assert_int_equal(losses_told, 0);
    end(client);
    redis_process_stop(redis);
}

/* ---- the end, and a copy ---- */

static void test_close_under_awake_callers(void **state)
{
    enum { ROUNDS = 20 };
    (void)state;

    for (unsigned round = 0; round < ROUNDS; round++) {
        counting_t callers[CALLERS] = {0};
        shoal_client_t *client = open_noting(live_options());
        flush(client);
        for (unsigned i = 0; i < CALLERS; i++)
            callers[i].calls = NO_END;
        start(callers, CALLERS, client);
        wait_for_replies(callers, 1);
        wait_for_drives(client);
        assert_int_equal(
            shoal_client_close_and_wait(client, round % 2 ? WAITING_US_MAX : 0), 0);
        shoal_client_release(client);
        join(callers, CALLERS);
        for (unsigned i = 0; i < CALLERS; i++)
            assert_int_equal(callers[i].end, SHOAL_ECLOSED);
    }
}

static int run_child(shoal_client_t *client)
{
    const char *const argv[] = {"INCR", "awake:0"};
    shoal_result_t *result = NULL;

    return shoal_client_call(client, 2, argv, NULL, &result) == SHOAL_EFORK ? 0 : 1;
}

static void test_forks_under_awake_callers(void **state)
{
    enum { ROUNDS = 10 };
    counting_t callers[CALLERS] = {0};
    _Atomic bool is_over = false;
    (void)state;

    shoal_client_t *client = open_noting(live_options());
    flush(client);
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = NO_END, .is_over = &is_over};
    start(callers, CALLERS, client);
    for (unsigned round = 0; round < ROUNDS; round++) {
        int status = -1;
        wait_for_drives(client);
        pid_t child = fork();
        if (child == 0)
            _exit(run_child(client));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    wait_for_replies(callers, 20);
    is_over = true;
    join(callers, CALLERS);
    end(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_has_its_own_replies),
        cmocka_unit_test(test_one_that_thinks_beside_others),
        cmocka_unit_test(test_calls_of_one_thread_keep_their_order),
        cmocka_unit_test(test_callbacks_beside_awake_callers),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_deadlines_of_a_server_that_stands_still),
        cmocka_unit_test(test_close_under_awake_callers),
        cmocka_unit_test(test_forks_under_awake_callers),
    };
    return cmocka_run_group_tests_name("integration/awake", tests, NULL, NULL);
}
