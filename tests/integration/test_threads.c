/* SPDX-License-Identifier: MIT */
/* Many threads in blocking calls on one client. */
#include "support/live.h"
#include "support/tag.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        cmocka_unit_test(test_short_lived_threads),
    };
    return cmocka_run_group_tests_name("integration/threads", tests, NULL, NULL);
}
