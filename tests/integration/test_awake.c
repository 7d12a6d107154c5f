/* SPDX-License-Identifier: MIT */
/* Threads in blocking calls stay awake, and run the loop for one another.  (I1) */
#include "support/counting.h"

#include <shoal/pending.h>

#define CALLERS_MAX 32
#define CALLERS 8
#define CALLS 300

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
        shoal_client_t *client = counting_open(options);
        for (unsigned k = 0; k < CALLERS_MAX; k++)
            callers[k].calls = live_scaled(CALLS);
        counting_start(callers, counts[i / 2], client);
        counting_join(callers, counts[i / 2]);
        for (unsigned k = 0; k < counts[i / 2]; k++)
            assert_int_equal(callers[k].replied, callers[k].calls);
        counting_close(client);
    }
}

static void test_one_that_thinks_beside_others(void **state)
{
    counting_t callers[CALLERS] = {0};
    _Atomic bool is_over = false;
    (void)state;

    shoal_client_t *client = counting_open(live_options());
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = COUNTING_NO_END, .is_over = &is_over};
    callers[0].think_us = 1000;
    counting_start(callers, CALLERS, client);
    counting_wait_for_replies(callers, CALLERS, live_scaled(CALLS));
    counting_wait_for_drives(client);
    is_over = true;
    counting_join(callers, CALLERS);
    counting_close(client);
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

    shoal_client_t *client = counting_open(live_options());
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = COUNTING_NO_END, .is_over = &is_over};
    counting_start(callers, CALLERS, client);
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
                assert_int_equal(
                    shoal_pending_wait(pending[k], SHOAL_TIMEOUT_NEVER, &results[k]),
                    0);
            wrong += !follows(results[k], &last);
        }
    }
    is_over = true;
    counting_join(callers, CALLERS);
    assert_int_equal(wrong, 0);
    counting_close(client);
}

/* ---- the program's code ---- */

static void test_callbacks_beside_awake_callers(void **state)
{
    counting_t callers[CALLERS] = {0};
    _Atomic bool is_over = false;
    size_t submitted = 0;
    (void)state;

    shoal_client_t *client = counting_open(live_options());
    for (unsigned i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = COUNTING_NO_END, .is_over = &is_over};
    counting_start(callers, CALLERS, client);
    for (size_t i = 0; i < live_scaled(20); i++) {
        counting_wait_for_drives(client);
        for (size_t k = 0; k <= i % 4; k++, submitted++) {
            counting_submit(client);
            waiting_sleep_us(i * 10);
        }
    }
    WAIT_FOR(counting_callbacks() == submitted);
    is_over = true;
    counting_join(callers, CALLERS);
    counting_close(client);
}

/* ---- no room ---- */

static void test_callers_wait_for_room(void **state)
{
    counting_t callers[CALLERS];
    shoal_options_t *options = live_options();
    (void)state;

    assert_int_equal(shoal_options_set_outstanding_max(options, 2, 100, 1000000), 0);
    shoal_client_t *client = counting_open(options);
    for (size_t i = 0; i < CALLERS; i++)
        callers[i] = (counting_t){.calls = live_scaled(10 * (size_t)CALLS),
                                  .flags = SHOAL_CALL_WAIT_FOR_ROOM};
    counting_start(callers, CALLERS, client);
    counting_join(callers, CALLERS);
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(callers[i].end, 0);
        assert_int_equal(callers[i].replied, callers[i].calls);
    }
    counting_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_has_its_own_replies),
        cmocka_unit_test(test_one_that_thinks_beside_others),
        cmocka_unit_test(test_calls_of_one_thread_keep_their_order),
        cmocka_unit_test(test_callbacks_beside_awake_callers),
        cmocka_unit_test(test_callers_wait_for_room),
    };
    return cmocka_run_group_tests_name("integration/awake", tests, NULL, NULL);
}
