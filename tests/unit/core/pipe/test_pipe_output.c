/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

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

static void test_nothing_leaves_without_a_connection(void **state)
{
    uint64_t wake_us = 0;

    (void)state;
    rig_submit('a', 0, WRITE);
    assert_int_equal(shoal__pipe_output(&rig.pipe, rig.now_us, &wake_us).bytes, 0);
    assert_int_equal(wake_us, SHOAL__NEVER_US);
    rig_connect();
    assert_string_equal(rig_write_all(), "a");
    rig_lose();
    rig_submit('b', 0, WRITE);
    assert_int_equal(shoal__pipe_output(&rig.pipe, rig.now_us, &wake_us).bytes, 0);
    assert_heard("a!ECONN/maybe ");
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

/* Many callers, whose first commands wait. */
static void begin_auto(unsigned callers)
{
    rig.config.flush.mode = SHOAL_FLUSH_AUTO;
    rig.config.flush.pause_us = 100;
    rig.config.flush.has_fine_waker = true;
    shoal__flush_policy_init(&rig.pipe.flush, &rig.config.flush);
    rig.is_deaf = true;
    rig_connect();
    for (unsigned i = 0; i < callers; i++)
        rig_submit('a', 0, WRITE);
}

/* Half of them leave, and the rest when the reply comes. */
static void test_a_batch_that_leaves_in_two_halves(void **state)
{
    (void)state;
    const unsigned callers = 128;
    char replies[128 * 5 + 1] = "";
    uint64_t wake_us;

    begin_auto(callers);
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

/* The half is more than may be in flight. */
static void test_a_half_that_is_too_large(void **state)
{
    (void)state;
    rig.config.inflight_max = 40;
    begin_auto(128);
    assert_int_equal(rig_output().bytes, 40 * COMMAND_BYTES);
    rig_write(40 * COMMAND_BYTES);
    assert_int_equal(rig_output().bytes, 0);
}

/* A flush of more commands than the histogram has classes for counts in the last. */
static void test_the_largest_batch(void **state)
{
    const uint64_t commands = UINT64_C(1) << SHOAL_STATS_BATCH_BUCKETS;

    (void)state;
    rig.config.inflight_max = commands;
    rig.config.flush.commands_max = commands;
    rig.config.flush.bytes_max = SIZE_MAX;
    shoal__flush_policy_init(&rig.pipe.flush, &rig.config.flush);
    rig.is_deaf = true;
    rig_connect();
    shoal__request_t request = rig_request('a', 0, WRITE);
    request.bytes = 1;
    for (uint64_t i = 0; i < commands; i++) {
        char *at = shoal__pipe_reserve(&rig.pipe, 1, 1);
        assert_non_null(at);
        *at = 'a';
        shoal__pipe_push(&rig.pipe, &request);
    }
    assert_int_not_equal(rig_output().bytes, 0);
    assert_int_equal(rig.pipe.authorised, commands);
    assert_int_equal(
        counter(&rig.pipe.stats.batch_histogram[SHOAL_STATS_BATCH_BUCKETS - 1]), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_partial_write),
        TEST(test_replies_may_come_while_a_command_is_partly_written),
        TEST(test_nothing_leaves_without_a_connection),
        TEST(test_no_more_is_in_flight_than_allowed),
        TEST(test_what_is_never_held),
        TEST(test_a_batch_that_leaves_in_two_halves),
        TEST(test_a_half_that_is_too_large),
        TEST(test_the_largest_batch),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_output", tests, NULL, NULL);
}
