/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

/* ---- silence ---- */

static void test_a_silent_server_is_given_up(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_write_all();
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), 1000 + 5000000);
    assert_int_equal(rig_tick(1000 + 4999999), 0);
    rig_feed("+a\r\n");
    assert_int_equal(rig_tick(rig.now_us + 5000000), 0); /* nothing is due */
    rig_submit('b', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_tick(rig.now_us + 4999999), 0);
    shoal__pipe_heard(&rig.pipe, rig.now_us); /* no whole reply */
    assert_int_equal(rig_tick(rig.now_us + 4999999), 0);
    assert_int_equal(rig_tick(rig.now_us + 1), SHOAL_ECONN);
    assert_string_equal(rig.pipe.detail, "the server stopped answering");
}

static void test_writing_does_not_hide_silence(void **state)
{
    (void)state;
    uint64_t start_us = rig.now_us;
    int rc = 0;

    rig_connect();
    for (uint64_t age_us = 0; rc == 0; age_us += 1000) {
        assert_true(age_us <= rig.config.stall_us);
        rc = rig_tick(start_us + age_us);
        rig_submit('a', 0, WRITE);
        rig_write_all();
    }
    assert_int_equal(rig.now_us - start_us, rig.config.stall_us);
}

static void test_a_server_that_takes_no_more_is_silent_too(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_write(5);
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 5000000);
    rig_tick(rig.now_us + 4000000);
    rig_write(1); /* it took something */
    assert_int_equal(rig_tick(rig.now_us + 4999999), 0);
    assert_int_equal(rig_tick(rig.now_us + 1), SHOAL_ECONN);
}

/* What a server said of its silence does not hold for the next connection. */
static void test_an_announced_silence(void **state)
{
    (void)state;
    rig_connect();
    rig.pipe.is_resp3 = true;
    assert_int_equal(rig_feed(">3\r\n+MIGRATING\r\n:1\r\n:10\r\n"), 0);
    rig_submit('a', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_tick(rig.now_us + 9999999), 0);
    rig_feed("+a\r\n");
    rig_lose();
    rig_connect();
    rig_submit('b', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_tick(rig.now_us + 4999999), 0);
    assert_int_equal(rig_tick(rig.now_us + 1), SHOAL_ECONN);
}

static void test_an_idle_connection_is_asked(void **state)
{
    (void)state;
    rig.config.ping_idle_us = 3000;
    rig_connect();
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), 1000 + 3000);
    rig_tick(1000 + 2999);
    assert_int_equal(rig_output().bytes, 0);
    rig_tick(1000 + 3000);
    assert_memory_equal(rig_output().data, "*1\r\n$4\r\nPING\r\n", 14);
    rig_write(14);
    assert_true(pipe_is_idle(&rig.pipe));
    assert_int_equal(rig_feed("-LOADING x\r\n"), 0); /* an answer is an answer */
    assert_heard("");
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 3000);
    assert_int_equal(counter(&rig.pipe.stats.completed), 0);
}

static void test_only_an_idle_connection_is_asked(void **state)
{
    (void)state;
    rig.config.ping_idle_us = 3000;
    rig_connect();
    rig_submit('a', 0, WRITE); /* about to be written */
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), SHOAL__NEVER_US);
    assert_int_equal(rig_tick(rig.now_us + 3000), 0);
    assert_int_equal(rig_output().bytes, COMMAND_BYTES);
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_heard("a=+a ");
    rig_lose();
    assert_int_equal(rig_tick(rig.now_us + 3000), 0);
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), 0);
}

static void test_no_memory_for_a_ping(void **state)
{
    (void)state;
    rig.config.ping_idle_us = 3000;
    rig_connect();
    shoal__test_fail_alloc_after(0);
    int rc = rig_tick(rig.now_us + 3000);
    shoal__test_fail_alloc_never();
    assert_int_equal(rc, 0);
    assert_int_equal(rig_output().bytes, 0);
    assert_int_equal(rig_tick(rig.now_us), 0);
    assert_int_equal(rig_output().bytes, 14);
}

static void test_a_ping_that_is_not_answered(void **state)
{
    (void)state;
    rig.config.ping_idle_us = 3000;
    rig_connect();
    rig_tick(rig.now_us + 3000);
    rig_write(14);
    assert_int_equal(rig_tick(rig.now_us + 5000000), SHOAL_ECONN);
    rig_lose();
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), 0);
}

static void test_a_blocking_command_may_be_silent(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', 0, SHOAL__CLASS_BLOCK);

    request.deadline_us = rig.now_us + 9000000;
    rig_connect();
    rig_push(&request);
    rig_write_all();
    assert_int_equal(rig_tick(rig.now_us + 8999999), 0);
    assert_int_equal(rig_tick(rig.now_us + 1), SHOAL_ECONN);
}

/* ---- offline ---- */

static void test_what_may_not_wait_fails_in_the_next_tick(void **state)
{
    (void)state;
    rig.config.queue_offline = false;
    rig_connect();
    rig_lose();
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), SHOAL__NEVER_US);
    rig_submit('a', 0, WRITE);
    assert_heard("");
    assert_true(shoal__pipe_next_wake_us(&rig.pipe) <= rig.now_us + 1000);
    rig_tick(rig.now_us);
    assert_heard("a!ECONN/no ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_silent_server_is_given_up),
        TEST(test_writing_does_not_hide_silence),
        TEST(test_a_server_that_takes_no_more_is_silent_too),
        TEST(test_an_announced_silence),
        TEST(test_an_idle_connection_is_asked),
        TEST(test_only_an_idle_connection_is_asked),
        TEST(test_no_memory_for_a_ping),
        TEST(test_a_ping_that_is_not_answered),
        TEST(test_a_blocking_command_may_be_silent),
        TEST(test_what_may_not_wait_fails_in_the_next_tick),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_time", tests, NULL, NULL);
}
