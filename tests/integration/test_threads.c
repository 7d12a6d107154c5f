/* SPDX-License-Identifier: MIT */
/* Many threads in blocking calls on one client. */
#include "support/live.h"
#include "support/tag.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 32
#define CALLS 500

typedef struct caller {
    shoal_client_t *client;
    unsigned number;
    size_t calls, failed, mismatches;
    pthread_t thread;
} caller_t;

/* Count the call as failed, or its answer as wrong if it is not this tag. */
static void check(caller_t *caller, int rc, shoal_result_t *result, tag_t tag)
{
    size_t bytes = 0;

    if (rc != 0 || shoal_result_status(result) != 0) {
        caller->failed++;
    } else {
        const char *text = shoal_reply_string(shoal_result_reply(result), &bytes);
        caller->mismatches += !tag_matches(tag, text, bytes);
    }
    shoal_result_release(result);
}

static void *call(void *data)
{
    caller_t *caller = data;

    for (size_t i = 0; i < caller->calls; i++) {
        shoal_result_t *result = NULL;
        tag_t tag = {2, caller->number, i};
        char text[TAG_ROOM];

        (void)tag_make(tag, text);
        int rc = shoal_client_callf(caller->client, &result, "SET threads:%u %s",
                                    caller->number, text);
        caller->failed += rc != 0 || shoal_result_status(result) != 0;
        shoal_result_release(result);
        result = NULL;
        rc = shoal_client_callf(caller->client, &result, "GET threads:%u",
                                caller->number);
        check(caller, rc, result, tag); /* a thread reads what it has written */
        result = NULL;
        rc = shoal_client_callf(caller->client, &result, "ECHO %s", text);
        check(caller, rc, result, tag);
    }
    return NULL;
}

static void run(size_t threads, shoal_flush_mode_t mode)
{
    caller_t callers[THREADS];
    size_t calls = live_scaled(CALLS), failed = 0, mismatches = 0;
    shoal_options_t *options = live_options();

    assert_int_equal(shoal_options_set_flush(options, mode, 100), 0);
    assert_int_equal(shoal_options_set_timeout_us(options, 30000000), 0);
    shoal_client_t *client = live_open(options);
    for (unsigned i = 0; i < threads; i++) {
        callers[i] = (caller_t){.client = client, .number = i, .calls = calls};
        pthread_create(&callers[i].thread, NULL, call, &callers[i]);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(callers[i].thread, NULL);
        failed += callers[i].failed;
        mismatches += callers[i].mismatches;
    }
    shoal_stats_t stats = live_stats(client);
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
    assert_int_equal(failed, 0);
    assert_int_equal(mismatches, 0);
    assert_int_equal(stats.commands, 3 * calls * threads);
    assert_int_equal(stats.completed, stats.commands);
    assert_int_equal(stats.connects, 1);
}

static void test_calls_of_many_threads(void **state)
{
    (void)state;
    run(THREADS, SHOAL_FLUSH_AUTO);
}

static void test_calls_of_one_thread(void **state)
{
    (void)state;
    run(1, SHOAL_FLUSH_AUTO);
}

static void test_calls_without_holding_back(void **state)
{
    (void)state;
    run(4, SHOAL_FLUSH_OFF);
}

static void test_calls_with_a_fixed_pause(void **state)
{
    (void)state;
    run(8, SHOAL_FLUSH_FIXED);
}

/* ---- few threads, and a server close by: they run the loop themselves ---- */

#define FEW 6

static shoal_client_t *open_close_by(shoal_event_cb on_event, void *data)
{
    shoal_options_t *options = live_options();

    assert_int_equal(shoal_options_set_unix_path(options, live_socket()), 0);
    assert_int_equal(shoal_options_set_timeout_us(options, 30000000), 0);
    if (on_event)
        assert_int_equal(shoal_options_set_on_event(options, on_event, data), 0);
    return live_open(options);
}

static void join(caller_t *callers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].failed, 0);
        assert_int_equal(callers[i].mismatches, 0);
    }
}

static _Thread_local bool is_caller;
static _Atomic unsigned callbacks, events, astray;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    (void)data;
    astray += is_caller || shoal_result_status(result) != 0;
    callbacks++;
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client;
    (void)event;
    (void)data;
    astray += is_caller;
    events++;
}

static void *call_without_callbacks(void *data)
{
    is_caller = true;
    return call(data);
}

/* Other threads submit, and ask for other connections: no code of the program runs on a
 * thread in a blocking call. */
static void test_callbacks_stay_off_threads_that_write(void **state)
{
    (void)state;
    const char *const words[] = {"GET", "threads:0"};
    caller_t callers[FEW];
    unsigned submitted = 0;
    shoal_client_t *client = open_close_by(on_event, NULL);

    callbacks = events = astray = 0;
    for (unsigned i = 0; i < FEW; i++) {
        callers[i] =
            (caller_t){.client = client, .number = i, .calls = live_scaled(CALLS)};
        pthread_create(&callers[i].thread, NULL, call_without_callbacks, &callers[i]);
    }
    for (unsigned i = 0; i < 200; i++) {
        const struct timespec nap = {.tv_nsec = 500000};
        submitted +=
            shoal_client_submit(client, 2, words, NULL, on_result, NULL, NULL) == 0;
        if (i % 50 == 49)
            assert_int_equal(shoal_client_reconnect(client), 0);
        nanosleep(&nap, NULL);
    }
    join(callers, FEW);
    assert_int_equal(shoal_client_close_and_wait(client, SHOAL_TIMEOUT_NEVER), 0);
    shoal_client_release(client);
    assert_int_equal(submitted, 200);
    assert_int_equal(callbacks, submitted);
    assert_true(events > 0);
    assert_int_equal(astray, 0);
}

/* For threads that make few calls and end: each must set up anew what a call needs. */
static void *call_once(void *data)
{
    caller_t *caller = data;
    caller->calls = 1;
    return call(caller);
}

static void test_short_lived_threads(void **state)
{
    (void)state;
    shoal_client_t *client = live_open(live_options());

    for (unsigned i = 0; i < 300; i++) {
        caller_t caller = {.client = client, .number = i};
        assert_int_equal(pthread_create(&caller.thread, NULL, call_once, &caller), 0);
        pthread_join(caller.thread, NULL);
        assert_int_equal(caller.failed + caller.mismatches, 0);
    }
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_of_many_threads),
        cmocka_unit_test(test_calls_of_one_thread),
        cmocka_unit_test(test_calls_without_holding_back),
        cmocka_unit_test(test_calls_with_a_fixed_pause),
        cmocka_unit_test(test_callbacks_stay_off_threads_that_write),
        cmocka_unit_test(test_short_lived_threads),
    };
    return cmocka_run_group_tests_name("integration/threads", tests, NULL, NULL);
}
