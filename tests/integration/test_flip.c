/* SPDX-License-Identifier: MIT */
/* One thread and many by turns, so that the loop passes from thread to thread. */
#include "support/live.h"
#include "support/tag.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* SHOAL_TEST_SCALE=20 makes it 10 000, the full size. */
#define FLIPS 500
#define THREADS_MAX 64

typedef struct stage {
    shoal_client_t *client;
    pthread_barrier_t raised;  /* here all threads begin their calls of a flip */
    pthread_barrier_t lowered; /* here all threads have ended them */
    size_t flips;
} stage_t;

typedef struct caller {
    stage_t *stage;
    unsigned number;
    size_t accepted, failed, mismatches;
    pthread_t thread;
} caller_t;

static void echo(caller_t *caller, uint64_t serial)
{
    shoal_result_t *result = NULL;
    tag_t tag = {3, caller->number, serial};
    char text[TAG_ROOM];
    size_t bytes = 0;

    (void)tag_make(tag, text);
    int rc = shoal_client_callf(caller->stage->client, &result, "ECHO %s", text);
    caller->accepted += rc == 0;
    if (rc != 0 || shoal_result_status(result) != 0) {
        caller->failed++;
    } else {
        const char *got = shoal_reply_string(shoal_result_reply(result), &bytes);
        caller->mismatches += !tag_matches(tag, got, bytes);
    }
    shoal_result_release(result);
}

static void ignore(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    (void)result;
    (void)data;
}

/* In each flip one thread first calls alone, and a different number of times: too few
 * for the direct path, or so many that it takes it.  Then all threads call at once; in
 * every fourth flip beside a command with a callback, which callers do not serve: the
 * library's thread takes the loop, and they sleep. */
static void *dance(void *data)
{
    caller_t *caller = data;
    stage_t *stage = caller->stage;
    uint64_t serial = 0;

    for (size_t flip = 0; flip < stage->flips; flip++) {
        if (caller->number == flip % 2)
            for (size_t i = 0; i < flip % 24; i++)
                echo(caller, serial++);
        if (caller->number == 0 && flip % 4 == 0)
            caller->accepted +=
                shoal_client_submitf(stage->client, ignore, NULL, "PING") == 0;
        pthread_barrier_wait(&stage->raised);
        for (size_t i = 0; i <= flip % 3; i++)
            echo(caller, serial++);
        pthread_barrier_wait(&stage->lowered);
    }
    return NULL;
}

static shoal_stats_t run(unsigned threads, size_t flips)
{
    caller_t *callers = calloc(threads, sizeof *callers);
    shoal_options_t *options = live_options();
    size_t accepted = 0, failed = 0, mismatches = 0;
    stage_t stage = {.flips = flips};

    assert_non_null(callers);
    assert_int_equal(shoal_options_set_timeout_us(options, 30000000), 0);
    stage.client = live_open(options);
    pthread_barrier_init(&stage.raised, NULL, threads);
    pthread_barrier_init(&stage.lowered, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        callers[i] = (caller_t){.stage = &stage, .number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, dance, &callers[i]),
                         0);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(callers[i].thread, NULL);
        accepted += callers[i].accepted;
        failed += callers[i].failed;
        mismatches += callers[i].mismatches;
    }
    free(callers);
    /* The last caller has its answer before the turn that answered publishes its
     * figures. */
    shoal_stats_t stats;
    WAIT_FOR((stats = live_stats(stage.client),
              stats.queued_now + stats.inflight_now + stats.bytes_now == 0));
    assert_int_equal(shoal_client_close_and_wait(stage.client, 0), 0);
    shoal_client_release(stage.client);
    pthread_barrier_destroy(&stage.raised);
    pthread_barrier_destroy(&stage.lowered);
    assert_int_equal(failed, 0);
    assert_int_equal(mismatches, 0);
    assert_int_equal(stats.commands, accepted);
    assert_int_equal(stats.completed, accepted);
    assert_int_equal(stats.connects, 1);
    return stats;
}

static void check(unsigned threads, size_t flips)
{
    shoal_stats_t stats = run(threads, live_scaled(flips));

    /* Threads drove, handed the loop over, and slept, all of it many times. */
    assert_true(stats.direct_calls > live_scaled(flips) / 24);
    assert_true(stats.handovers > live_scaled(flips) / 24);
    assert_true(stats.caller_wakeups > live_scaled(flips) / 24);
}

static void test_one_and_two(void **state)
{
    (void)state;
    check(2, 5 * FLIPS);
}

static void test_one_and_sixty_four(void **state)
{
    (void)state;
    check(THREADS_MAX, FLIPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_and_two),
        cmocka_unit_test(test_one_and_sixty_four),
    };
    return cmocka_run_group_tests_name("integration/flip", tests, NULL, NULL);
}
