/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe_rig.h"

/* ---- construction ---- */

/* Leaks on the way are for AddressSanitizer to find. */
static void test_init_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        shoal__pipe_t pipe;

        shoal__test_fail_alloc_after(allowed);
        int rc = shoal__pipe_init(&pipe, &rig.config, NULL, &rig.random);
        shoal__test_fail_alloc_never();
        if (rc == 0) {
            shoal__pipe_release(&pipe);
            assert_true(allowed >= 3);
            return;
        }
        assert_int_equal(rc, SHOAL_ENOMEM);
    }
}

static void test_a_failed_reservation_changes_nothing(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    shoal__test_fail_alloc_after(0);
    assert_null(shoal__pipe_reserve(&rig.pipe, 1 << 20, 1));
    assert_null(shoal__pipe_reserve(&rig.pipe, 1, 1 << 20));
    shoal__test_fail_alloc_never();
    assert_string_equal(rig_write_all(), "a");
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_heard("a=+OK ");
}

/* ---- the way of a command ---- */

static void test_commands_get_their_replies_in_order(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, RO);
    assert_string_equal(rig_write_all(), "ab");
    rig_submit('c', 0, RO);
    assert_string_equal(rig_write_all(), "c");
    assert_int_equal(rig_feed(":1\r\n$3\r\ntwo\r\n-ERR three\r\n"), 0);
    assert_heard("a=:1 b=$two c=-ERR three ");
    assert_int_equal(rig.attempts, 1);
    assert_true(shoal__pipe_is_idle(&rig.pipe));
    assert_int_equal(counter(&rig.pipe.stats.completed), 3);
    assert_int_equal(counter(&rig.pipe.stats.replies), 3);
    assert_int_equal(counter(&rig.pipe.stats.error_replies), 1);
    assert_int_equal(counter(&rig.pipe.stats.flushes), 2);
}

static void test_every_partial_write(void **state)
{
    (void)state;
    static const char wire[] = "*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n*1\r\n$1\r\nc\r\n";
    const size_t bytes = sizeof wire - 1;

    rig_connect();
    for (size_t first = 1; first <= bytes; first++) {
        for (size_t second = 0; first + second <= bytes; second++) {
            size_t at = 0;
            for (const char *name = "abc"; *name; name++)
                rig_submit(*name, 0, WRITE);
            for (size_t part = first; at < bytes; part = second ? second : bytes) {
                shoal__bytes_t out = rig_output();
                assert_int_equal(out.bytes, bytes - at);
                assert_memory_equal(out.data, wire + at, out.bytes);
                if (part > out.bytes)
                    part = out.bytes;
                shoal__pipe_written(&rig.pipe, part, rig.now_us);
                at += part;
                assert_int_equal(shoal__request_ring_inflight(&rig.pipe.ring),
                                 at / COMMAND_BYTES);
            }
            assert_int_equal(rig_output().bytes, 0);
            rig_feed("+1\r\n+2\r\n+3\r\n");
            assert_heard("a=+1 b=+2 c=+3 ");
        }
    }
}

static void test_replies_byte_by_byte(void **state)
{
    (void)state;
    static const char replies[] = "$3\r\nx\r\n\r\n*2\r\n:1\r\n*1\r\n+x\r\n-ERR no\r\n";

    rig_connect();
    for (const char *name = "abc"; *name; name++)
        rig_submit(*name, 0, RO);
    rig_write_all();
    for (size_t i = 0; replies[i]; i++)
        assert_int_equal(shoal__pipe_feed(&rig.pipe, &replies[i], 1, rig.now_us), 0);
    assert_heard("a=$x\r\n b=*2 c=-ERR no ");
}

static void test_replies_may_come_while_a_command_is_partly_written(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    rig_write(COMMAND_BYTES + 3);
    rig_feed("+a\r\n");
    rig_submit('c', 0, WRITE);
    assert_int_equal(rig_output().bytes, COMMAND_BYTES - 3);
    rig_write(COMMAND_BYTES - 3);
    assert_string_equal(rig_write_all(), "c");
    rig_feed("+b\r\n+c\r\n");
    assert_heard("a=+a b=+b c=+c ");
}

static void test_no_more_is_in_flight_than_allowed(void **state)
{
    (void)state;
    rig.config.inflight_max = 2;
    rig_connect();
    for (const char *name = "abcde"; *name; name++)
        rig_submit(*name, 0, WRITE);
    assert_string_equal(rig_write_all(), "ab");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "c");
    rig_cancel('b'); /* a zombie counts: its reply is due */
    assert_string_equal(rig_write_all(), "");
    rig_feed("+b\r\n+c\r\n");
    assert_string_equal(rig_write_all(), "de");
    assert_heard("a=+a b!ECANCELLED/maybe c=+c ");
    assert_int_equal(counter(&rig.pipe.stats.zombies_dropped), 1);
}

