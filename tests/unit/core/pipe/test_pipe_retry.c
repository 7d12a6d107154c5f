/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

/* ---- errors that prove that nothing was executed ---- */

static void test_a_rejected_command_is_sent_again_later(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    rig_feed("-LOADING x\r\n+b\r\n");
    assert_heard("b=+b ");
    assert_false(shoal__pipe_is_idle(&rig.pipe));

    uint64_t due_us = shoal__pipe_next_wake_us(&rig.pipe);
    assert_true(due_us >= rig.now_us && due_us <= rig.now_us + 8000);
    rig_submit('c', 0, WRITE);
    assert_string_equal(rig_write_all(), "c");
    rig_tick(due_us);
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+c\r\n+a\r\n");
    assert_heard("c=+c a=+a ");
    assert_int_equal(rig.attempts, 2);
    assert_int_equal(counter(&rig.pipe.stats.retries), 1);
}

static void test_attempts_are_bounded(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    for (int attempt = 1; attempt <= 3; attempt++) {
        assert_heard("");
        assert_string_equal(rig_write_all(), "a");
        rig_feed("-LOADING x\r\n");
        rig_tick(rig.now_us + 1000000);
    }
    assert_heard("a=-LOADING x ");
    assert_int_equal(rig.attempts, 3);
}

/* The allowance is for five at once: the next one hears the error. */
static void test_retries_are_bounded(void **state)
{
    (void)state;
    rig_connect();
    for (const char *name = "abcdef"; *name; name++)
        rig_submit(*name, 0, WRITE);
    rig_write_all();
    for (int i = 0; i < 6; i++)
        rig_feed("-LOADING x\r\n");
    assert_heard("f=-LOADING x ");
    assert_int_equal(counter(&rig.pipe.stats.retries), 5);
}

static void test_no_memory_to_keep_a_command(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_write_all();
    shoal__test_fail_alloc_after(0);
    int rc = rig_feed("-LOADING x\r\n");
    shoal__test_fail_alloc_never();
    assert_int_equal(rc, 0);
    assert_heard("a=-LOADING x ");
    assert_int_equal(counter(&rig.pipe.stats.retries), 0);
}

static void test_a_waiting_retry_can_be_given_up(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', 0, WRITE);

    request.deadline_us = rig.now_us + 5;
    rig_connect();
    rig_push(&request);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    rig_feed("-LOADING x\r\n-LOADING x\r\n");
    assert_true(rig_cancel('b'));
    assert_false(rig_cancel('b'));
    rig_tick(rig.now_us + 5);
    assert_heard("b!ECANCELLED/no a!ETIMEOUT/no ");
    assert_true(shoal__pipe_is_idle(&rig.pipe));

    /* The attempt before the last may have been executed. */
    rig_submit('c', 0, RO);
    rig_write_all();
    rig_lose();
    rig_connect();
    rig_write_all();
    rig_feed("-LOADING x\r\n");
    assert_true(rig_cancel('c'));
    assert_heard("c!ECANCELLED/maybe ");
}

/* While it may not be sent anyway, its time is no reason to wake up. */
static void test_a_waiting_retry_lets_the_loop_sleep(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_write_all();
    rig_feed("-LOADING x\r\n");
    rig_lose();
    rig_tick(rig.now_us + 1000000);
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), SHOAL__NEVER_US);
    rig_connect();
    rig_tick(rig.now_us);
    assert_string_equal(rig_write_all(), "a");
    assert_heard("");
}

static void test_no_memory_for_a_retry(void **state)
{
    for (unsigned losses = 0; losses < 2; losses++) {
        rig_tear_down(state);
        rig_set_up(state);
        rig_connect();
        rig_submit('a', 0, RO);
        if (losses > 0) {
            rig_write_all();
            rig_lose(); /* it may have been executed */
            rig_connect();
        }
        rig_write_all();
        rig_feed("-LOADING x\r\n");
        while (shoal__buffer_bytes(&rig.pipe.log) + COMMAND_BYTES +
                   SHOAL__FENCE_BYTES <=
               rig.pipe.log.capacity)
            rig_submit('b', 0, WRITE);
        shoal__test_fail_alloc_after(0);
        rig_tick(rig.now_us + 1000000);
        shoal__test_fail_alloc_never();
        assert_heard(losses > 0 ? "a!ENOMEM/maybe " : "a!ENOMEM/no ");
        rig_lose();
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_rejected_command_is_sent_again_later),
        TEST(test_attempts_are_bounded),
        TEST(test_retries_are_bounded),
        TEST(test_no_memory_to_keep_a_command),
        TEST(test_a_waiting_retry_can_be_given_up),
        TEST(test_a_waiting_retry_lets_the_loop_sleep),
        TEST(test_no_memory_for_a_retry),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_retry", tests, NULL, NULL);
}
