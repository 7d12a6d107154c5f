/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/fence_rig.h"
#include "unit/resp/scarce_hiredis.h"

/* An idle connection gives memory back, and takes it again. */

#define SHAPES SHOAL_INTEGRITY_SHAPES
#define REST_AFTER_US 1000000

static const shoal_integrity_t integrities[] = {SHAPES, DETECT, STRICT};

#define FOR_EACH_INTEGRITY(i)                                                          \
    for (size_t i = 0; i < sizeof integrities / sizeof *integrities; i++)

/* What the decoder holds cannot be seen from here. */
static bool is_at_rest(void)
{
    const shoal__pipe_t *pipe = &rig.pipe;

    return !pipe->is_warm && pipe->ring.room == 0 && pipe->log.capacity == 0 &&
           pipe->held.bytes.capacity == 0 && pipe->greeting.outgoing.capacity == 0 &&
           !pipe->times.queues;
}

static void rest(void)
{
    pass_us(REST_AFTER_US);
    assert_true(is_at_rest());
}

static void test_rests_a_second_after_the_last_bytes(void **state)
{
    (void)state;
    FOR_EACH_INTEGRITY(i)
    {
        connect_with(integrities[i], true);
        pass_us(999000);
        rig_submit('a', 0, RO);
        write_all();
        pass_us(5000);
        assert_int_equal(answer(integrities[i] == SHAPES   ? ":1\r\n"
                                : integrities[i] == DETECT ? "F:1\r\n"
                                                           : ":1\r\nF"),
                         0);
        assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe),
                         rig.now_us + REST_AFTER_US);
        pass_us(REST_AFTER_US - 1);
        assert_true(rig.pipe.is_warm);
        pass_us(1);
        assert_true(is_at_rest());
        assert_heard("a=:1 ");
    }
}

/* Once: there is nothing more to wake up for. */
static void test_nothing_wakes_what_rests(void **state)
{
    (void)state;
    FOR_EACH_INTEGRITY(i)
    {
        connect_with(integrities[i], true);
        rest();
        uint64_t before = shoal__alloc_count();
        for (int second = 0; second < 10; second++) {
            assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), SHOAL__NEVER_US);
            assert_int_equal(rig_output().bytes, 0);
            pass_us(REST_AFTER_US);
        }
        assert_true(is_at_rest());
        assert_int_equal(shoal__alloc_count(), before);
    }
}

static void test_wakes_with_the_next_command(void **state)
{
    static const struct {
        shoal_integrity_t integrity;
        const char *written, *answers, *heard;
    } cases[] = {
        {SHAPES, "a", "+OK\r\n", "a=+OK "},
        {SHAPES, "a", "*2\r\n$1\r\nx\r\n:7\r\n", "a=*2 "},
        {SHAPES, "a", "-ERR no\r\n", "a=-ERR no "},
        {DETECT, "Fa", "F$5\r\nhello\r\n", "a=$hello "},
        {DETECT, "Fa", "F-ERR no\r\n", "a=-ERR no "},
        {STRICT, "aF", "$5\r\nhello\r\nF", "a=$hello "},
        {STRICT, "aF", "*1\r\n*1\r\n+x\r\nF", "a=*1 "},
        {STRICT, "aF", "-ERR no\r\nF", "a=-ERR no "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        connect_with(cases[i].integrity, true);
        for (int round = 0; round < 3; round++) {
            rest();
            rig_submit('a', 0, RO);
            assert_written(cases[i].written);
            assert_int_equal(answer(cases[i].answers), 0);
            assert_heard(cases[i].heard);
            assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe),
                             rig.now_us + REST_AFTER_US);
        }
        assert_int_equal(counter(&rig.pipe.stats.completed), 3);
        assert_int_equal(counter(&rig.shared.latencies.of[SHOAL_STAGE_WIRE][0]), 3);
    }
}

static void test_a_wrong_fence_is_noticed_after_a_rest(void **state)
{
    (void)state;
    for (int i = 1; i < 3; i++) {
        connect_with(integrities[i], true);
        rest();
        rig_submit('a', 0, WRITE);
        write_all();
        assert_int_equal(answer("$16\r\n0123456789abcdef\r\n"
                                "$16\r\n0123456789abcdef\r\n"),
                         SHOAL_EDESYNC);
        rig_lose();
        assert_heard("a!ECONN/maybe ");
    }
}

