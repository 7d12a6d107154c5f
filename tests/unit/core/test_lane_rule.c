/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "core/lane_rule.h"
#include <string.h>

static const struct row {
    shoal__lane_facts_t facts;
    bool is_bulk;
} rows[] = {
    {{0}, false},
    {{.has_write = true}, false},
    {{.is_marked = true}, true},
    {{.is_heavy = true}, true},
    {{.is_marked = true, .has_write = true}, true},
    {{.is_marked = true, .has_stray = true}, false},
    {{.is_heavy = true, .has_stray = true}, false},
    {{.is_marked = true, .has_write = true, .keeps_writes = true}, false},
    {{.is_heavy = true, .has_write = true, .keeps_writes = true}, false},
    {{.is_marked = true, .keeps_writes = true}, true},
};

static void test_which_commands_are_bulk(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(shoal__lane_is_bulk(&rows[i].facts), rows[i].is_bulk);
}

static shoal__lane_map_t map;

static void enter(uint64_t submitted_us, uint64_t key)
{
    shoal__lane_map_enter(&map, submitted_us);
    shoal__lane_map_note(&map, key);
}

static void test_keys_follow_until_their_command_has_left(void **state)
{
    (void)state;
    memset(&map, 0, sizeof map);
    assert_false(shoal__lane_map_has(&map, 1));
    assert_false(shoal__lane_map_has_any(&map));
    enter(100, 1);
    enter(110, 2);
    assert_true(shoal__lane_map_has(&map, 1));
    assert_true(shoal__lane_map_has(&map, 1 + SHOAL__LANE_BUCKETS)); /* its bucket */
    assert_true(shoal__lane_map_has(&map, 2));
    assert_false(shoal__lane_map_has(&map, 3));
    shoal__lane_map_look(&map, 100);
    assert_true(shoal__lane_map_has(&map, 1));
    shoal__lane_map_look(&map, 110); /* the first one has left */
    assert_false(shoal__lane_map_has(&map, 1));
    assert_true(shoal__lane_map_has(&map, 2));
    shoal__lane_map_look(&map, SHOAL__NEVER_US);
    assert_false(shoal__lane_map_has_any(&map));
    assert_false(shoal__lane_map_has(&map, 2));
}

/* Threads stamp commands before they queue them: the times are not in order. */
static void test_times_out_of_order(void **state)
{
    (void)state;
    memset(&map, 0, sizeof map);
    enter(200, 1);
    enter(150, 2);
    shoal__lane_map_look(&map, 200); /* 1 is the oldest, and 2 behind it */
    assert_true(shoal__lane_map_has(&map, 2));
    shoal__lane_map_look(&map, 150);
    assert_true(shoal__lane_map_has(&map, 2));
    shoal__lane_map_look(&map, SHOAL__NEVER_US);
    enter(150, 3); /* with an old time, in an empty lane */
    assert_true(shoal__lane_map_has(&map, 3));
    shoal__lane_map_look(&map, 0);
    assert_true(shoal__lane_map_has(&map, 3));
}

static void test_a_command_for_all_keys(void **state)
{
    (void)state;
    memset(&map, 0, sizeof map);
    shoal__lane_map_enter(&map, 100);
    shoal__lane_map_note_all(&map);
    assert_true(shoal__lane_map_has(&map, 1));
    assert_true(shoal__lane_map_has(&map, 4711));
    assert_true(shoal__lane_map_has_any(&map));
    shoal__lane_map_look(&map, SHOAL__NEVER_US);
    assert_false(shoal__lane_map_has(&map, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_commands_are_bulk),
        cmocka_unit_test(test_keys_follow_until_their_command_has_left),
        cmocka_unit_test(test_times_out_of_order),
        cmocka_unit_test(test_a_command_for_all_keys),
    };
    return cmocka_run_group_tests_name("core/lane_rule", tests, NULL, NULL);
}
