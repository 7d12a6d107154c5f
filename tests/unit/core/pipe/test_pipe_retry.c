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
    assert_false(pipe_is_idle(&rig.pipe));

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

/* ---- a switch of roles ---- */

/* Let so much time pass, with a server that turns everything away.  Returns how often it
 * was asked. */
static unsigned stay_readonly(uint64_t us)
{
    uint64_t end_us = rig.now_us + us;
    unsigned asked = 0;

    while (rig.now_us < end_us) {
        if (rig_tick(rig.now_us) < 0) { /* renewed */
            rig_lose();
            rig_connect();
            rig_tick(rig.now_us);
        }
        for (const char *letters = rig_write_all(); *letters; letters++, asked++)
            assert_int_equal(rig_feed("-READONLY x\r\n"), 0);
        uint64_t wake_us = shoal__pipe_next_wake_us(&rig.pipe);
        bool is_renewing = shoal__renewal_is_under_way(&rig.pipe.renewal);
        assert_true(wake_us > rig.now_us);
        if (!is_renewing)
            rig.now_us = wake_us;
    }
    rig.now_us = end_us;
    return asked;
}

/* However many wait, and whatever the attempts: nobody hears of it.  (I13: but they ask
 * seldom.) */
static void test_a_switch_of_roles_is_waited_for(void **state)
{
    (void)state;
    rig_connect();
    for (const char *name = "abcdefghijklmnopqrst"; *name; name++)
        rig_submit(*name, 0, *name < 'k' ? WRITE : RO);
    rig_write_all();
    for (int i = 0; i < 20; i++)
        rig_feed(i < 10 ? "-READONLY x\r\n" : "-MASTERDOWN x\r\n");
    assert_in_range(stay_readonly(500000), 20 * 4, 20 * 8);
    assert_heard("");
    rig_tick(rig.now_us + 256000);
    if (rig.pipe.phase != SHOAL__PIPE_READY)
        rig_connect();
    const char *letters = rig_write_all();
    assert_string_equal(letters, "abcdefghijklmnopqrst"); /* in their order */
    for (int i = 0; i < 20; i++)
        rig_feed("+x\r\n");
    assert_heard(
        "a=+x b=+x c=+x d=+x e=+x f=+x g=+x h=+x i=+x j=+x k=+x l=+x m=+x n=+x "
        "o=+x p=+x q=+x r=+x s=+x t=+x ");
    assert_true(shoal__retries_allowed(&rig.pipe.retries));
}

/* Each renewal costs every caller something: there are fewer and fewer, until one that was
 * turned away has worked. */
static void test_renewals_for_a_role_are_spaced_out(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_write_all();
    rig_feed("-READONLY x\r\n");
    stay_readonly(10000000);
    assert_int_equal(rig.pipe.renewal.spacing_us, 8000000); /* 0, 1, 3 and 7 s */
    rig_submit('b', 0, RO); /* sent again, but for another reason */
    assert_string_equal(rig_write_all(), "b");
    rig_feed("-LOADING x\r\n");
    rig_tick(rig.now_us + 256000);
    assert_string_equal(rig_write_all(), "ba");
    rig_feed("+x\r\n");
    assert_int_equal(rig.pipe.renewal.spacing_us, 8000000);
    rig_feed("+x\r\n");
    assert_heard("b=+x a=+x ");
    assert_int_equal(rig.pipe.renewal.spacing_us, 1000000);
}

/* The last answer before the deadline is the result: there is no use in waiting on. */
static void test_a_switch_that_does_not_end(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', 0, WRITE);

    rig_connect();
    request.deadline_us = rig.now_us + 3000000;
    rig_push(&request);
    rig_submit('b', 0, WRITE); /* without a deadline */
    rig_write_all();
    rig_feed("-READONLY x\r\n-READONLY x\r\n");
    stay_readonly(2600000);
    assert_heard("");
    stay_readonly(400000);
    assert_heard("a=-READONLY x ");
    stay_readonly(26600000);
    assert_heard("");
    stay_readonly(400000);
    assert_heard("b=-READONLY x ");
}

static void test_one_attempt_waits_for_no_switch(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', SHOAL__REQUEST_ONCE, WRITE);
    rig_submit('b', 0, SHOAL__CLASS_SCRIPT);
    rig_write_all();
    rig_feed("-READONLY x\r\n-READONLY x\r\n");
    rig.config.attempts_max = 1;
    rig_submit('c', 0, WRITE);
    rig_write_all();
    rig_feed("-READONLY x\r\n");
    assert_heard("a=-READONLY x b=-READONLY x c=-READONLY x ");
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
    assert_true(pipe_is_idle(&rig.pipe));

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
        TEST(test_a_switch_of_roles_is_waited_for),
        TEST(test_renewals_for_a_role_are_spaced_out),
        TEST(test_a_switch_that_does_not_end),
        TEST(test_one_attempt_waits_for_no_switch),
        TEST(test_no_memory_to_keep_a_command),
        TEST(test_a_waiting_retry_can_be_given_up),
        TEST(test_a_waiting_retry_lets_the_loop_sleep),
        TEST(test_no_memory_for_a_retry),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_retry", tests, NULL, NULL);
}
