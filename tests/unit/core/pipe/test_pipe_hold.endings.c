/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/hold_rig.h"

/* Held commands that are not answered, and want of memory. */

static void test_a_held_command_can_be_given_up(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', 0, WRITE);

    request.deadline_us = rig.now_us + 20000;
    rig_connect();
    rig_push(&request);
    rig_submit('b', 0, WRITE);
    rig_submit('c', 0, WRITE);
    rig_write_all();
    rig_feed(LOADING LOADING LOADING);
    assert_true(rig_cancel('b'));
    assert_false(rig_cancel('b'));
    pass_pause();
    rig_write_all();
    rig_tick(rig.now_us + 20000); /* a is a zombie now */
    assert_heard("b!ECANCELLED/no a!ETIMEOUT/maybe ");
    rig_feed(LOADING);
    assert_string_equal(rig_write_all(), "c");
    rig_feed("+c\r\n");
    assert_heard("c=+c ");
    assert_true(pipe_is_idle(&rig.pipe));

    /* The attempt before the last may have been executed. */
    rig_submit('d', 0, RO);
    rig_write_all();
    rig_lose();
    rig_connect();
    rig_write_all();
    rig_feed(LOADING);
    assert_true(rig_cancel('d'));
    assert_heard("d!ECANCELLED/maybe ");
    rig_tick(rig.now_us);
    assert_int_equal(rig.pipe.hold.state, SHOAL__HOLD_OPEN);
}

static void test_a_deadline_in_the_pen(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', 0, WRITE);

    request.deadline_us = rig.now_us + 1000000;
    rig_connect();
    rig_push(&request);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    rig_feed(LOADING); /* b is never answered */
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), request.deadline_us);
    assert_true(shoal__pipe_has_since(&rig.pipe, rig.now_us));
    rig_tick(request.deadline_us);
    assert_heard("a!ETIMEOUT/no ");
    assert_int_equal(counter(&rig.pipe.stats.timeouts), 1);
    assert_true(shoal__pipe_has_since(&rig.pipe, rig.now_us));
}

/* Held commands go before those that were in flight at the loss. */
static void test_a_loss_keeps_the_order(void **state)
{
    (void)state;
    rig_connect();
    for (const char *at = "abc"; *at; at++)
        rig_submit(*at, 0, RO);
    rig_write_all();
    rig_feed(LOADING LOADING);
    rig_submit('d', 0, WRITE);
    rig_lose();
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), SHOAL__NEVER_US);
    rig_connect();
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "b");
    rig_feed("+b\r\n");
    assert_string_equal(rig_write_all(), "c"); /* it was lost: it travels alone */
    rig_feed("+c\r\n");
    assert_string_equal(rig_write_all(), "d");
    assert_heard("a=+a b=+b c=+c ");
}

/* What was in flight behind a refused command may have been executed before it. */
static void test_lost_commands_may_have_overtaken(void **state)
{
    (void)state;
    rig_connect();
    for (const char *at = "abcd"; *at; at++)
        rig_submit(*at, 0, *at == 'd' ? RO : WRITE);
    rig_write_all();
    rig_feed(LOADING);
    assert_true(rig_cancel('b'));
    rig_submit('e', 0, WRITE); /* is not written */
    rig_lose();                /* d is sent again */
    assert_heard("b!ECANCELLED/maybe c!ECONN/maybe ");

    rig_connect();
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_true(rig.was_reordered);
    assert_string_equal(rig_write_all(), "de");
    rig_feed("+d\r\n+e\r\n");
    assert_false(rig.was_reordered);
    assert_heard("a=+a d=+d e=+e ");
    assert_int_equal(counter(&rig.pipe.stats.reordered), 1);
}

/* What its answer says is not looked at. */
static void test_one_that_was_given_up_may_have_overtaken(void **state)
{
    (void)state;
    rig_connect();
    for (const char *at = "ab"; *at; at++)
        rig_submit(*at, 0, WRITE);
    rig_write_all();
    rig_feed(LOADING);
    assert_true(rig_cancel('b'));
    rig_feed("+b\r\n");
    assert_heard("b!ECANCELLED/maybe ");
    pass_pause();
    rig_write_all();
    rig_feed("+a\r\n");
    assert_true(rig.was_reordered);
}

/* order=strict: nothing overtook the one that goes on. */
static void test_strict_order_ends_only_what_was_overtaken(void **state)
{
    (void)state;
    rig.config.is_strict_order = true;
    rig_connect();
    shoal__pipe_end_overtaken(&rig.pipe); /* nothing was ever held */
    refuse("abc", WRITE, LOADING);
    assert_true(rig_cancel('b'));
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "c");
    rig_feed("+c\r\n");
    assert_heard("b!ECANCELLED/no a=+a c=+c ");
}

static void test_a_close_ends_held_commands(void **state)
{
    (void)state;
    rig_connect();
    refuse("ab", WRITE, LOADING);
    shoal__pipe_abandon(&rig.pipe, rig.now_us);
    assert_heard("a!ESHUTDOWN/no b!ESHUTDOWN/no ");
    assert_int_equal(counter(&rig.pipe.stats.failures), 2);
}

/* ---- memory ---- */

static void test_no_memory_to_keep_a_command(void **state)
{
    (void)state;
    for (unsigned allowed = 0; allowed < 4; allowed++) {
        rig_tear_down(state);
        rig_set_up(state);
        rig_connect();
        rig_submit('a', 0, WRITE);
        rig_write_all();
        shoal__test_fail_alloc_after(allowed);
        int rc = rig_feed(LOADING);
        shoal__test_fail_alloc_never();
        assert_int_equal(rc, 0);
        assert_heard("a=-LOADING x ");
        assert_int_equal(counter(&rig.pipe.stats.retries), 0);
    }
}

static void fill_log(void)
{
    while (shoal__buffer_bytes(&rig.pipe.log) + COMMAND_BYTES + SHOAL__FENCE_BYTES <=
           rig.pipe.log.capacity)
        rig_submit('b', 0, WRITE);
}

static void test_no_memory_to_put_commands_back(void **state)
{
    (void)state;
    rig_connect();
    refuse("a", WRITE, LOADING);
    fill_log();
    shoal__test_fail_alloc_after(0);
    pass_pause();
    shoal__test_fail_alloc_never();
    assert_string_equal(rig_write_all(), "");
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 1000);
    rig_tick(rig.now_us + 1000);
    assert_string_equal(rig_write_all(), "a");

    rig_feed(LOADING);
    fill_log();
    shoal__test_fail_alloc_after(0);
    rig_lose(); /* it follows later */
    shoal__test_fail_alloc_never();
    assert_int_equal(shoal__pipe_held(&rig.pipe), 1);
    rig_connect();
    assert_string_equal(rig_write_all(), "");
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_held_command_can_be_given_up),
        TEST(test_a_deadline_in_the_pen),
        TEST(test_a_loss_keeps_the_order),
        TEST(test_lost_commands_may_have_overtaken),
        TEST(test_one_that_was_given_up_may_have_overtaken),
        TEST(test_strict_order_ends_only_what_was_overtaken),
        TEST(test_a_close_ends_held_commands),
        TEST(test_no_memory_to_keep_a_command),
        TEST(test_no_memory_to_put_commands_back),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_hold.endings", tests, NULL,
                                       NULL);
}
