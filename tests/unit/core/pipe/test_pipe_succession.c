/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipe/pipe_doubt.h"
#include "core/pipe/pipe_succession.h"
#include "unit/core/pipe/hold_rig.h"

#define WHY "renewed, for a test"

static shoal__pipe_t *greeter;

/* A successor is greeted, and the pipe drains. */
static void prepare(void)
{
    shoal__renewal_want(&rig.pipe.renewal, WHY, rig.now_us);
    assert_true(shoal__renewal_begins(&rig.pipe.renewal, rig.now_us));
    greeter = greet_successor();
    shoal__pipe_drain(&rig.pipe, rig.now_us);
}

static void succeed(void)
{
    assert_int_equal(shoal__pipe_succeed(&rig.pipe, greeter, rig.now_us), 0);
    shoal__pipe_free_greeter(&rig.pipe, greeter);
    greeter = NULL;
}

static bool makes_way(void)
{
    assert_int_equal(rig_tick(rig.now_us), 0);
    return shoal__pipe_makes_way(&rig.pipe, rig.now_us);
}

static void test_queued_commands_go_on_over_the_successor(void **state)
{
    (void)state;
    rig.config.queue_offline = false; /* nothing is offline */
    rig_connect();
    rig_submit('a', 0, WRITE);
    assert_string_equal(rig_write_all(), "a");
    prepare();
    rig_submit('b', SHOAL__REQUEST_ONCE, WRITE);
    rig_submit('c', 0, RO);
    assert_string_equal(rig_write_all(), "");
    assert_false(makes_way());
    rig_feed("+a\r\n");
    assert_false(shoal__pipe_owes_replies(&rig.pipe));
    assert_true(makes_way());
    succeed();
    assert_int_equal(rig.pipe.phase, SHOAL__PIPE_READY);
    assert_true(rig.pipe.is_settled);
    assert_false(shoal__renewal_is_under_way(&rig.pipe.renewal));
    assert_string_equal(rig_write_all(), "bc");
    rig_feed("+b\r\n+c\r\n");
    assert_heard("a=+a b=+b c=+c ");
    assert_int_equal(counter(&rig.pipe.stats.retries), 0);
}

/* Until its time is over. */
static void test_what_is_unanswered_is_settled(void **state)
{
    (void)state;
    rig.config.queue_offline = false;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, RO);
    rig_submit('c', 0, WRITE);
    rig_write(2 * COMMAND_BYTES + 3);
    prepare();
    rig_submit('d', 0, WRITE);
    rig.now_us = rig.pipe.renewal.end_us - 1;
    assert_false(makes_way());
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 1);
    rig.now_us++;
    assert_true(makes_way());
    assert_true(shoal__pipe_owes_replies(&rig.pipe));
    succeed();
    assert_string_equal(rig.detail, WHY);
    assert_string_equal(rig_write_all(), "b"); /* it was cut off, as c was: alone */
    rig_feed("+b\r\n");
    assert_string_equal(rig_write_all(), "c");
    rig_feed("+c\r\n");
    assert_string_equal(rig_write_all(), "d");
    rig_feed("+d\r\n");
    assert_heard("a!ECONN/maybe b=+b c=+c d=+d ");
}

/* A server that is no primary any more, as others say: until it is silent. */
static void test_a_deposed_server_is_left_sooner(void **state)
{
    (void)state;
    rig_connect();
    rig.pipe.flush.learned.tempo.rtt_us = 0;
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, SHOAL__CLASS_BLOCK);
    rig_submit('c', 0, WRITE);
    rig_write_all();
    rig.now_us += 50000;
    prepare();
    shoal__renewal_depose(&rig.pipe.renewal);
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 50000);
    rig.pipe.flush.learned.tempo.rtt_us = 30000; /* far away */
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 70000);
    rig.now_us += 69999;
    assert_false(makes_way());
    rig.now_us++;
    assert_true(makes_way());
    rig_feed("+a\r\n"); /* it is at the next, which blocks */
    rig.now_us = rig.pipe.renewal.end_us - 1;
    assert_false(makes_way());
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + 1);
    rig.now_us++;
    assert_true(makes_way());
    succeed();
}

/* A unit of which a command has left goes on to its end. */
static void test_the_rest_of_a_unit_leaves_first(void **state)
{
    (void)state;
    rig.config.inflight_max = 2;
    rig_connect();
    rig_submit_unit("abcd", 0, SHOAL__NEVER_US);
    rig_submit('e', 0, WRITE);
    assert_string_equal(rig_write_all(), "ab");
    prepare();
    rig_feed("+OK\r\n+QUEUED\r\n");
    assert_false(makes_way());
    assert_string_equal(rig_write_all(), "cd");
    rig_feed("+QUEUED\r\n*0\r\n");
    assert_true(makes_way());
    succeed();
    assert_string_equal(rig_write_all(), "e");
}

