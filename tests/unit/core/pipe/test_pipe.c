/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"
#include "unit/resp/scarce_hiredis.h"

/* ---- construction ---- */

/* Leaks on the way are for AddressSanitizer to find. */
static void test_init_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        shoal__pipe_t pipe;

        shoal__test_fail_alloc_after(allowed);
        int rc = rig_init(&pipe);
        shoal__test_fail_alloc_never();
        if (rc == 0) {
            shoal__pipe_release(&pipe);
            assert_true(allowed >= 2);
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

/* The greeting's bytes, or the decoder's new reader: the next attempt has them. */
static void test_no_memory_to_begin(void **state)
{
    (void)state;
    rig_submit('a', 0, WRITE);
    shoal__test_fail_alloc_after(0);
    int rc = shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us);
    shoal__test_fail_alloc_never();
    assert_int_equal(rc, SHOAL_ENOMEM);
    assert_string_equal(rig.pipe.detail, "out of memory");
    shoal__pipe_lost(&rig.pipe, rc, rig.pipe.detail, rig.now_us);

    allow_hiredis(0);
    rc = shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us);
    hiredisResetAllocators();
    assert_int_equal(rc, SHOAL_ENOMEM);
    assert_int_equal(rig_output().bytes, 0);
    assert_non_null(strstr(rig.pipe.detail, "no memory"));
    shoal__pipe_lost(&rig.pipe, rc, rig.pipe.detail, rig.now_us);
    assert_heard("");

    rig_connect();
    assert_string_equal(rig_write_all(), "a");
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_heard("a=+OK ");
}

/* ---- the way of a command ---- */

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

/* ---- greeting ---- */

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

static void test_an_error_before_any_question_has_its_text(void **state)
{
    (void)state;
    shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us);
    rig_write(rig_output().bytes);
    assert_int_equal(rig_feed("-ERR max number of clients reached\r\n"), SHOAL_ECONN);
    assert_non_null(strstr(rig.pipe.detail, "max number of clients"));
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

static int tear_down_with_memory(void **state)
{
    hiredis_tear_down(state);
    return rig_tear_down(state);
}

/* ---- what others wait for ---- */

/* Is a command outstanding that was submitted so early?  It may stand in the ring, be
 * held, or stand in the ring again behind younger ones. */
static void test_commands_since(void **state)
{
    (void)state;
    rig_connect();
    assert_false(shoal__pipe_has_since(&rig.pipe, rig.now_us));
    uint64_t first_us = rig.now_us;
    rig_submit('a', 0, RO);
    rig_tick(rig.now_us + 10);
    rig_submit('b', 0, RO);
    assert_true(shoal__pipe_has_since(&rig.pipe, first_us));
    assert_false(shoal__pipe_has_since(&rig.pipe, first_us - 1));

    rig_write_all();
    rig_feed("-TRYAGAIN x\r\n");
    assert_true(shoal__pipe_has_since(&rig.pipe, first_us));
    assert_false(shoal__pipe_has_since(&rig.pipe, first_us - 1));
    rig_tick(rig.now_us + 1000000);
    assert_true(shoal__pipe_has_since(&rig.pipe, first_us)); /* behind b */
    assert_false(shoal__pipe_has_since(&rig.pipe, first_us - 1));
    rig_write_all();
    rig_feed("+x\r\n+x\r\n");
    assert_heard("b=+x a=+x ");
    assert_false(shoal__pipe_has_since(&rig.pipe, rig.now_us));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_init_survives_every_failed_allocation),
        TEST(test_a_failed_reservation_changes_nothing),
        cmocka_unit_test_setup_teardown(test_no_memory_to_begin, rig_set_up,
                                        tear_down_with_memory),
        TEST(test_the_steady_state_allocates_nothing),
        TEST(test_nothing_precedes_the_end_of_the_greeting),
        TEST(test_an_error_before_any_question_has_its_text),
        TEST(test_published_figures),
        TEST(test_commands_since),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe", tests, NULL, NULL);
}