/* ---- when it may not ---- */

static void queue(void)
{
    rig_submit('a', 0, WRITE);
}

static void write_a_part(void)
{
    rig_submit('a', 0, WRITE);
    rig_write(5);
}

static void write_it(void)
{
    rig_submit('a', 0, WRITE);
    rig_write_all();
}

static void answer_a_part(void)
{
    write_it();
    assert_int_equal(rig_feed("$5\r\nhel"), 0);
}

static void make_a_zombie(void)
{
    write_it();
    assert_true(rig_cancel('a'));
    assert_heard("a!ECANCELLED/maybe ");
}

static void test_never_while_something_is_outstanding(void **state)
{
    static const struct {
        void (*act)(void);
        const char *answer, *heard;
    } cases[] = {
        {queue, "+OK\r\n", "a=+OK "},    {write_a_part, "+OK\r\n", "a=+OK "},
        {write_it, "+OK\r\n", "a=+OK "}, {answer_a_part, "lo\r\n", "a=$hello "},
        {make_a_zombie, ":1\r\n", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        connect_with(SHAPES, true);
        cases[i].act();
        assert_true(shoal__pipe_next_wake_us(&rig.pipe) > rig.now_us + REST_AFTER_US);
        for (int second = 0; second < 3; second++)
            pass_us(REST_AFTER_US);
        assert_true(rig.pipe.is_warm);
        rig_write_all();
        assert_int_equal(rig_feed(cases[i].answer), 0);
        assert_heard(cases[i].heard);
        rest();
    }
}

static void test_never_while_a_reply_is_held(void **state)
{
    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, RO);
    write_all();
    assert_int_equal(answer("+OK\r\n"), 0);
    pass_us(3 * REST_AFTER_US);
    assert_true(rig.pipe.is_warm);
    assert_heard("");
    assert_int_equal(answer("F"), 0);
    assert_heard("a=+OK ");
    rest();
}

/* A demoted server was heard so long ago that it would be time; the command goes to the
 * next connection. */
static void test_never_while_a_command_is_held(void **state)
{
    (void)state;
    connect_with(SHAPES, true);
    write_it();
    assert_int_equal(rig_feed("-READONLY x\r\n"), 0);
    assert_int_equal(shoal__pipe_held(&rig.pipe), 1);
    assert_int_equal(rig_tick(rig.now_us + 2 * REST_AFTER_US), 0);
    assert_true(rig.pipe.is_warm);
    rig_lose();
    rig_connect();
    pass_us(0);
    assert_string_equal(rig_write_all(), "a");
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_heard("a=+OK ");
    rest();
}

static void test_never_during_a_greeting(void **state)
{
    (void)state;
    rig.config.greeting.database = 1;
    assert_int_equal(shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_BARE, rig.now_us), 0);
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), SHOAL__NEVER_US);
    pass_us(2 * REST_AFTER_US);
    assert_true(rig.pipe.is_warm);
    rig_write(rig_output().bytes);
    assert_int_equal(rig_feed("+O"), 0);
    pass_us(2 * REST_AFTER_US);
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), SHOAL__NEVER_US);
    assert_true(rig.pipe.is_warm);
    assert_int_equal(rig_feed("K\r\n"), 0);
    assert_int_equal(rig.pipe.phase, SHOAL__PIPE_READY);
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us + REST_AFTER_US);
    rest();
}

static void test_never_without_a_connection(void **state)
{
    (void)state;
    connect_with(SHAPES, true);
    rig_lose();
    assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), SHOAL__NEVER_US);
    pass_us(2 * REST_AFTER_US);
    assert_true(rig.pipe.is_warm);
    rig_connect();
    rest();

    /* What rests may be lost, and the next connection is as any other. */
    rig_lose();
    assert_heard("");
    queue();
    rig_connect();
    assert_string_equal(rig_write_all(), "a");
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_heard("a=+OK ");
    rest();
}

/* ---- between commands ---- */

