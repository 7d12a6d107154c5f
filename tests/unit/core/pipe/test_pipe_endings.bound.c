/* SPDX-License-Identifier: MIT */
/* The endings of commands that have a connection alone: each may rely on those before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

#define STATE SHOAL__REQUEST_STATE

static void lose_bound(size_t written_bytes, bool is_broken)
{
    shoal__pipe_bind(&rig.pipe, true);
    rig_submit('a', 0, WRITE);
    if (written_bytes > 0)
        rig_write(written_bytes);
    rig_lose();
    assert_int_equal(rig.pipe.is_broken, is_broken);
    shoal__pipe_bind(&rig.pipe, false);
    shoal__pipe_abandon(&rig.pipe, rig.now_us);
}

/* It is broken once a byte of its commands left. */
static void test_a_loss_of_what_is_bound(void **state)
{
    (void)state;
    rig_connect();
    lose_bound(0, false);
    rig_connect();
    lose_bound(1, true);
    rig_connect();
    lose_bound(COMMAND_BYTES, true);
    lose_bound(0, false); /* there was no connection */
}

static unsigned asked;
static bool is_let_go;

static bool on_blocked(void *owner, const shoal__request_t *request,
                       shoal__ending_t ending)
{
    (void)owner;
    assert_int_equal(request->command_class, SHOAL__CLASS_BLOCK);
    assert_int_equal(ending, SHOAL__ENDING_CANCEL);
    asked++;
    return is_let_go;
}

/* The owner is asked for the command at which the server is, and for no other. */
static void test_a_blocked_command_that_is_cancelled(void **state)
{
    (void)state;
    rig_connect();
    rig.pipe.hooks.on_blocked = on_blocked;
    asked = 0;
    is_let_go = true;
    rig_submit('a', 0, SHOAL__CLASS_BLOCK);
    rig_submit('b', 0, SHOAL__CLASS_BLOCK);
    rig_write(2 * COMMAND_BYTES);
    rig_submit('c', 0, SHOAL__CLASS_BLOCK);
    assert_true(rig_cancel('c'));
    assert_true(rig_cancel('b'));
    assert_int_equal(asked, 0);
    assert_true(rig_cancel('a')); /* it has a second more */
    assert_int_equal(asked, 1);
    is_let_go = false;
    assert_true(rig_cancel('a'));
    assert_int_equal(asked, 2);
}

static void test_a_blocked_command_that_is_queued(void **state)
{
    (void)state;
    rig_connect();
    rig.pipe.hooks.on_blocked = on_blocked;
    asked = 0;
    rig_submit('a', 0, SHOAL__CLASS_BLOCK);
    assert_true(rig_cancel('a')); /* the server never saw it */
    assert_int_equal(asked, 0);
}

/* ---- a command that those behind it rely on ---- */

/* Given up before it was sent, it takes those behind it along, and none of those ahead. */
static void test_a_gap(void **state)
{
    (void)state;
    rig_connect();
    shoal__pipe_bind(&rig.pipe, true);
    rig_submit('a', 0, WRITE);
    rig_write_all();
    rig_submit('b', 0, WRITE);
    rig_submit('c', STATE, WRITE);
    rig_submit('d', 0, WRITE);
    rig_submit_unit("efg", 0, SHOAL__NEVER_US);
    rig_submit('h', 0, WRITE);
    assert_true(rig_cancel('h'));
    assert_heard("h!ECANCELLED/no ");
    assert_true(rig_cancel('c'));
    assert_heard("c!ECANCELLED/no d!ECONN/no e!ECONN/no f!ECONN/no g!ECONN/no ");
    assert_non_null(strstr(rig.detail, "given up before it was sent"));
    assert_string_equal(rig_write_all(), "b");
    assert_int_equal(rig_feed("+a\r\n+b\r\n"), 0);
    assert_heard("a=+a b=+b ");
}

static void test_a_gap_by_a_deadline(void **state)
{
    shoal__request_t request;
    (void)state;

    rig_connect();
    shoal__pipe_bind(&rig.pipe, true);
    rig.config.inflight_max = 1;
    rig_submit('a', 0, WRITE);
    rig_write_all();
    request = rig_request('b', STATE, WRITE);
    request.deadline_us = rig.now_us + 100;
    rig_push(&request);
    rig_submit('c', STATE, WRITE);
    rig_submit('d', 0, WRITE);
    rig_tick(rig.now_us + 100);
    assert_heard("b!ETIMEOUT/no c!ECONN/no d!ECONN/no ");
    assert_int_equal(rig_feed("+a\r\n"), 0);
    assert_heard("a=+a ");
}

/* If a byte of it was sent, the server will execute it: there is no gap. */
static void test_what_was_sent_leaves_no_gap(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', STATE, WRITE);
    rig_submit('b', 0, WRITE);
    rig_write(1);
    assert_true(rig_cancel('a'));
    assert_heard("a!ECANCELLED/maybe ");
    assert_string_equal(rig_write_all(), "ab");
    assert_int_equal(rig_feed("+a\r\n+b\r\n"), 0);
    assert_heard("b=+b ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_loss_of_what_is_bound),
        TEST(test_a_blocked_command_that_is_cancelled),
        TEST(test_a_blocked_command_that_is_queued),
        TEST(test_a_gap),
        TEST(test_a_gap_by_a_deadline),
        TEST(test_what_was_sent_leaves_no_gap),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_endings.bound", tests, NULL,
                                       NULL);
}
