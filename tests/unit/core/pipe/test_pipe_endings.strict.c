/* SPDX-License-Identifier: MIT */

/* Whom the end of a connection is blamed on where replies are held until they are proved: on
 * the same command as elsewhere.  (I13) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/fence_rig.h"

static void check_words(const char *words)
{
    if (!strstr(rig.detail, words))
        fail_msg("%s, not %s", rig.detail, words);
}

static void lose_with_fault(void)
{
    shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
}

/* The next connection is ready. */
static void reconnect(void)
{
    fences_count = 0;
    assert_int_equal(shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us), 0);
    write_all();
    written[0] = '\0';
    assert_int_equal(answer("+OK\r\n+OK\r\nF"), 0);
}

static void submit(const char *names_of)
{
    for (; *names_of; names_of++)
        rig_submit(*names_of, 0, RO);
}

static void test_a_held_reply_that_is_cut_twice(void **state)
{
    (void)state;
    rig.config.attempts_max = 100;
    connect_with(STRICT, true);
    submit("abc");
    assert_written("abcF");
    assert_int_equal(answer(":1\r\n$5\r\nhe"), 0);
    rig_lose();
    assert_heard("");
    reconnect();
    assert_written("aF");
    assert_int_equal(answer(":1\r\nF"), 0);
    assert_written("bF"); /* it alone */
    assert_int_equal(answer("$5\r\nhe"), 0);
    rig_lose();
    assert_heard("a=:1 b!ECONN/maybe ");
    check_words("within the reply to this command");
    reconnect();
    assert_written("cF");
}

/* However many others are suspected, because they were lost twice. */
static void test_a_held_reply_that_is_cut_behind_many(void **state)
{
    enum { MANY = 100 };
    char wire[4 * MANY + 16] = "";

    (void)state;
    connect_with(STRICT, true);
    for (int i = 0; i < MANY; i++) {
        rig_submit('a', 0, RO);
        memcpy(wire + 4 * i, ":1\r\n", 5);
    }
    write_all();
    rig_lose();
    reconnect();
    assert_written("aF"); /* the oldest */
    assert_int_equal(answer(":1\r\nF"), 0);
    rig_submit('b', 0, RO);
    write_all();
    memcpy(wire + 4 * (MANY - 1), "$5\r\nhe", 7);
    assert_int_equal(answer(wire), 0);
    rig_lose();
    assert_heard("a=:1 ");
    assert_true(shoal__request_ring_at(&rig.pipe.ring, rig.pipe.ring.tail - 1)->flags &
                SHOAL__REQUEST_ALONE);
}

/* What is over our bounds now is so the next time. */
static void test_a_held_reply_over_a_bound(void **state)
{
    static char line[70000];
    const struct {
        const char *wire;
        size_t bytes;
    } cases[] = {{"$999999999\r\n", 12},
                 {"*2\r\n$1\r\nx\r\n$999999999\r\n", 23},
                 {line, sizeof line}};

    memset(line, '1', sizeof line);
    line[0] = ':';
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_tear_down(state);
        rig_set_up(state);
        connect_with(STRICT, true);
        submit("abc");
        assert_written("abcF");
        assert_int_equal(answer(":1\r\n"), 0);
        assert_int_equal(
            shoal__pipe_feed(&rig.pipe, cases[i].wire, cases[i].bytes, rig.now_us),
            SHOAL_EDESYNC);
        lose_with_fault();
        assert_heard("b!EDESYNC/maybe ");
        check_words("the reply to this command ended the connection: a reply has too "
                    "many bytes");
        reconnect();
        assert_written("acF");
    }
}

/* What the scanner lets pass the decoder refuses, once it is proved: before what came behind
 * it. */
static void test_a_proved_reply_over_a_bound(void **state)
{
    (void)state;
    rig.config.reply.depth_max = 1;
    connect_with(STRICT, true);
    submit("ab");
    assert_written("abF");
    submit("cd");
    assert_written("cdF");
    assert_int_equal(answer(":1\r\n*1\r\n*1\r\n:1\r\nF:3\r\n$5\r\nhe"), SHOAL_EDESYNC);
    lose_with_fault();
    assert_heard("a=:1 b!EDESYNC/lost ");
    check_words("the reply to this command ended the connection: a reply is nested");
    reconnect();
    assert_written("cdF"); /* nobody alone */
}