/* With nothing in flight, what was begun to be written still has to leave. */
static void test_what_was_begun_leaves_first(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    rig_write(COMMAND_BYTES + 1);
    prepare();
    rig_feed("+a\r\n");
    assert_int_equal(shoal__pipe_inflight(&rig.pipe), 0);
    assert_false(makes_way());
    rig_write(COMMAND_BYTES - 1);
    rig_feed("+b\r\n");
    assert_true(makes_way());
    succeed();
    assert_heard("a=+a b=+b ");
}

/* A server that is no primary any more answers what was sent. */
static void test_a_demoted_server_is_drained(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    rig_feed(READONLY);
    rig_submit('c', 0, WRITE);
    assert_string_equal(rig.pipe.renewal.reason,
                        "renewed, because the server's role changed");
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us);
    assert_true(shoal__renewal_begins(&rig.pipe.renewal, rig.now_us));
    greeter = greet_successor();
    shoal__pipe_drain(&rig.pipe, rig.now_us);
    assert_false(makes_way());
    rig_feed("+b\r\n");
    assert_true(makes_way());
    succeed();
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "c");
    rig_feed("+c\r\n");
    assert_heard("b=+b a=+a c=+c ");
}

/* What the successor said behind its greeting is not lost. */
static void test_half_a_push_of_the_successor(void **state)
{
    (void)state;
    rig_connect();
    prepare();
    greeter->is_resp3 = true;
    assert_int_equal(shoal__pipe_feed(greeter, ">2\r\n+in", 7, rig.now_us), 0);
    assert_true(makes_way());
    succeed();
    rig.pipe.is_resp3 = true;
    assert_int_equal(rig_feed("vite\r\n+x\r\n"), 0);
    assert_int_equal(counter(&rig.pipe.stats.pushes), 1);
    rig_submit('a', 0, WRITE);
    rig_write_all();
    rig_feed("+a\r\n");
    assert_heard("a=+a ");
}

/* Held commands go on, in front, and are probed over the successor. */
static void test_held_commands(void **state)
{
    (void)state;
    rig_connect();
    refuse("ab", WRITE, LOADING);
    rig_submit('c', 0, WRITE);
    prepare();
    pass_pause(); /* nothing is probed over a connection that is left */
    assert_string_equal(rig_write_all(), "");
    assert_true(makes_way());
    succeed();
    pass_pause();
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "bc");
    rig_feed("+b\r\n+c\r\n");
    assert_heard("a=+a b=+b c=+c ");
}

/* A server that asks for credentials is not asked again before the successor is there. */
static void test_nothing_is_probed_where_it_is_of_no_use(void **state)
{
    char sesame[] = "sesame";

    (void)state;
    rig_connect();
    rig.secret.password = sesame;
    refuse("a", WRITE, "-NOAUTH x\r\n");
    assert_true(shoal__renewal_begins(&rig.pipe.renewal, rig.now_us));
    pass_pause();
    rig_tick(rig.now_us + SHOAL__HOLD_US_MAX);
    assert_string_equal(rig_write_all(), "");
    shoal__renewal_failed(&rig.pipe.renewal, rig.now_us);
    rig_tick(rig.now_us);
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_heard("a=+a ");
}

static void identify(shoal__pipe_t *pipe, int64_t id)
{
    pipe->greeting.identity = (shoal__identity_t){.id = id, .address = "a:1"};
    snprintf(pipe->greeting.identity.process, sizeof pipe->greeting.identity.process,
             "p");
}

/* A connection that left writes unanswered is ended before the next command. */
static void test_the_former_connection_is_ended_first(void **state)
{
    uint64_t wake_us;

    (void)state;
    rig.config.greeting.is_settling = true;
    rig_connect();
    identify(&rig.pipe, 7);
    rig_submit('a', 0, WRITE);
    rig_write_all();
    prepare();
    identify(greeter, 8);
    greeter->greeting.style = SHOAL__GREETING_FULL;
    rig_submit('b', 0, WRITE);
    rig.now_us = rig.pipe.renewal.end_us;
    assert_true(makes_way());
    succeed();
    assert_int_equal(rig.pipe.phase, SHOAL__PIPE_GREETING);
    assert_ptr_equal(rig.shared.doubtful, &rig.pipe);
    shoal__bytes_t out = shoal__pipe_output(&rig.pipe, rig.now_us, &wake_us);
    assert_true(out.bytes > 0);
    assert_memory_equal(out.data, "*8\r\n$6\r\nCLIENT\r\n$4\r\nKILL\r\n", 26);
    shoal__pipe_written(&rig.pipe, out.bytes, rig.now_us);
    rig_feed(":1\r\n");
    assert_int_equal(rig.pipe.phase, SHOAL__PIPE_READY);
    assert_true(rig.pipe.is_settled);
    assert_string_equal(rig_write_all(), "b");
    rig_feed("+b\r\n");
    assert_heard("a!ECONN/maybe b=+b ");
}

/* ---- in place ---- */

/* New credentials are said over the present connection. */
static void drain_in_place(void)
{
    shoal__renewal_want_in_place(&rig.pipe.renewal, WHY, rig.now_us);
    assert_true(shoal__renewal_begins(&rig.pipe.renewal, rig.now_us));
    shoal__pipe_drain(&rig.pipe, rig.now_us);
}