static void test_a_ping_interrupts_the_rest(void **state)
{
    (void)state;
    rig.config.ping_idle_us = 3 * REST_AFTER_US;
    connect_with(SHAPES, true);
    for (int round = 0; round < 3; round++) {
        uint64_t heard_us = rig.now_us;
        rest();
        assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe),
                         heard_us + 3 * REST_AFTER_US);
        pass_us(2 * REST_AFTER_US);
        assert_int_equal(rig_output().bytes, 14);
        rig_write(14);
        assert_int_equal(rig_feed("+PONG\r\n"), 0);
        assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe),
                         rig.now_us + REST_AFTER_US);
    }
}

static void test_a_ping_that_is_due_goes_first(void **state)
{
    (void)state;
    rig.config.ping_idle_us = REST_AFTER_US;
    connect_with(SHAPES, true);
    pass_us(REST_AFTER_US);
    assert_true(rig.pipe.is_warm);
    assert_int_equal(rig_output().bytes, 14);
}

static unsigned pushes;

static void count_push(void *owner, const shoal_reply_t *push)
{
    assert_ptr_equal(owner, &rig);
    assert_int_equal(shoal_reply_count(push), 2);
    pushes++;
}

/* The memory that a push took goes as well; half a push is not forgotten. */
static void test_a_push_interrupts_the_rest(void **state)
{
    (void)state;
    FOR_EACH_INTEGRITY(i)
    {
        pushes = 0;
        connect_with(integrities[i], true);
        rig.pipe.is_resp3 = true;
        rig.pipe.hooks.on_push = count_push;
        rest();
        assert_int_equal(answer(">2\r\n+x\r\n+y\r\n"), 0);
        assert_int_equal(pushes, 1);
        assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe),
                         rig.now_us + REST_AFTER_US);
        rest();
        assert_int_equal(answer(">2\r\n+x\r\n+"), 0);
        pass_us(REST_AFTER_US);
        assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), SHOAL__NEVER_US);
        assert_int_equal(answer("y\r\n"), 0);
        assert_int_equal(pushes, 2);
        rest();
    }
}

/* ---- without memory ---- */

static void test_no_memory_to_wake_up(void **state)
{
    (void)state;
    connect_with(SHAPES, true);
    rest();
    for (size_t allowed = 0; allowed < 2; allowed++) {
        shoal__test_fail_alloc_after(allowed);
        assert_null(shoal__pipe_reserve(&rig.pipe, COMMAND_BYTES, 1));
        shoal__test_fail_alloc_never();
    }
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), 0);
    assert_int_equal(rig_output().bytes, 0);
    rest(); /* what was taken in vain goes again */
    write_it();
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_heard("a=+OK ");
}

static void test_no_memory_for_the_reply(void **state)
{
    (void)state;
    FOR_EACH_INTEGRITY(i)
    {
        connect_with(integrities[i], true);
        rest();
        rig_submit('a', IDEMPOTENT, RO);
        write_all();
        allow_hiredis(0);
        int rc = answer(integrities[i] == SHAPES   ? "+OK\r\n"
                        : integrities[i] == DETECT ? "F+OK\r\n"
                                                   : "+OK\r\nF");
        allow_hiredis(SIZE_MAX);
        assert_int_equal(rc, SHOAL_ENOMEM);
        assert_string_equal(rig.pipe.detail, "out of memory");
        rig_lose();
        assert_heard(""); /* it is sent again */
        rig.config.greeting.integrity = SHAPES;
        rig_connect();
        assert_string_equal(rig_write_all(), "a");
        assert_int_equal(rig_feed("+OK\r\n"), 0);
        assert_heard("a=+OK ");
    }
}

static int tear_down(void **state)
{
    hiredis_tear_down(state);
    return rig_tear_down(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rests_a_second_after_the_last_bytes),
        TEST(test_nothing_wakes_what_rests),
        TEST(test_wakes_with_the_next_command),
        TEST(test_a_wrong_fence_is_noticed_after_a_rest),
        TEST(test_never_while_something_is_outstanding),
        TEST(test_never_while_a_reply_is_held),
        TEST(test_never_while_a_command_is_held),
        TEST(test_never_during_a_greeting),
        TEST(test_never_without_a_connection),
        TEST(test_a_ping_interrupts_the_rest),
        TEST(test_a_ping_that_is_due_goes_first),
        TEST(test_a_push_interrupts_the_rest),
        TEST(test_no_memory_to_wake_up),
        TEST(test_no_memory_for_the_reply),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_time.rest", tests, NULL, NULL);
}
