/* SPDX-License-Identifier: MIT */
/* The network is cut around a primary, which lives on and takes itself for the primary.  A
 * client that knows the sentinels follows them, and writes to the former primary no more,
 * not when it is back either: see support/sentinel_load.h.
 *
 * Each kind happens once, or SHOAL_TEST_SCALE times.  It takes the right to make a network
 * namespace, and ip; else the tests are skipped. */
#include "support/sentinel_load.h"

static sentinel_rig_t *start(void)
{
    static bool was_tried, is_isolated;

    if (!was_tried)
        is_isolated = sentinel_rig_isolate();
    was_tried = true;
    if (!is_isolated)
        print_message("no network namespace, or no ip\n");
    return is_isolated ? sentinel_rig_start() : NULL;
}

static void cut_off(sentinel_load_t *load, size_t primary)
{
    sentinel_rig_cut(load->rig, primary, true);
}

static void cut_from_its_side(sentinel_load_t *load, size_t primary)
{
    sentinel_rig_cut(load->rig, primary, false);
}

static void join(sentinel_load_t *load, size_t primary)
{
    (void)load, (void)primary;
    sentinel_rig_join();
}

static void test_follows_when_the_primary_is_cut_off(void **state)
{
    (void)state;
    sentinel_load_follow(start(), &(sentinel_failure_t){cut_off, join});
}

/* It still takes the client's writes, until the client hears of the next primary. */
static void test_follows_when_the_network_is_split(void **state)
{
    (void)state;
    sentinel_load_follow(start(), &(sentinel_failure_t){cut_from_its_side, join});
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_follows_when_the_primary_is_cut_off),
    cmocka_unit_test(test_follows_when_the_network_is_split),
};

SENTINEL_LOAD_MAIN("integration/sentinel_partition", tests)
