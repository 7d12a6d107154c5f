/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/values_rig.h"

/* ---- giving up ---- */

/* The result of b, given up when so many bytes were written: by a cancel or a deadline. */
static void check_given_up(size_t bytes, bool is_cancel)
{
    bool is_begun = bytes > COMMAND_BYTES;
    const char *code = is_cancel ? "ECANCELLED" : "ETIMEOUT";
    char heard[64];
    shoal__request_t request;
    uint64_t copied = counter(&rig.pipe.stats.bytes_copied);
    size_t begun = is_begun ? bytes - COMMAND_BYTES : 0;

    written_bytes = 0;
    rig_submit('a', 0, WRITE);
    request = lent_request('b', 0, WRITE);
    request.deadline_us = is_cancel ? SHOAL__NEVER_US : rig.now_us + 10;
    push_lent(&request);
    rig_submit('c', 0, WRITE);
    if (bytes > 0)
        write_some(bytes);
    if (is_cancel)
        assert_true(rig_cancel('b'));
    else
        rig_tick(rig.now_us + 10 + SHOAL__DEADLINES_DELAY_US_MAX);
    snprintf(heard, sizeof heard, "b!%s/%s ", code, is_begun ? "maybe" : "no");
    assert_heard(heard);
    assert_int_equal(loan_of('b')->released, 1);
    assert_int_equal(rig.pipe.referred_bytes, 0);

    /* The rest of the second value at least is copied until it has left. */
    copied = counter(&rig.pipe.stats.bytes_copied) - copied;
    if (begun == 0 || begun >= LENT_BYTES - 2)
        assert_int_equal(copied, 0);
    else if (begun <= 15)
        assert_int_equal(copied, VALUE_BYTES);
    else
        assert_in_range(copied, 0, VALUE_BYTES - 1);
    write_rest();
    assert_written(is_begun ? "aBc" : "ac");
    rig_feed(is_begun ? "+1\r\n+2\r\n+3\r\n" : "+1\r\n+3\r\n");
    assert_heard("a=+1 c=+3 ");
    assert_int_equal(loan_of('b')->released, 1);
    assert_nothing_left();
}

static void test_given_up_at_each_byte(void **state)
{
    (void)state;
    rig_connect();
    for (size_t bytes = 0; bytes <= THREE_BYTES; bytes++) {
        check_given_up(bytes, true);
        check_given_up(bytes, false);
    }
}

/* The connection is given up, because what is left cannot be kept. */
static void test_no_memory_for_the_rest(void **state)
{
    (void)state;
    for (size_t bytes = COMMAND_BYTES + 1; bytes < COMMAND_BYTES + LENT_BYTES - 2;
         bytes++) {
        rig_connect();
        submit_three(0, WRITE);
        write_some(bytes);
        /* No room in the log. */
        rig.pipe.log.capacity = rig.pipe.log.tail;
        shoal__test_fail_alloc_after(0);
        assert_true(rig_cancel('b'));
        shoal__test_fail_alloc_never();
        rig.pipe.log.capacity = 512;
        assert_heard("b!ECANCELLED/maybe ");
        assert_int_equal(loan_of('b')->released, 1);
        assert_int_equal(rig_output().bytes, 0);
        assert_int_equal(shoal__pipe_next_wake_us(&rig.pipe), rig.now_us);
        assert_int_equal(rig_tick(rig.now_us), SHOAL_ENOMEM);
        assert_non_null(strstr(rig.pipe.detail, "no memory"));
        rig_lose();
        assert_heard("a!ECONN/maybe ");
        rig_connect();
        written_bytes = 0;
        write_rest();
        assert_written("c");
        rig_feed("+3\r\n");
        assert_heard("c=+3 ");
        assert_nothing_left();
        rig_lose();
    }
}

/* A part of a unit that is given up still leaves: its unit is under way. */
static void test_a_part_of_a_unit_that_is_under_way(void **state)
{
    (void)state;
    rig_connect();
    for (size_t bytes = 1; bytes <= COMMAND_BYTES + LENT_BYTES; bytes++) {
        written_bytes = 0;
        shoal__request_t request =
            rig_request('a', SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_FIRST, WRITE);
        rig_push(&request);
        submit_lent('b', SHOAL__REQUEST_UNIT, WRITE);
        submit_lent('c', SHOAL__REQUEST_UNIT, WRITE);
        request =
            rig_request('d', SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST, WRITE);
        rig_push(&request);
        write_some(bytes);
        assert_true(rig_cancel('c'));
        assert_heard("c!ECANCELLED/maybe ");
        assert_int_equal(loan_of('c')->released, 1);
        assert_int_equal(loan_of('b')->released, 0);
        assert_true(rig_cancel('b'));
        assert_heard("b!ECANCELLED/maybe ");
        assert_int_equal(loan_of('b')->released, 1);
        write_rest();
        assert_written("aBCd");
        rig_feed("+1\r\n+2\r\n+3\r\n*0\r\n");
        assert_heard("a=+1 d=*0 ");
        assert_nothing_left();
    }
}

