/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

/* Units (MULTI .. EXEC), and what is cancelled inside callbacks. */

/* ---- units ---- */

static void test_a_unit_that_is_queued_goes_as_a_whole(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_submit('b', 0, WRITE);
    assert_true(rig_cancel('x'));
    assert_heard("m!ECANCELLED/no x!ECANCELLED/no e!ECANCELLED/no ");
    assert_string_equal(rig_write_all(), "ab");
}

static void test_a_unit_in_its_middle(void **state)
{
    (void)state;
    rig_connect();
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_write(2 * COMMAND_BYTES); /* not EXEC: it was not executed */
    rig_lose();
    assert_heard("");
    rig_connect();
    assert_string_equal(rig_write_all(), "mxe");
    rig_lose(); /* EXEC was written */
    assert_heard("m!ECONN/maybe x!ECONN/maybe e!ECONN/maybe ");
}

static void test_an_idempotent_unit_is_sent_again(void **state)
{
    (void)state;
    rig_connect();
    rig_submit_unit("mxe", IDEMPOTENT, SHOAL__NEVER_US);
    rig_write_all();
    rig_lose();
    rig_connect();
    assert_string_equal(rig_write_all(), "mxe");
    rig_feed("+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
    assert_heard("m=+OK x=+QUEUED e=*1 ");
    assert_int_equal(rig.attempts, 2);
}

/* Its beginning was answered, so it cannot be sent again; nor was it executed. */
static void test_a_unit_that_was_answered_in_part(void **state)
{
    (void)state;
    rig_connect();
    rig_submit_unit("mxye", IDEMPOTENT, SHOAL__NEVER_US);
    rig_write(3 * COMMAND_BYTES);
    rig_feed("+OK\r\n+QUEUED\r\n");
    rig_lose();
    assert_heard("m=+OK x=+QUEUED y!ECONN/no e!ECONN/no ");

    rig_connect();
    rig_submit_unit("mxye", IDEMPOTENT, SHOAL__NEVER_US);
    rig_write_all();
    rig_feed("+OK\r\n+QUEUED\r\n");
    rig_lose();
    assert_heard("m=+OK x=+QUEUED y!ECONN/maybe e!ECONN/maybe ");
}

/* The rest must not go without the part that was given up. */
static void test_a_unit_of_which_a_part_was_given_up(void **state)
{
    (void)state;
    static const char parts[] = "mxe";

    for (const char *part = parts; *part; part++) {
        rig_connect();
        rig_submit_unit(parts, 0, SHOAL__NEVER_US);
        rig_submit('z', 0, WRITE);
        rig_write(COMMAND_BYTES + 1);
        assert_true(rig_cancel(*part));
        rig.heard[0] = '\0';
        rig_lose();
        assert_int_equal(strlen(rig.heard), 2 * strlen("m!ECONN/no "));
        assert_null(strstr(rig.heard, "maybe"));
        rig_connect();
        assert_string_equal(rig_write_all(), "z");
        rig_feed("+z\r\n");
        rig.heard[0] = '\0';
    }
}

static void test_deadline_of_a_unit(void **state)
{
    (void)state;
    rig_connect();
    rig_submit_unit("mxe", 0, rig.now_us + 10);
    rig_write(1);
    rig_tick(rig.now_us + 10);
    assert_heard("m!ETIMEOUT/maybe x!ETIMEOUT/maybe e!ETIMEOUT/maybe ");
    assert_string_equal(rig_write_all(), "mxe"); /* from the second byte on */
    rig_submit('a', 0, WRITE);
    rig_write_all();
    rig_feed("+OK\r\n+QUEUED\r\n*1\r\n:1\r\n+a\r\n");
    assert_heard("a=+a ");
}

/* A loss and a deadline walk a long unit once, not once for each part. */
static void test_a_long_unit_takes_linear_time(void **state)
{
    (void)state;
    const size_t parts = 65536;
    clock_t start = clock();

    rig.is_deaf = true;
    rig.config.inflight_max = parts - 1;
    rig_connect();
    for (size_t i = 0; i < parts; i++) {
        shoal__request_t request = rig_request('a', SHOAL__REQUEST_UNIT, WRITE);
        request.flags |= i == 0 ? SHOAL__REQUEST_UNIT_FIRST : 0;
        request.flags |= i == parts - 1 ? SHOAL__REQUEST_UNIT_LAST : 0;
        request.deadline_us = rig.now_us + 10;
        rig_push(&request);
    }
    shoal__bytes_t out;
    while ((out = rig_output()).bytes > 0)
        shoal__pipe_written(&rig.pipe, out.bytes, rig.now_us);
    rig_lose();
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), parts);
    rig_connect();
    rig_write(1);
    rig_tick(rig.now_us + 10);
    assert_int_equal(counter(&rig.pipe.stats.timeouts), parts);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2.0);
}

