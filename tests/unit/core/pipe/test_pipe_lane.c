/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

#include "core/pipe/pipe_lane.h"

static bool knows(char name)
{
    char encoded[] = "*1\r\n$1\r\na\r\n";

    encoded[8] = name;
    return shoal__heavy_knows(&rig.shared.heavy,
                              shoal__heavy_command((shoal__bytes_t){encoded, 11}),
                              rig.now_us);
}

static void connect_learning(void)
{
    rig.config.learns = true;
    rig_connect();
}

static void test_large(void **state)
{
    static char part[65536];
    (void)state;

    memset(part, '1', sizeof part);
    connect_learning();
    rig_submit('a', 0, RO);
    rig_submit('b', 0, RO);
    rig_write_all();
    assert_int_equal(rig_feed("+x\r\n*6\r\n"), 0);
    for (int i = 0; i < 5; i++) {
        assert_false(knows('b'));
        assert_int_equal(rig_feed("$60000\r\n"), 0);
        assert_int_equal(shoal__pipe_feed(&rig.pipe, part, 60000, rig.now_us), 0);
        assert_int_equal(rig_feed("\r\n"), 0);
    }
    assert_true(knows('b'));
    assert_false(knows('a'));
    assert_int_equal(rig_feed(":1\r\n"), 0);
    assert_heard("a=+x b=*6 ");
}

/* The room for a large string takes it whole: the read that ends it counts as well. */
static void test_large_in_one_read(void **state)
{
    static char text[300002];
    (void)state;

    memset(text, '1', sizeof text - 2);
    memcpy(text + sizeof text - 2, "\r\n", 2);
    connect_learning();
    assert_false(rig.shared.wants_bulk);
    rig_submit('a', 0, RO);
    rig_write_all();
    assert_int_equal(rig_feed("$300000\r\n"), 0);
    assert_int_equal(shoal__pipe_feed(&rig.pipe, text, sizeof text, rig.now_us), 0);
    assert_true(knows('a'));
    assert_true(rig.shared.wants_bulk);
}

/* Many small replies are not a large one: 20 of 2 KB in each read. */
static void test_many_small_ones(void **state)
{
    static char replies[20 * 2006];
    (void)state;

    for (size_t i = 0; i < 20; i++) {
        memcpy(replies + i * 2006, "*500\r\n", 6);
        for (size_t k = 0; k < 500; k++)
            memcpy(replies + i * 2006 + 6 + k * 4, ":1\r\n", 4);
    }
    connect_learning();
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0; i < 20; i++)
            rig_submit('a', 0, RO);
        rig_write_all();
        assert_int_equal(
            shoal__pipe_feed(&rig.pipe, replies, sizeof replies, rig.now_us), 0);
        rig.heard[0] = '\0';
    }
    assert_false(rig.shared.wants_bulk);
}

static void feed_large(void)
{
    static char part[65536];

    memset(part, '1', sizeof part);
    rig_submit('a', 0, RO);
    rig_write_all();
    assert_int_equal(rig_feed("*6\r\n"), 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(rig_feed("$60000\r\n"), 0);
        assert_int_equal(shoal__pipe_feed(&rig.pipe, part, 60000, rig.now_us), 0);
        assert_int_equal(rig_feed("\r\n"), 0);
    }
}

static void test_without_learning(void **state)
{
    (void)state;
    rig_connect();
    feed_large();
    assert_false(knows('a'));
    assert_false(rig.shared.wants_bulk);
}

static void test_the_oldest(void **state)
{
    (void)state;
    rig_connect();
    assert_true(shoal__pipe_oldest_us(&rig.pipe) == SHOAL__NEVER_US);
    assert_true(shoal__pipe_youngest_us(&rig.pipe) == 0);
    uint64_t first_us = rig.now_us;
    rig_submit('a', 0, RO);
    rig_tick(rig.now_us + 10);
    rig_submit('b', 0, RO);
    assert_true(shoal__pipe_youngest_us(&rig.pipe) == first_us + 10);
    assert_true(shoal__pipe_oldest_us(&rig.pipe) == first_us);
    rig_write_all();
    assert_int_equal(rig_feed("+x\r\n"), 0);
    assert_true(shoal__pipe_oldest_us(&rig.pipe) == first_us + 10);
    assert_int_equal(rig_feed("-LOADING x\r\n"), 0); /* it waits to be sent again */
    assert_true(shoal__pipe_oldest_us(&rig.pipe) == 0);
    rig_submit('c', 0, RO); /* is younger than the one that waits */
    assert_true(shoal__pipe_oldest_us(&rig.pipe) == 0);
    rig_tick(rig.now_us + 1000000);
    rig_write_all(); /* it asks the server alone */
    assert_int_equal(rig_feed("+x\r\n"), 0);
    rig_write_all();
    assert_int_equal(rig_feed("+x\r\n"), 0);
    assert_true(shoal__pipe_oldest_us(&rig.pipe) == SHOAL__NEVER_US);
}

/* A command that waits alone lets others pass: it then stands behind them. */
static void test_the_oldest_behind_a_younger_one(void **state)
{
    (void)state;
    rig_connect();
    uint64_t first_us = rig.now_us;
    rig_submit('a', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_feed("-TRYAGAIN x\r\n"), 0);
    rig_tick(rig.now_us + 10);
    rig_submit('b', 0, RO);
    rig_write_all();
    rig_tick(rig.now_us + 1000000);
    rig_write_all();
    assert_int_equal(shoal__pipe_held(&rig.pipe), 0);
    assert_true(shoal__pipe_oldest_us(&rig.pipe) == first_us);
    assert_int_equal(rig_feed("+x\r\n+x\r\n"), 0);
    assert_true(shoal__pipe_oldest_us(&rig.pipe) == SHOAL__NEVER_US);
}

/* The loop thread's commands pass those that wait in the mailbox. */
static void test_the_oldest_was_queued_last(void **state)
{
    (void)state;
    rig_connect();
    uint64_t first_us = rig.now_us;
    rig_submit('a', 0, RO);
    rig.now_us -= 5;
    rig_submit('b', 0, RO);
    rig.now_us += 5;
    assert_true(shoal__pipe_oldest_us(&rig.pipe) == first_us - 5);
    assert_true(shoal__pipe_youngest_us(&rig.pipe) == first_us);
    assert_true(shoal__pipe_has_since(&rig.pipe, first_us - 5));
    assert_false(shoal__pipe_has_since(&rig.pipe, first_us - 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_large, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_large_in_one_read, rig_set_up,
                                        rig_tear_down),
        cmocka_unit_test_setup_teardown(test_many_small_ones, rig_set_up,
                                        rig_tear_down),
        cmocka_unit_test_setup_teardown(test_without_learning, rig_set_up,
                                        rig_tear_down),
        cmocka_unit_test_setup_teardown(test_the_oldest, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_the_oldest_was_queued_last, rig_set_up,
                                        rig_tear_down),
        cmocka_unit_test_setup_teardown(test_the_oldest_behind_a_younger_one,
                                        rig_set_up, rig_tear_down),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_lane", tests, NULL, NULL);
}