/* A server that breaks the protocol inside a reply: perhaps it was the network. */
static void test_a_held_reply_that_is_no_resp(void **state)
{
    static const char *const replies[] = {"$x\r\n", "*1\r\n@\r\n", "*1\r\n$?\r\n"};

    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        rig_tear_down(state);
        rig_set_up(state);
        connect_with(STRICT, true);
        submit("a");
        assert_written("aF");
        assert_int_equal(answer(replies[i]), SHOAL_EDESYNC);
        lose_with_fault();
        assert_heard("");
        reconnect();
        assert_written("aF");
        assert_int_equal(answer(replies[i]), SHOAL_EDESYNC);
        lose_with_fault();
        assert_heard("a!EDESYNC/maybe ");
        check_words("within the reply to this command");
    }
}

/* Neither a push nor what begins no frame is anybody's reply. */
static void test_what_is_nobodys_reply(void **state)
{
    static const char *const frames[] = {"@what\r\n", ">1\r\n$999999999\r\n"};

    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        rig_tear_down(state);
        rig_set_up(state);
        connect_with(STRICT, true);
        for (int loss = 1; loss <= 2; loss++) {
            submit(loss == 1 ? "a" : "");
            assert_written("aF");
            assert_int_equal(answer(frames[i]), SHOAL_EDESYNC);
            lose_with_fault();
            assert_heard("");
            reconnect();
        }
    }
}

static void test_a_reply_that_nobody_waits_for_is_not_that_of_the_next(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    submit("a");
    for (int loss = 1; loss <= 2; loss++) {
        assert_int_equal(answer("$5\r\nhe"), SHOAL_EDESYNC);
        lose_with_fault();
        assert_heard("");
        reconnect();
    }
    assert_written("aF");
}

/* The server answers what it will not read at once: with the reply before it held. */
static void test_a_command_that_is_refused_behind_a_held_reply(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    submit("abc");
    rig_write(COMMAND_BYTES + 5);
    assert_int_equal(answer(":1\r\n-ERR Protocol error\r\n"), SHOAL_ECONN);
    lose_with_fault();
    assert_heard("b!ECONN/no ");
    check_words(
        "this command ended the connection: the server said: ERR Protocol error");
    reconnect();
    assert_written("acF");
}

/* A refusal costs no proved reply before it, in the same read. */
static void test_what_was_proved_is_handed_out_before_a_refusal(void **state)
{
    static const char *const behind[] = {"$999999999\r\n", "@",
                                         ":2\r\n$16\r\n0123456789abcdef\r\n",
                                         ":2\r\n:3\r\n:4\r\n"};

    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        char wire[64];

        rig_tear_down(state);
        rig_set_up(state);
        connect_with(STRICT, true);
        rig_submit('a', 0, WRITE);
        assert_written("aF");
        rig_submit('b', 0, WRITE);
        assert_written("bF");
        snprintf(wire, sizeof wire, ":1\r\nF%s", behind[i]);
        assert_int_equal(answer(wire), SHOAL_EDESYNC);
        assert_heard("a=:1 ");
        lose_with_fault();
        assert_heard("b!EDESYNC/maybe ");
    }
}

/* One reply that is within the bound is not too much to be held. */
static void test_a_reply_of_the_largest_size(void **state)
{
    char wire[40 + SHOAL__NONCE_BYTES] = "$27\r\n";

    (void)state;
    memset(wire + 5, 'x', 27);
    memcpy(wire + 32, "\r\n$16\r\n", 7);
    rig.config.reply.bytes_max = 34;
    connect_with(STRICT, true);
    submit("a");
    assert_written("aF");
    memcpy(wire + 39, fences[0], SHOAL__NONCE_BYTES);
    for (size_t i = 0; i < 39 + SHOAL__NONCE_BYTES; i++)
        assert_int_equal(shoal__pipe_feed(&rig.pipe, wire + i, 1, rig.now_us), 0);
    assert_int_equal(shoal__pipe_feed(&rig.pipe, "\r\n", 2, rig.now_us), 0);
    assert_heard("a=$xxxxxxxxxxxxxxxxxxxxxxxxxxx ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_held_reply_that_is_cut_twice),
        TEST(test_a_held_reply_that_is_cut_behind_many),
        TEST(test_a_held_reply_over_a_bound),
        TEST(test_a_proved_reply_over_a_bound),
        TEST(test_a_held_reply_that_is_no_resp),
        TEST(test_what_is_nobodys_reply),
        TEST(test_a_reply_that_nobody_waits_for_is_not_that_of_the_next),
        TEST(test_a_command_that_is_refused_behind_a_held_reply),
        TEST(test_what_was_proved_is_handed_out_before_a_refusal),
        TEST(test_a_reply_of_the_largest_size),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_endings.strict", tests, NULL,
                                       NULL);
}
