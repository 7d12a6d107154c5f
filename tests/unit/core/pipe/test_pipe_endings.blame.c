/* SPDX-License-Identifier: MIT */

/* What a command had to do with the end of a connection, through the real pipe.  (I13) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

static void check_words(const char *words)
{
    if (!strstr(rig.detail, words))
        fail_msg("%s, not %s", rig.detail, words);
}

static void lose_with_fault(void)
{
    shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
}

/* However often its connection is cut, it is sent twice. */
static void test_a_command_that_is_cut_twice_is_not_sent_again(void **state)
{
    (void)state;
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    for (size_t cut = 1; cut <= 2; cut++) {
        assert_heard("");
        rig_connect();
        rig_write(COMMAND_BYTES - cut);
        rig_lose();
    }
    assert_heard("a!ECONN/no ");
    check_words("within the bytes of this command");
    assert_int_equal(counter(&rig.pipe.stats.retries), 1);
    rig_connect();
    assert_string_equal(rig_write_all(), "b");
}

static void test_a_reply_that_is_cut_twice_is_not_asked_for_again(void **state)
{
    (void)state;
    rig.config.attempts_max = 100;
    rig_submit('a', 0, RO);
    for (int cut = 1; cut <= 2; cut++) {
        assert_heard("");
        rig_connect();
        rig_write_all();
        rig_feed("$5\r\nab");
        rig_lose();
    }
    assert_heard("a!ECONN/lost ");
    check_words("within the reply to this command");
}

static void test_cuts_of_both_kinds_add_up(void **state)
{
    (void)state;
    rig_submit('a', 0, RO);
    rig_connect();
    rig_write(3);
    rig_lose();
    rig_connect();
    rig_write_all();
    rig_feed("$5\r\n");
    rig_lose();
    assert_heard("a!ECONN/lost ");
}

/* Cut in its bytes, then in the reply to its first part: no part of it is sent again without
 * the others.  (I15) */
static void test_a_unit_is_to_blame_as_a_whole(void **state)
{
    (void)state;
    rig.config.attempts_max = 100;
    rig_submit_unit("mxe", SHOAL__REQUEST_IDEMPOTENT, SHOAL__NEVER_US);
    rig_submit('z', 0, WRITE);
    rig_connect();
    rig_write(COMMAND_BYTES + 3);
    rig_lose();
    assert_heard("");
    rig_connect();
    rig_write(3 * COMMAND_BYTES);
    rig_feed("+O");
    rig_lose();
    assert_heard("m!ECONN/lost x!ECONN/maybe e!ECONN/maybe ");
    rig_connect();
    assert_string_equal(rig_write_all(), "z");
}

/* What is over our bounds now is so the next time. */
static void test_a_reply_over_a_bound_is_not_asked_for_again(void **state)
{
    static const char *const replies[] = {"$999999999\r\n", "*99999999\r\n",
                                          "*2\r\n$1\r\nx\r\n$999999999\r\n"};

    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        rig_tear_down(state);
        rig_set_up(state);
        rig_submit('a', 0, RO);
        rig_submit('b', 0, RO);
        rig_connect();
        rig_write_all();
        assert_true(rig_feed(replies[i]) < 0);
        lose_with_fault();
        assert_heard("a!EDESYNC/lost ");
        check_words("the reply to this command ended the connection: a");
        rig_connect();
        assert_string_equal(rig_write_all(), "b");
    }
}

/* The server answers what it will not read at once: while the command is being written. */
static void test_a_command_that_is_refused_midway_is_not_sent_again(void **state)
{
    (void)state;
    rig_connect();
    for (const char *name = "abc"; *name; name++)
        rig_submit(*name, 0, WRITE);
    rig_write(COMMAND_BYTES + 5);
    assert_true(rig_feed("+a\r\n-ERR Protocol error: invalid bulk length\r\n") < 0);
    assert_int_equal(rig.pipe.fault, SHOAL_ECONN); /* it was in step */
    lose_with_fault();
    assert_heard("a=+a b!ECONN/no ");
    check_words(
        "this command ended the connection: the server said: ERR Protocol error: "
        "invalid bulk length");
    rig_connect();
    assert_string_equal(rig_write_all(), "c");
}

/* Without a byte of a reply each of them may be the cause: one after the other. */
static void test_commands_that_were_lost_twice_travel_alone(void **state)
{
    (void)state;
    for (const char *name = "abc"; *name; name++)
        rig_submit(*name, 0, RO);
    rig_connect();
    assert_string_equal(rig_write_all(), "abc");
    rig_lose();
    rig_connect();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "bc");
    rig_lose();
    rig_connect();
    assert_string_equal(rig_write_all(), "b");
    rig_feed("+b\r\n");
    rig_submit('d', 0, RO);
    assert_string_equal(rig_write_all(), "c");
    rig_lose();
    assert_heard("a=+a b=+b c!ECONN/maybe ");
    check_words("with no other command unanswered");
    rig_connect();
    assert_string_equal(rig_write_all(), "d");
}

/* However many were lost twice, a few cost the others a round trip. */
static void test_only_a_few_travel_alone(void **state)
{
    enum { ALL = 100, ALONE = 64 };

    (void)state;
    for (int i = 0; i < ALL; i++)
        rig_submit('r', 0, RO);
    rig_connect();
    rig_write_all();
    rig_lose();
    rig_connect();
    assert_string_equal(rig_write_all(), "r"); /* the oldest */
    rig_feed("+r\r\n");
    assert_int_equal(strlen(rig_write_all()), ALL - 1);
    rig_lose();
    rig_connect();
    for (int i = 0; i < ALONE; i++) {
        assert_string_equal(rig_write_all(), "r");
        rig_feed("+r\r\n");
    }
    assert_int_equal(strlen(rig_write_all()), ALL - 1 - ALONE);
}

/* It waits until nothing is unanswered, and is still alone behind a retry of its own. */
static void test_one_alone_waits_for_those_in_flight(void **state)
{
    (void)state;
    rig_submit('a', 0, RO);
    rig_connect();
    rig_write_all();
    rig_lose();
    rig_connect();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("-TRYAGAIN x\r\n");
    rig_submit('b', 0, RO);
    assert_string_equal(rig_write_all(), "b");
    rig_tick(rig.now_us + 1000000);
    rig_submit('c', 0, RO);
    assert_string_equal(rig_write_all(), "");
    rig_feed("+b\r\n");
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "c");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_command_that_is_cut_twice_is_not_sent_again),
        TEST(test_a_reply_that_is_cut_twice_is_not_asked_for_again),
        TEST(test_cuts_of_both_kinds_add_up),
        TEST(test_a_unit_is_to_blame_as_a_whole),
        TEST(test_a_reply_over_a_bound_is_not_asked_for_again),
        TEST(test_a_command_that_is_refused_midway_is_not_sent_again),
        TEST(test_commands_that_were_lost_twice_travel_alone),
        TEST(test_only_a_few_travel_alone),
        TEST(test_one_alone_waits_for_those_in_flight),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_endings.blame", tests, NULL,
                                       NULL);
}