/* ---- losses ---- */

static void test_lost_at_each_byte(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes <= THREE_BYTES; bytes++) {
        bool is_whole = bytes >= COMMAND_BYTES + LENT_BYTES;

        rig_connect();
        submit_three(0, WRITE);
        if (bytes > 0)
            write_some(bytes);
        rig_lose();
        assert_int_equal(loan_of('b')->released, is_whole);
        assert_int_equal(rig.pipe.referred_bytes, is_whole ? 0 : VALUE_BYTES);
        written_bytes = 0;
        rig_connect();
        /* One that was cut travels alone. */
        write_rest();
        while (shoal__request_ring_inflight(&rig.pipe.ring) > 0) {
            rig_feed("+again\r\n");
            write_rest();
        }
        if (bytes < COMMAND_BYTES)
            assert_written("aBc");
        else if (bytes < COMMAND_BYTES + LENT_BYTES)
            assert_written("Bc");
        else
            assert_written(bytes < THREE_BYTES ? "c" : "");
        assert_int_equal(loan_of('b')->released, 1);
        rig.heard[0] = '\0';
        assert_nothing_left();
        rig_lose();
    }
}

/* Sent again, with the same values, until its last result. */
static void test_lost_and_repeatable(void **state)
{
    (void)state;
    rig_connect();
    submit_three(IDEMPOTENT, WRITE);
    write_rest();
    assert_written("aBc");
    rig_lose();
    assert_heard("a!ECONN/maybe c!ECONN/maybe ");
    rig_connect();
    write_rest();
    assert_written("B");
    assert_int_equal(loan_of('b')->released, 0);
    rig_feed("+2\r\n");
    assert_heard("b=+2 ");
    assert_int_equal(loan_of('b')->released, 1);
    assert_nothing_left();
}

static void test_turned_away_and_sent_again(void **state)
{
    (void)state;
    rig_connect();
    submit_three(0, WRITE);
    write_rest();
    assert_written("aBc");
    rig_feed("+1\r\n-LOADING\r\n+3\r\n");
    assert_heard("a=+1 c=+3 ");
    assert_int_equal(loan_of('b')->released, 0);
    shoal__pipe_publish(&rig.pipe);
    assert_int_equal(counter(&rig.pipe.stats.bytes_now), LENT_BYTES);
    rig_tick(rig.now_us + 1000000);
    write_rest();
    assert_written("B");
    rig_feed("+2\r\n");
    assert_heard("b=+2 ");
    assert_int_equal(loan_of('b')->released, 1);
    assert_nothing_left();
}

static void test_turned_away_and_given_up(void **state)
{
    (void)state;
    rig_connect();
    submit_three(0, WRITE);
    write_rest();
    assert_written("aBc");
    rig_feed("+1\r\n-LOADING\r\n+3\r\n");
    assert_true(rig_cancel('b'));
    assert_heard("a=+1 c=+3 b!ECANCELLED/no ");
    assert_int_equal(loan_of('b')->released, 1);
    assert_nothing_left();
}

static void test_closed_at_each_byte(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes <= THREE_BYTES; bytes++) {
        rig_connect();
        submit_three(0, WRITE);
        if (bytes > 0)
            write_some(bytes);
        shoal__pipe_abandon(&rig.pipe, rig.now_us);
        assert_int_equal(loan_of('b')->released, 1);
        rig.heard[0] = '\0';
        assert_nothing_left();
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_given_up_at_each_byte),
        TEST(test_no_memory_for_the_rest),
        TEST(test_a_part_of_a_unit_that_is_under_way),
        TEST(test_lost_at_each_byte),
        TEST(test_lost_and_repeatable),
        TEST(test_turned_away_and_sent_again),
        TEST(test_turned_away_and_given_up),
        TEST(test_closed_at_each_byte),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_values.endings", tests, NULL,
                                       NULL);
}