static void test_the_steady_state_allocates_nothing(void **state)
{
    (void)state;
    rig_connect();
    uint64_t before = 0;
    for (int round = 0; round < 1000; round++) {
        if (round == 10)
            before = shoal__alloc_count();
        for (const char *name = names; *name; name++)
            rig_submit(*name, 0, WRITE);
        rig_write_all();
        for (const char *name = names; *name; name++)
            rig_feed("*2\r\n:1\r\n$1\r\nx\r\n");
        rig.heard[0] = '\0';
    }
    assert_int_equal(shoal__alloc_count(), before);
}

/* ---- greeting, pushes, protocol ---- */

static void test_nothing_precedes_the_end_of_the_greeting(void **state)
{
    (void)state;
    rig_submit('a', 0, RO);
    shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us);
    assert_memory_equal(rig_output().data, "*2\r\n$5\r\nHELLO\r\n", 15);
    rig_write(rig_output().bytes);
    assert_int_equal(rig_output().bytes, 0);
    assert_int_equal(rig_feed("%1\r\n+proto\r\n:3\r\n"), 0);
    rig_write(rig_output().bytes); /* CLIENT SETINFO, twice */
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_int_equal(rig_output().bytes, 0);
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_string_equal(rig_write_all(), "a");

    /* Pushes are allowed now, and take no slot. */
    assert_int_equal(rig_feed(">2\r\n+invalidate\r\n_\r\n+a\r\n>1\r\n+x\r\n"), 0);
    assert_heard("a=+a ");
    assert_int_equal(counter(&rig.pipe.stats.pushes), 2);
}

static void test_what_nobody_waits_for_is_the_end(void **state)
{
    (void)state;
    static const struct {
        const char *wire;
        const char *detail;
    } cases[] = {
        {"+OK\r\n", "nobody waits"},
        {"-ERR max number of clients reached\r\n", "max number of clients"},
        {">1\r\n+x\r\n", "nobody waits"}, /* RESP2 has no pushes */
        {"@\r\n", "Protocol error"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_connect();
        assert_int_equal(rig_feed(cases[i].wire), SHOAL_EDESYNC);
        assert_non_null(strstr(rig.pipe.detail, cases[i].detail));
        shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
    }
}

static void test_nothing_is_delivered_behind_a_violation(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    rig_write(COMMAND_BYTES);
    assert_int_equal(rig_feed("+a\r\n+nobody's\r\n+b\r\n"), SHOAL_EDESYNC);
    assert_heard("a=+a ");
}

static void test_an_error_before_any_question_has_its_text(void **state)
{
    (void)state;
    shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us);
    rig_write(rig_output().bytes);
    assert_int_equal(rig_feed("-ERR max number of clients reached\r\n"), SHOAL_ECONN);
    assert_non_null(strstr(rig.pipe.detail, "max number of clients"));
}

/* ---- sinks ---- */

static void test_sinks(void **state)
{
    (void)state;
    rig_connect();
    rig_submit_with_sink('a', RO);
    rig_submit_with_sink('b', RO);
    rig_submit_with_sink('c', RO);
    rig_write_all();
    rig_feed("*2\r\n:1\r\n*0\r\n+leaf\r\n-ERR no\r\n");
    assert_heard("a(begin) a(leaf) a(begin) a(end) a(end) a=sink b(leaf) b=sink "
                 "c=-ERR no ");
}

static void test_a_sink_serves_many(void **state)
{
    (void)state;
    shoal__sink_ref_t *ref = shoal__malloc(sizeof *ref);

    *ref = (shoal__sink_ref_t){&rig_sink, rig_name('z'), 3};
    rig_connect();
    for (const char *name = "abc"; *name; name++) {
        shoal__request_t request = rig_request(*name, 0, WRITE);
        request.sink = ref;
        rig_push(&request);
    }
    rig_write(2 * COMMAND_BYTES);
    rig_feed("+a\r\n");
    rig_lose(); /* b fails, c is kept, with the sink */
    rig_connect();
    rig_write_all();
    rig_feed("+c\r\n");
    assert_heard("z(leaf) a=sink b!ECONN/maybe z(leaf) c=sink ");
}

/* ---- figures ---- */

static void test_published_figures(void **state)
{
    (void)state;
    rig_connect();
    for (const char *name = "abc"; *name; name++)
        rig_submit(*name, 0, WRITE);
    rig_write(COMMAND_BYTES + 1);
    shoal__pipe_publish(&rig.pipe);
    assert_int_equal(counter(&rig.pipe.stats.queued_now), 2);
    assert_int_equal(counter(&rig.pipe.stats.inflight_now), 1);
    assert_int_equal(counter(&rig.pipe.stats.bytes_now), 3 * COMMAND_BYTES);
    rig_feed("-LOADING x\r\n");
    shoal__pipe_publish(&rig.pipe);
    assert_int_equal(counter(&rig.pipe.stats.bytes_now), 3 * COMMAND_BYTES);
    assert_int_equal(counter(&rig.pipe.stats.batch_histogram[1]), 1); /* 2 .. 3 */
    assert_int_equal(counter(&rig.pipe.stats.flush_reasons[SHOAL_FLUSHED_TURN]), 1);
}

