/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipe/pipe_overdue.h"
#include "unit/core/pipe/fence_rig.h"

#define SECOND 1000000

#define assert_detail(part) assert_non_null(strstr(rig.detail, part))

/* With a deadline in `timeout_us`. */
static void submit(char name, uint64_t timeout_us)
{
    shoal__request_t request = rig_request(name, 0, WRITE);

    request.deadline_us = rig.now_us + timeout_us;
    rig_push(&request);
}

/* The loop thread looks at the pipe. */
static void look(void)
{
    assert_int_equal(rig_tick(rig.now_us), 0);
}

static void pass(uint64_t us)
{
    rig_tick(rig.now_us + us);
}

static void test_nothing_listens(void **state)
{
    (void)state;
    shoal__pipe_open(&rig.pipe, rig.now_us);
    submit('a', SECOND);
    for (int i = 0; i < 3; i++) {
        look();
        rig.now_us += 200000;
        shoal__pipe_lost(&rig.pipe, SHOAL_ECONN,
                         "connect server:6379: Connection refused", rig.now_us);
    }
    pass(400000);
    assert_heard("a!ETIMEOUT/no ");
    assert_string_equal(rig.detail,
                        "no connection to server:6379 for 1.0 s: Connection "
                        "refused (3 attempts); the command was never sent");
    assert_true(rig.is_offline);
}

static void test_the_first_attempt_hangs(void **state)
{
    (void)state;
    shoal__pipe_open(&rig.pipe, rig.now_us);
    submit('a', SECOND);
    pass(SECOND);
    assert_detail("no connection to server:6379 for 1.0 s: the first attempt");
}

static void test_the_greeting_is_not_answered(void **state)
{
    (void)state;
    shoal__pipe_open(&rig.pipe, rig.now_us);
    submit('a', SECOND);
    shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_BARE, rig.now_us);
    pass(SECOND);
    assert_detail("has not answered the greeting");
    assert_true(rig.is_offline);
}

/* The words of the attempt before say more than that this one is not over. */
static void test_the_servers_last_words_stay(void **state)
{
    (void)state;
    shoal__pipe_open(&rig.pipe, rig.now_us);
    submit('a', SECOND);
    shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_BARE, rig.now_us);
    assert_true(rig_feed("-ERR max number of clients reached\r\n") < 0);
    shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
    shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_BARE, rig.now_us);
    pass(SECOND);
    assert_detail("ERR max number of clients reached (1 attempt); the command");
}

/* The outage is counted from the loss, and forgotten with the next connection. */
static void test_an_outage_begins_with_a_loss(void **state)
{
    (void)state;
    rig_connect();
    rig.now_us += 100 * SECOND;
    shoal__pipe_lost(&rig.pipe, SHOAL_ECONN, "reset", rig.now_us);
    submit('a', SECOND);
    pass(SECOND);
    assert_string_equal(rig.detail, "no connection to server:6379 for 1.0 s: reset; "
                                    "the command was never sent");
    shoal__pipe_lost(&rig.pipe, SHOAL_ECONN, "refused", rig.now_us);
    rig_connect();
    rig_lose();
    submit('b', SECOND);
    pass(SECOND);
    assert_detail("for 1.0 s: cut; the command");
}

static void test_a_command_that_was_lost_before(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', IDEMPOTENT, WRITE);

    request.deadline_us = rig.now_us + SECOND;
    rig_connect();
    rig_push(&request);
    assert_string_equal(rig_write_all(), "a");
    rig_lose();
    pass(SECOND);
    assert_heard("a!ETIMEOUT/maybe ");
    assert_detail("; it was sent before");
}

static void test_the_loop_thread_was_busy(void **state)
{
    (void)state;
    rig_connect();
    look();
    submit('a', 200000);
    pass(3 * SECOND);
    assert_heard("a!ETIMEOUT/no ");
    assert_detail(
        "the loop thread was busy and did not take the command over within 3.0");
    assert_false(rig.is_offline);
    /* It had looked at this one. */
    submit('b', 200000);
    look();
    pass(3 * SECOND);
    assert_detail("not written within 3.0 s");
    assert_detail("the loop thread was busy until 2.8 s after the deadline");
}

