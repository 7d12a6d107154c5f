/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/push/placement.h"
#include <string.h>

#define NOBODY SHOAL__SLOT_NOBODY
#define ALL SHOAL__PLACE_EVERYWHERE

/* Slots below 8192 are node 3's, the others node 5's, but for that of "foo" (12182). */
static shoal__slot_map_t map;
static const uint16_t primaries[] = {3, 5};

static int set_up(void **state)
{
    (void)state;
    shoal__slot_map_init(&map);
    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        if (slot != 12182)
            shoal__slot_map_set(&map, slot, slot < 8192 ? 3 : 5);
    return 0;
}

static const struct {
    shoal_name_kind_t kind;
    const char *name;
    unsigned now, expected;
} rows[] = {
    /* The slots: bar 5061, hello 866, a 15495, {bar}x 5061. */
    {SHOAL_NAME_SHARD, "bar", NOBODY, 3},
    {SHOAL_NAME_SHARD, "{bar}x", NOBODY, 3},
    {SHOAL_NAME_SHARD, "a", NOBODY, 5},
    {SHOAL_NAME_SHARD, "a", 3, 5}, /* the slot has moved */
    {SHOAL_NAME_SHARD, "foo", NOBODY, NOBODY},
    {SHOAL_NAME_SHARD, "foo", 3, NOBODY},
    /* Nodes pass these to each other: they stay. */
    {SHOAL_NAME_CHANNEL, "bar", NOBODY, 3},
    {SHOAL_NAME_CHANNEL, "bar", 5, 5},
    {SHOAL_NAME_CHANNEL, "bar", 4, 3}, /* which is no primary now */
    {SHOAL_NAME_CHANNEL, "a", NOBODY, 5},
    {SHOAL_NAME_CHANNEL, "foo", NOBODY, 3}, /* slot 12182 of nobody: any */
    {SHOAL_NAME_CHANNEL, "foo", 5, 5},
    {SHOAL_NAME_PATTERN, "hello", NOBODY, 3},
    {SHOAL_NAME_PATTERN, "hello", 5, 5},
    /* Events of one key. */
    {SHOAL_NAME_KEYSPACE, "__keyspace@0__:bar", NOBODY, 3},
    {SHOAL_NAME_KEYSPACE, "__keyspace@0__:bar", 5, 3},
    {SHOAL_NAME_KEYSPACE, "__keyspace@12__:a", NOBODY, 5},
    {SHOAL_NAME_KEYSPACE, "__keyspace@0__:", NOBODY, 3}, /* the empty key: slot 0 */
    {SHOAL_NAME_KEYSPACE, "__keyspace@0__:foo", NOBODY, NOBODY},
    /* ... and of many. */
    {SHOAL_NAME_KEYSPACE, "__keyspace@0__:b*", NOBODY, ALL},
    {SHOAL_NAME_KEYSPACE, "__keyspace@*__:bar", NOBODY, ALL},
    {SHOAL_NAME_KEYSPACE, "__keyspace@0_:bar", NOBODY, ALL},
    {SHOAL_NAME_KEYSPACE, "__keyspace@0", NOBODY, ALL},
    {SHOAL_NAME_KEYSPACE, "__keyspace@", NOBODY, ALL},
    {SHOAL_NAME_KEYSPACE, "__keyevent@0__:set", NOBODY, ALL},
    {SHOAL_NAME_KEYSPACE, "__keyevent@0__:set", 3, ALL},
};

static void test_each_name_has_its_place(void **state)
{
    const shoal__places_known_t known = {&map, primaries, 2};
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal__bytes_t name = {rows[i].name, strlen(rows[i].name)};
        unsigned at = shoal__placement_of(&known, rows[i].kind, name, rows[i].now);
        if (at != rows[i].expected)
            fail_msg("%s from %u: %u", rows[i].name, rows[i].now, at);
    }
}

static void test_one_server_has_all(void **state)
{
    const uint16_t server[] = {7};
    const shoal__places_known_t known = {NULL, server, 1};
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal__bytes_t name = {rows[i].name, strlen(rows[i].name)};
        assert_int_equal(shoal__placement_of(&known, rows[i].kind, name, rows[i].now),
                         7);
    }
}

static void test_without_a_primary_names_wait(void **state)
{
    const shoal__places_known_t known = {&map, primaries, 0};
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal__bytes_t name = {rows[i].name, strlen(rows[i].name)};
        assert_int_equal(shoal__placement_of(&known, rows[i].kind, name, rows[i].now),
                         NOBODY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_name_has_its_place, set_up),
        cmocka_unit_test_setup(test_one_server_has_all, set_up),
        cmocka_unit_test_setup(test_without_a_primary_names_wait, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