/* With a pause between flushes: what is held, and what ends the hold at once. */
static void test_what_is_never_held(void **state)
{
    (void)state;
    static const struct {
        uint16_t flags;
        shoal__command_class_t command_class;
        uint64_t deadline_us;
        const char *leaves;
    } cases[] = {
        {0, WRITE, SHOAL__NEVER_US, ""},
        {0, WRITE, 90000, ""},
        {SHOAL__REQUEST_URGENT, WRITE, SHOAL__NEVER_US, "bc"},
        {0, SHOAL__CLASS_BLOCK, SHOAL__NEVER_US, "bc"},
        {0, WRITE, 1400, "bc"}, /* before the pause is over */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_tear_down(state);
        rig_set_up(state);
        rig.config.flush.mode = SHOAL_FLUSH_FIXED;
        rig.config.flush.pause_us = 500;
        shoal__flush_policy_init(&rig.pipe.flush, &rig.config.flush);
        rig_connect();
        rig_submit('a', 0, WRITE);
        assert_string_equal(rig_write_all(), "a");
        rig_submit('b', 0, WRITE);
        assert_string_equal(rig_write_all(), "");
        assert_true(shoal__pipe_wake_after(&rig.pipe) > 1);
        assert_int_equal(counter(&rig.pipe.stats.holds), 1);

        shoal__request_t request =
            rig_request('c', cases[i].flags, cases[i].command_class);
        request.deadline_us = cases[i].deadline_us;
        rig_push(&request);
        assert_string_equal(rig_write_all(), cases[i].leaves);
    }
}

/* All of many callers wait: half of them leave, and the rest when the reply comes. */
static void test_a_batch_that_leaves_in_two_halves(void **state)
{
    (void)state;
    const unsigned callers = 128;
    char replies[128 * 5 + 1] = "";
    uint64_t wake_us;

    rig.config.flush.mode = SHOAL_FLUSH_AUTO;
    rig.config.flush.pause_us = 100;
    rig.config.flush.has_fine_waker = true;
    shoal__flush_policy_init(&rig.pipe.flush, &rig.config.flush);
    rig.is_deaf = true;
    rig_connect();
    for (unsigned i = 0; i < callers; i++)
        rig_submit('a', 0, WRITE);
    rig_write(rig_output().bytes);
    assert_int_equal(rig.pipe.ring.sent - rig.pipe.ring.head, callers / 2);
    assert_int_equal(shoal__pipe_output(&rig.pipe, rig.now_us, &wake_us).bytes, 0);
    assert_in_range(wake_us, rig.now_us + 1, rig.now_us + 100);

    for (unsigned i = 0; i < callers / 2; i++)
        memcpy(replies + i * 5, "+OK\r\n", 6);
    assert_int_equal(rig_feed(replies), 0);
    rig_write(rig_output().bytes);
    assert_int_equal(rig.pipe.ring.sent - rig.pipe.ring.head, callers / 2);
    assert_int_equal(counter(&rig.pipe.stats.flush_reasons[SHOAL_FLUSHED_STAGGER]), 1);
    rig.now_us += 40;
    assert_int_equal(rig_feed(replies), 0);

    /* What auto knows of it is published. */
    shoal__pipe_publish(&rig.pipe);
    assert_int_equal(counter(&rig.pipe.stats.callers_now), callers);
    assert_int_equal(counter(&rig.pipe.stats.is_open_now), 0);
    assert_int_equal(counter(&rig.pipe.stats.holds), 1);
    assert_int_equal(counter(&rig.pipe.stats.rtt_us_now), 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_init_survives_every_failed_allocation),
        TEST(test_a_failed_reservation_changes_nothing),
        TEST(test_commands_get_their_replies_in_order),
        TEST(test_every_partial_write),
        TEST(test_replies_byte_by_byte),
        TEST(test_replies_may_come_while_a_command_is_partly_written),
        TEST(test_no_more_is_in_flight_than_allowed),
        TEST(test_the_steady_state_allocates_nothing),
        TEST(test_nothing_precedes_the_end_of_the_greeting),
        TEST(test_what_nobody_waits_for_is_the_end),
        TEST(test_nothing_is_delivered_behind_a_violation),
        TEST(test_an_error_before_any_question_has_its_text),
        TEST(test_sinks),
        TEST(test_a_sink_serves_many),
        TEST(test_published_figures),
        TEST(test_what_is_never_held),
        TEST(test_a_batch_that_leaves_in_two_halves),
    };
    return cmocka_run_group_tests_name("core/pipe", tests, NULL, NULL);
}