/* What was written of a unit may change something, whatever the class of its commands. */
static void test_a_unit_leaves_doubts_behind(void **state)
{
    static const uint16_t flags[] = {
        0, SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_FIRST | SHOAL__REQUEST_UNIT_LAST};

    (void)state;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        rig_connect();
        assert_true(rig.pipe.greeting.is_settled);
        rig_submit('a', flags[i], RO);
        rig_write_all();
        rig_lose();
        rig_connect();
        assert_int_equal(rig.pipe.greeting.is_settled, flags[i] == 0);
        rig_write_all();
        shoal__pipe_abandon(&rig.pipe, rig.now_us);
    }
    rig.heard[0] = '\0';
}

/* ---- calls from callbacks ---- */

static void cancel_a_and_d(void)
{
    assert_true(rig_cancel('a'));
    assert_true(rig_cancel('d'));
    assert_false(rig_cancel('b'));
}

static void cancel_e(void)
{
    assert_true(rig_cancel('e'));
}

/* Each part is told once. */
static void test_cancelling_a_unit_while_it_is_cancelled(void **state)
{
    (void)state;
    rig.acting = 'm';
    rig.act = cancel_e;
    rig_connect();
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_submit('z', 0, WRITE);
    assert_true(rig_cancel('x'));
    assert_heard("m!ECANCELLED/no x!ECANCELLED/no e!ECANCELLED/no ");
    assert_string_equal(rig_write_all(), "z");
}

/* In the middle of a loss those before are queued again, those behind are not. */
static void test_cancelling_while_a_loss_is_settled(void **state)
{
    (void)state;
    rig.acting = 'b';
    rig.act = cancel_a_and_d;
    rig_connect();
    rig_submit('a', 0, RO);
    rig_submit('b', 0, WRITE);
    rig_submit('c', 0, RO);
    rig_submit('d', 0, RO);
    rig_submit('e', 0, WRITE);
    rig_write(4 * COMMAND_BYTES);
    rig_lose();
    assert_heard("b!ECONN/maybe a!ECANCELLED/maybe d!ECANCELLED/maybe ");
    assert_int_equal(rig.attempts, 1);
    rig_connect();
    assert_string_equal(rig_write_all(), "ce");
}

static void cancel_x(void)
{
    assert_true(rig_cancel('x'));
}

static void test_cancelling_a_unit_while_a_loss_is_settled(void **state)
{
    (void)state;
    rig.acting = 'b';
    rig.act = cancel_x;
    rig_connect();
    rig_submit_unit("mxe", IDEMPOTENT, SHOAL__NEVER_US);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    rig_lose();
    assert_heard("b!ECONN/maybe m!ECANCELLED/maybe x!ECANCELLED/maybe "
                 "e!ECANCELLED/maybe ");
    rig_connect();
    assert_string_equal(rig_write_all(), "");
}

static void cancel_b_submit_z(void)
{
    assert_true(rig_cancel('b'));
    rig_submit('z', 0, WRITE);
    assert_true(rig_cancel('z'));
}

static void test_cancelling_while_replies_are_read(void **state)
{
    (void)state;
    rig.acting = 'a';
    rig.act = cancel_b_submit_z;
    rig_connect();
    for (const char *name = "abc"; *name; name++)
        rig_submit(*name, 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_feed("+a\r\n+b\r\n+c\r\n"), 0);
    assert_heard("a=+a b!ECANCELLED/maybe z!ECANCELLED/no c=+c ");
    assert_string_equal(rig_write_all(), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_unit_that_is_queued_goes_as_a_whole),
        TEST(test_a_unit_in_its_middle),
        TEST(test_an_idempotent_unit_is_sent_again),
        TEST(test_a_unit_that_was_answered_in_part),
        TEST(test_a_unit_of_which_a_part_was_given_up),
        TEST(test_deadline_of_a_unit),
        TEST(test_a_long_unit_takes_linear_time),
        TEST(test_a_unit_leaves_doubts_behind),
        TEST(test_cancelling_a_unit_while_it_is_cancelled),
        TEST(test_cancelling_while_a_loss_is_settled),
        TEST(test_cancelling_a_unit_while_a_loss_is_settled),
        TEST(test_cancelling_while_replies_are_read),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_endings.units", tests, NULL,
                                       NULL);
}