static void authenticate(void)
{
    static const char auth[] = "*2\r\n$4\r\nAUTH\r\n$6\r\nsesame\r\n";
    shoal__bytes_t output;

    assert_int_equal(shoal__pipe_authenticate(&rig.pipe, rig.now_us), 0);
    assert_int_equal(rig.pipe.phase, SHOAL__PIPE_GREETING);
    output = rig_output();
    assert_int_equal(output.bytes, sizeof auth - 1);
    assert_memory_equal(output.data, auth, output.bytes);
    rig_write(output.bytes);
    assert_int_equal(rig_output().bytes, 0); /* alone */
}

static void test_in_place(void **state)
{
    static const char *const answers[] = {"+OK\r\n", "-WRONGPASS no sesame\r\n"};
    char sesame[] = "sesame";

    (void)state;
    rig_connect();
    rig.secret.password = sesame;
    for (size_t i = 0; i < 2; i++) {
        uint64_t settled = counter(&rig.pipe.stats.settled);
        rig_submit('a', 0, WRITE);
        assert_string_equal(rig_write_all(), "a");
        drain_in_place();
        rig_submit('b', SHOAL__REQUEST_ONCE, WRITE);
        assert_string_equal(rig_write_all(), "");
        rig.now_us += 1500000; /* longer than a successor waits */
        assert_false(makes_way());
        rig_feed("+a\r\n");
        assert_true(makes_way());
        authenticate();
        assert_int_equal(rig_feed(answers[i]), 0);
        assert_int_equal(rig.pipe.phase, SHOAL__PIPE_READY);
        assert_int_equal(rig.pipe.greeting.is_refused, i == 1);
        assert_true(rig.pipe.is_settled);
        assert_int_equal(counter(&rig.pipe.stats.settled), settled);
        assert_string_equal(rig_write_all(), "b");
        rig_feed("+b\r\n");
        rig.now_us += 60000000;
    }
    assert_heard("a=+a b=+b a=+a b=+b ");
}

static void test_in_place_without_credentials(void **state)
{
    (void)state;
    rig_connect();
    drain_in_place();
    assert_int_equal(shoal__pipe_authenticate(&rig.pipe, rig.now_us), 0);
    assert_int_equal(rig.pipe.phase, SHOAL__PIPE_READY);
    assert_int_equal(rig_output().bytes, 0);
}

static void test_in_place_an_answer_of_another_shape(void **state)
{
    char sesame[] = "sesame";

    (void)state;
    rig_connect();
    rig.secret.password = sesame;
    drain_in_place();
    authenticate();
    assert_int_equal(rig_feed(":1\r\n"), SHOAL_EDESYNC);
}

/* What worked before may work again: a fault of TLS fails no command then. */
static void test_in_place_the_connection_is_lost(void **state)
{
    char sesame[] = "sesame";

    (void)state;
    rig_connect();
    rig.secret.password = sesame;
    drain_in_place();
    rig_submit('a', 0, WRITE);
    authenticate();
    shoal__pipe_lost(&rig.pipe, SHOAL_ETLS, "a bad record", rig.now_us);
    assert_heard("");
    assert_int_equal(rig.pipe.attempts_failed, 0);
    shoal__pipe_lost(&rig.pipe, SHOAL_ETLS, "no handshake", rig.now_us);
    assert_int_equal(rig.pipe.attempts_failed, 1);
}

static void test_without_memory(void **state)
{
    static char password[9000]; /* more than is there */

    memset(password, 'p', sizeof password - 1);
    (void)state;
    rig_connect();
    shoal__test_fail_alloc_after(0);
    assert_null(shoal__pipe_new_greeter(&rig.pipe));
    shoal__test_fail_alloc_after(1);
    assert_null(shoal__pipe_new_greeter(&rig.pipe));
    shoal__test_fail_alloc_never();
    shoal__pipe_free_greeter(&rig.pipe, NULL);

    prepare();
    shoal__pipe_rest(&rig.pipe);
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__pipe_succeed(&rig.pipe, greeter, rig.now_us), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    shoal__pipe_free_greeter(&rig.pipe, greeter);
    rig_lose();
    rig_connect();

    rig.now_us += 60000000;
    rig.secret.password = password;
    drain_in_place();
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__pipe_authenticate(&rig.pipe, rig.now_us), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    rig.secret.password = NULL;
    rig_lose();
    rig_connect();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_queued_commands_go_on_over_the_successor),
        TEST(test_what_is_unanswered_is_settled),
        TEST(test_a_deposed_server_is_left_sooner),
        TEST(test_the_rest_of_a_unit_leaves_first),
        TEST(test_what_was_begun_leaves_first),
        TEST(test_a_demoted_server_is_drained),
        TEST(test_half_a_push_of_the_successor),
        TEST(test_held_commands),
        TEST(test_nothing_is_probed_where_it_is_of_no_use),
        TEST(test_the_former_connection_is_ended_first),
        TEST(test_in_place),
        TEST(test_in_place_without_credentials),
        TEST(test_in_place_an_answer_of_another_shape),
        TEST(test_in_place_the_connection_is_lost),
        TEST(test_without_memory),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_succession", tests, NULL, NULL);
}