/* What is behind a command that goes was looked at, too. */
static void test_what_was_looked_at_stays_so(void **state)
{
    (void)state;
    rig_connect();
    for (char name = 'a'; name <= 'c'; name++)
        submit(name, name == 'b' ? 1000 : SECOND);
    look();
    pass(1000);
    assert_detail("not written within 1 ms");
    pass(SECOND);
    assert_detail("not written within 1.0 s");
    assert_heard("b!ETIMEOUT/no a!ETIMEOUT/no c!ETIMEOUT/no ");
    submit('d', SECOND);
    pass(SECOND);
    assert_detail("the loop thread was busy");
}

/* What came behind a command that was withdrawn was not looked at. */
static void test_what_came_since_was_not_looked_at(void **state)
{
    (void)state;
    rig_connect();
    submit('a', SECOND);
    look();
    assert_true(rig_cancel('a'));
    assert_int_equal(rig_output().bytes, 0);
    submit('b', SECOND);
    pass(SECOND);
    assert_detail("the loop thread was busy");
}

/* A fence that is put in front moves commands up, which were looked at all the same. */
static void test_a_fence_in_front(void **state)
{
    (void)state;
    connect_with(DETECT, true);
    rig.now_us += 100000;
    submit('c', SECOND);
    submit('d', SECOND);
    look();
    assert_true(rig_output().bytes > 2 * COMMAND_BYTES);
    pass(SECOND);
    assert_heard("c!ETIMEOUT/no d!ETIMEOUT/no ");
    assert_detail("does not read what is sent");
}

static void test_the_window_is_full(void **state)
{
    (void)state;
    rig.config.inflight_max = 2;
    rig_connect();
    for (char name = 'a'; name <= 'c'; name++)
        submit(name, name == 'c' ? SECOND : 10 * SECOND);
    look();
    assert_string_equal(rig_write_all(), "ab");
    pass(SECOND);
    assert_heard("c!ETIMEOUT/no ");
    assert_detail(
        "2 commands before it are unanswered, as many as may be; the server's "
        "last bytes came 1.0 s ago; the command was never sent");
}

static void test_the_server_does_not_read(void **state)
{
    (void)state;
    rig_connect();
    submit('a', SECOND);
    submit('b', SECOND);
    look();
    rig_write(5);
    pass(SECOND);
    assert_heard("a!ETIMEOUT/maybe b!ETIMEOUT/no ");
    assert_detail("server:6379 does not read what is sent");
    assert_detail("; the command was never sent");
}

static void test_sent_and_not_answered(void **state)
{
    (void)state;
    rig_connect();
    submit('a', 2 * SECOND);
    look();
    assert_string_equal(rig_write_all(), "a");
    rig.now_us += SECOND;
    submit('b', SECOND);
    look();
    assert_string_equal(rig_write_all(), "b");
    pass(SECOND);
    assert_heard("a!ETIMEOUT/maybe b!ETIMEOUT/maybe ");
    assert_string_equal(rig.detail,
                        "sent to server:6379 1.0 s ago and not answered; the server's "
                        "last bytes came 2.0 s ago; 2 commands are unanswered");
    submit('c', SECOND);
    look();
    rig_write_all();
    rig_feed("+a\r\n+b\r\n+c");
    pass(SECOND);
    assert_heard("c!ETIMEOUT/lost ");
    assert_detail("sent to server:6379 1.0 s ago; a part of the reply came");
}

static void test_turned_away(void **state)
{
    (void)state;
    rig_connect();
    submit('a', SECOND);
    look();
    rig_write_all();
    rig_feed("-LOADING Redis is loading\r\n");
    rig.now_us += SECOND; /* nobody looks meanwhile */
    look();
    assert_heard("a!ETIMEOUT/no ");
    assert_string_equal(rig.detail,
                        "server:6379 refuses commands for now, 1 time in 1.0 s: "
                        "LOADING Redis is loading; the command was never executed");
}

static void test_words_that_may_hold_the_password(void **state)
{
    char password[] = "LOAD";

    (void)state;
    rig_connect();
    rig.secret.password = password;
    submit('a', SECOND);
    look();
    rig_write_all();
    rig_feed("-LOADING x\r\n");
    rig.now_us += SECOND;
    look();
    assert_null(strstr(rig.detail, "LOAD"));
}

