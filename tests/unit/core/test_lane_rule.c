/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "core/lane_rule.h"
#include <stdio.h>
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

static unsigned home_of(const char *key, unsigned homes)
{
    return shoal__lane_home((shoal__bytes_t){key, strlen(key)}, homes);
}

static void test_homes_of_keys(void **state)
{
    unsigned counts[SHOAL__LANE_HOMES_MAX] = {0};
    char key[16];
    (void)state;

    for (unsigned homes = 1; homes <= SHOAL__LANE_HOMES_MAX; homes++)
        for (unsigned i = 0; i < 1000; i++) {
            snprintf(key, sizeof key, "key:%u", i);
            assert_true(home_of(key, homes) < homes);
            counts[home_of(key, homes)] += homes == SHOAL__LANE_HOMES_MAX;
        }
    for (unsigned i = 0; i < SHOAL__LANE_HOMES_MAX; i++)
        assert_in_range(counts[i], 80, 170); /* of 1000, by 8 */
}

/* Two keys, and whether they share a home whatever their number. */
static const struct tagged {
    const char *one, *other;
    bool is_same;
} tagged[] = {
    {"a{user}", "{user}bc", true},
    {"a{user}", "user", true},
    {"a{user}{other}", "{user}{third}", true},
    {"a{user", "{user", false},    /* no end */
    {"a{}user", "b{}user", false}, /* nothing between */
    {"}a{user}", "user", true},
    {"a}user{", "b}user{", false},
    {"", "{}", false},
};

static void test_keys_with_a_tag(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tagged / sizeof *tagged; i++) {
        bool is_same = true;
        for (unsigned homes = 1; homes <= SHOAL__LANE_HOMES_MAX; homes++)
            is_same = is_same &&
                      home_of(tagged[i].one, homes) == home_of(tagged[i].other, homes);
        assert_int_equal(is_same, tagged[i].is_same);
    }
}

static const struct spanned {
    unsigned homes[3];
    size_t count;
    bool is_wide;
    unsigned home;
} spanned[] = {
    {{0}, 0, false, 0},   {{5}, 1, false, 5},   {{5, 5}, 2, false, 5},
    {{0, 5}, 2, true, 5}, {{5, 0}, 2, true, 0}, {{3, 4, 3}, 3, true, 3},
};

static void test_homes_of_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spanned / sizeof *spanned; i++) {
        shoal__lane_span_t span = {0};
        for (size_t k = 0; k < spanned[i].count; k++)
            shoal__lane_span_add(&span, spanned[i].homes[k]);
        assert_int_equal(span.is_wide, spanned[i].is_wide);
        assert_int_equal(span.home, spanned[i].home);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_commands_are_bulk),
        cmocka_unit_test(test_keys_follow_until_their_command_has_left),
        cmocka_unit_test(test_times_out_of_order),
        cmocka_unit_test(test_a_command_for_all_keys),
        cmocka_unit_test(test_homes_of_keys),
        cmocka_unit_test(test_keys_with_a_tag),
        cmocka_unit_test(test_homes_of_commands),
    };
    return cmocka_run_group_tests_name("core/lane_rule", tests, NULL, NULL);
}
