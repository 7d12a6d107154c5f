/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/cluster/lane_slots.h"

static shoal__lane_slots_t slots;

static int set_up(void **state)
{
    (void)state;
    slots = (shoal__lane_slots_t){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shoal__test_fail_alloc_never();
    shoal__lane_slots_release(&slots);
    return 0;
}

static void enter(unsigned slot)
{
    assert_true(shoal__lane_slots_add(&slots, slot));
    shoal__lane_slots_arrive(&slots, slot);
}

/* The lane's commands were submitted between these times. */
static bool may_go_back(unsigned at, uint64_t oldest_us, uint64_t youngest_us)
{
    shoal__lane_slots_look(&slots, youngest_us);
    return shoal__lane_slots_may_go_back(&slots, at, oldest_us);
}

static void test_a_slot_goes_back_when_its_bulk_command_was_answered(void **state)
{
    (void)state;
    enter(7);
    assert_false(may_go_back(0, 100, 100)); /* the bulk command */
    assert_false(may_go_back(0, 100, 130)); /* ... and small ones behind it */
    assert_true(may_go_back(0, 101, 130));
    assert_true(may_go_back(0, SHOAL__NEVER_US, 0));
}

static void test_another_bulk_command_keeps_it(void **state)
{
    (void)state;
    enter(7);
    assert_false(may_go_back(0, 100, 100));
    shoal__lane_slots_note(&slots, 7);
    assert_false(shoal__lane_slots_may_go_back(&slots, 0, 101)); /* not looked at yet */
    assert_false(may_go_back(0, 110, 150));
    assert_false(may_go_back(0, 150, 170));
    assert_true(may_go_back(0, 151, 170));
}

static void test_what_is_on_its_way_stays(void **state)
{
    (void)state;
    assert_true(shoal__lane_slots_add(&slots, 7));
    assert_false(may_go_back(0, SHOAL__NEVER_US, 0));
    shoal__lane_slots_arrive(&slots, 7);
    assert_true(may_go_back(0, SHOAL__NEVER_US, 0));
    shoal__lane_slots_leave(&slots, 7);
    assert_false(may_go_back(0, SHOAL__NEVER_US, 0));
}

static void test_slots_come_and_go(void **state)
{
    (void)state;
    for (unsigned slot = 0; slot < 100; slot++)
        enter(slot);
    assert_int_equal(slots.count, 100);
    shoal__lane_slots_note(&slots, 100); /* is not among them */
    shoal__lane_slots_remove(&slots, 100);
    for (unsigned slot = 0; slot < 100; slot += 2)
        shoal__lane_slots_remove(&slots, slot);
    assert_int_equal(slots.count, 50);
    for (unsigned i = 0; i < slots.count; i++)
        assert_int_equal(slots.items[i].slot % 2, 1);
}

static void test_without_memory(void **state)
{
    (void)state;
    shoal__test_fail_alloc_after(0);
    assert_false(shoal__lane_slots_add(&slots, 7));
    shoal__test_fail_alloc_never();
    assert_int_equal(slots.count, 0);
    enter(7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_slot_goes_back_when_its_bulk_command_was_answered),
        TEST(test_another_bulk_command_keeps_it),
        TEST(test_what_is_on_its_way_stays),
        TEST(test_slots_come_and_go),
        TEST(test_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
