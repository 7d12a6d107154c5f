/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

#include "core/pipe/pipe_extent.h"

static uint64_t place_of(char name)
{
    const shoal__request_ring_t *ring = &rig.pipe.ring;
    uint64_t at = ring->head;

    while (at != ring->tail && shoal__request_ring_at(ring, at)->tag != (uint64_t)name)
        at++;
    assert_true(at != ring->tail);
    return at;
}

static shoal__extent_t extent_of(char name)
{
    shoal__extent_t extent;

    shoal__extent_find(&rig.pipe.ring, place_of(name), &extent);
    return extent;
}

/* Letters, and "!" behind them if they cannot be sent again. */
static void check_extent(char name, const char *expected)
{
    shoal__extent_t extent = extent_of(name);
    char letters[16] = "";
    size_t count = 0;

    for (uint64_t at = extent.first; at != extent.last + 1; at++)
        letters[count++] = (char)shoal__request_ring_at(&rig.pipe.ring, at)->tag;
    if (!extent.is_whole)
        letters[count] = '!';
    assert_string_equal(letters, expected);
}

static void submit_all(uint16_t flags)
{
    rig_connect();
    rig_submit('a', flags, WRITE);
    rig_submit_unit("mxe", flags, SHOAL__NEVER_US);
    rig_submit('b', flags, WRITE);
}

/* ---- what goes together ---- */

static void test_extents(void **state)
{
    (void)state;
    submit_all(0);
    check_extent('a', "a");
    check_extent('m', "mxe");
    check_extent('x', "mxe");
    check_extent('e', "mxe");
    check_extent('b', "b");
}

static void test_a_unit_that_was_answered_in_part(void **state)
{
    (void)state;
    submit_all(0);
    rig_write_all();
    rig_feed("+a\r\n+OK\r\n");
    check_extent('x', "xe!");
    check_extent('e', "xe!");
    check_extent('b', "b");
}

static void test_a_unit_of_which_a_part_was_given_up(void **state)
{
    (void)state;
    submit_all(0);
    rig_write(2 * COMMAND_BYTES);
    assert_true(rig_cancel('x'));
    check_extent('m', "mxe!");
    check_extent('e', "mxe!");
}

/* In turn it is the same. */
static void test_following(void **state)
{
    shoal__extent_t extent;
    (void)state;

    submit_all(0);
    extent = (shoal__extent_t){.first = rig.pipe.ring.tail, .last = rig.pipe.ring.tail};
    for (const char *name = "amxeb"; *name; name++) {
        shoal__extent_t found = extent_of(*name);
        shoal__extent_follow(&rig.pipe.ring, place_of(*name), &extent);
        assert_int_equal(extent.first, found.first);
        assert_int_equal(extent.last, found.last);
        assert_int_equal(extent.is_whole, found.is_whole);
    }
}

/* ---- how far it got ---- */

/* Of a, m, x, e and b: queued, partly written, written, replying. */
static void check_progress(const char *expected)
{
    static const char letters[] = {[SHOAL__PROGRESS_QUEUED] = 'q',
                                   [SHOAL__PROGRESS_PARTLY] = 'p',
                                   [SHOAL__PROGRESS_WRITTEN] = 'w',
                                   [SHOAL__PROGRESS_REPLYING] = 'r'};
    char got[6] = "";

    for (size_t i = 0; i < 5; i++) {
        shoal__extent_t extent = extent_of("amxeb"[i]);
        got[i] =
            letters[shoal__pipe_progress(&rig.pipe, place_of("amxeb"[i]), &extent)];
    }
    assert_string_equal(got, expected);
}

/* A unit is written when its last byte is. */
static void test_progress(void **state)
{
    (void)state;
    submit_all(0);
    check_progress("qqqqq");
    rig_write(1);
    check_progress("pqqqq");
    rig_write(COMMAND_BYTES - 1);
    check_progress("wqqqq");
    rig_write(1);
    check_progress("wpppq");
    rig_write(2 * COMMAND_BYTES);
    check_progress("wpppq");
    rig_write(COMMAND_BYTES - 1);
    check_progress("wwwwq");
    rig_write_all();
    check_progress("wwwww");
    rig_feed("$5\r\nab");
    check_progress("rwwww");
}

/* ---- what becomes of it ---- */

static shoal__settle_action_t action_of(char name, bool may_retry)
{
    shoal__extent_t extent = extent_of(name);

    return shoal__pipe_settle(&rig.pipe, place_of(name), &extent, SHOAL__ENDING_LOST,
                              may_retry, false)
        .action;
}

static void test_settling(void **state)
{
    (void)state;
    rig.config.attempts_max = 2;
    submit_all(IDEMPOTENT);
    rig_write_all();
    assert_int_equal(action_of('x', true), SHOAL__SETTLE_RETRY);
    assert_int_equal(action_of('x', false), SHOAL__SETTLE_FAIL); /* by the budget */
    rig_feed("+a\r\n+OK\r\n");
    assert_int_equal(action_of('x', true), SHOAL__SETTLE_FAIL); /* not the whole unit */
    assert_int_equal(action_of('b', true), SHOAL__SETTLE_RETRY);
    rig.config.attempts_max = 1;
    assert_int_equal(action_of('b', true), SHOAL__SETTLE_FAIL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_extents),
        TEST(test_a_unit_that_was_answered_in_part),
        TEST(test_a_unit_of_which_a_part_was_given_up),
        TEST(test_following),
        TEST(test_progress),
        TEST(test_settling),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_extent", tests, NULL, NULL);
}