static void test_nothing_may_wait_for_a_connection(void **state)
{
    (void)state;
    rig.config.queue_offline = false;
    shoal__pipe_open(&rig.pipe, rig.now_us);
    rig.now_us += SECOND;
    shoal__pipe_lost(&rig.pipe, SHOAL_ECONN, "connect server:6379: No route to host",
                     rig.now_us);
    submit('a', SECOND);
    look();
    assert_heard("a!ECONN/no ");
    assert_string_equal(rig.detail,
                        "no connection to server:6379 for 1.0 s: No route to "
                        "host (1 attempt); the command was never sent");
    assert_false(rig.is_offline);
}

static void say_why(void *owner, uint64_t at, const char *bytes,
                    shoal__overdue_t *facts)
{
    assert_ptr_equal(owner, &rig);
    assert_int_equal(facts->stage, SHOAL__OVERDUE_QUEUED);
    facts->stage = SHOAL__OVERDUE_NO_OWNER;
    facts->slot = (unsigned)(bytes[COMMAND_BYTES - 3] - 'a'); /* its name */
    facts->server = "";
    assert_int_equal(at - rig.pipe.ring.head, facts->slot);
}

/* The owner of a pen knows why a command waits there, and looks at the command. */
static void test_the_owner_of_a_pen_says_why(void **state)
{
    (void)state;
    rig.pipe.is_pen = true;
    for (char name = 'a'; name <= 'd'; name++)
        submit(name, name == 'c' ? 10 * SECOND : SECOND);
    assert_true(rig_cancel('b')); /* its bytes stay */
    rig.pipe.hooks.on_overdue = say_why;
    rig.pipe.now_us = rig.now_us += SECOND;
    shoal__pipe_expire_due(&rig.pipe);
    assert_heard("b!ECANCELLED/no a!ETIMEOUT/no d!ETIMEOUT/no ");
    assert_string_equal(rig.detail,
                        "no owner of slot 3 is known; the command was never sent");
    rig.pipe.hooks.on_overdue = NULL;
    rig.pipe.now_us = rig.now_us += 10 * SECOND;
    shoal__pipe_expire_due(&rig.pipe);
    assert_detail("not written within 11.0 s");
}

/* 100 000 commands time out together, for one cause: one text. */
static void test_one_text_for_many(void **state)
{
    (void)state;
    static const char *first;
    shoal__overdue_words_t words;

    shoal__pipe_open(&rig.pipe, rig.now_us);
    for (char name = 'a'; name <= 'c'; name++)
        submit(name, SECOND);
    rig.now_us += SECOND;
    rig.pipe.now_us = rig.now_us;
    shoal__pipe_overdue_begin(&rig.pipe, &words);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t at = rig.pipe.ring.head + i;
        first = shoal__pipe_overdue(&rig.pipe, at, SHOAL__PROGRESS_QUEUED, &words);
        assert_ptr_equal(first, words.text);
        if (i == 0)
            words.text[0] = '#'; /* a second write would overwrite it */
        assert_int_equal(first[0], '#');
    }
    rig.pipe.attempts_failed++;
    first = shoal__pipe_overdue(&rig.pipe, rig.pipe.ring.head, SHOAL__PROGRESS_QUEUED,
                                &words);
    assert_int_equal(first[0], 'n');
}

#define TEST(function)                                                                 \
    cmocka_unit_test_setup_teardown(function, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_listens),
        TEST(test_the_first_attempt_hangs),
        TEST(test_the_greeting_is_not_answered),
        TEST(test_the_servers_last_words_stay),
        TEST(test_an_outage_begins_with_a_loss),
        TEST(test_a_command_that_was_lost_before),
        TEST(test_the_loop_thread_was_busy),
        TEST(test_what_was_looked_at_stays_so),
        TEST(test_what_came_since_was_not_looked_at),
        TEST(test_a_fence_in_front),
        TEST(test_the_window_is_full),
        TEST(test_the_server_does_not_read),
        TEST(test_sent_and_not_answered),
        TEST(test_turned_away),
        TEST(test_words_that_may_hold_the_password),
        TEST(test_nothing_may_wait_for_a_connection),
        TEST(test_the_owner_of_a_pen_says_why),
        TEST(test_one_text_for_many),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_overdue", tests, NULL, NULL);
}
