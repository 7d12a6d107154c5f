/* SPDX-License-Identifier: MIT */
/* Several endpoints of one target. */
#include "unit/net/dialer_rig.h"

/* a is an address, b and c are names. */
static const shoal__endpoint_t three[] = {
    {.host = "10.0.0.1", .port = 6379, .name = "a:6379"},
    {.host = "name-b", .port = 6379, .name = "b:6379"},
    {.host = "name-c", .port = 6379, .name = "c:6379"},
};

static shoal__target_t several(unsigned count, unsigned present)
{
    return (shoal__target_t){.endpoints = three,
                             .endpoints_count = count,
                             .present = present,
                             .name = three[present % count].name};
}

static void test_endpoints_are_tried_in_turn(void **state)
{
    shoal__target_t target = several(3, 0);

    (void)state;
    begin(&target);
    assert_string_equal(world.endpoints[0], "a:6379");
    assert_int_equal(target.known, 3);
    shoal__dialer_answered(&dialer, REFUSED);
    assert_string_equal(world.looked_up, "name-b");
    find(2, NULL);
    assert_int_equal(target.known, 4);
    shoal__dialer_answered(&dialer, REFUSED);
    shoal__dialer_answered(&dialer, REFUSED);
    assert_string_equal(world.looked_up, "name-c");
    find(1, NULL);
    assert_string_equal(world.endpoints[2], "b:6379");
    assert_string_equal(world.endpoints[3], "c:6379");
    shoal__dialer_answered(&dialer, 0);
    assert_ptr_equal(world.reached, &world.streams[3]);
    assert_int_equal(world.where.endpoint, 2);
    assert_int_equal(world.where.address.bytes, 1);
    assert_int_equal(world.failed, 0);
}

static void test_the_present_endpoint_is_the_first(void **state)
{
    shoal__target_t target = several(3, 1);

    (void)state;
    begin(&target);
    assert_string_equal(world.looked_up, "name-b");
    find(0, "no such name");
    assert_string_equal(world.looked_up, "name-c");
    shoal__dialer_timed_out(&dialer); /* of the look-up */
    assert_int_equal(world.abandoned, 1);
    assert_string_equal(world.endpoints[0], "a:6379");
    shoal__dialer_answered(&dialer, REFUSED);
    check_failed(SHOAL_ECONN, "look up b:6379: no such name; connect c:6379: timed "
                              "out; connect a:6379: refused");
}

static void test_each_endpoint_has_its_share_of_the_time(void **state)
{
    shoal__target_t target = several(3, 0);
    uint64_t before_us, end_us = begin(&target) + CONNECT_US;

    (void)state;
    assert_true(world.due_us <= due_at(shoal__clock_us(), end_us, 3));
    assert_true(world.due_us >= end_us - CONNECT_US + CONNECT_US / 3);
    before_us = shoal__clock_us();
    shoal__dialer_answered(&dialer, REFUSED);
    assert_true(world.due_us >= due_at(before_us, end_us, 2)); /* the look-up */
    assert_true(world.due_us <= due_at(shoal__clock_us(), end_us, 2));
    uint64_t share_end_us = world.due_us;
    find(2, NULL);
    assert_true(world.due_us <= due_at(shoal__clock_us(), share_end_us, 2));
    shoal__dialer_answered(&dialer, REFUSED);
    assert_true(world.due_us <= share_end_us);
    before_us = shoal__clock_us();
    shoal__dialer_answered(&dialer, REFUSED);
    assert_true(world.due_us >= due_at(before_us, end_us, 1));
}

/* A connection works at the present endpoint. */
static void test_a_further_connection_goes_nowhere_else(void **state)
{
    shoal__target_t target = several(3, 0);

    (void)state;
    target.ready = 1;
    begin(&target);
    shoal__dialer_answered(&dialer, REFUSED);
    assert_int_equal(world.opened, 1);
    check_failed(SHOAL_ECONN, "connect a:6379: refused");
}

/* A name with many addresses leaves room for those behind it. */
static void test_addresses_are_bounded(void **state)
{
    shoal__target_t target = several(3, 1); /* b, c, a */

    (void)state;
    begin(&target);
    find(16, NULL);
    assert_int_equal(target.known, 16);
    for (unsigned i = 0; i < 14; i++)
        shoal__dialer_answered(&dialer, REFUSED);
    assert_string_equal(world.looked_up, "name-c");
    find(16, NULL);
    shoal__dialer_answered(&dialer, REFUSED);
    assert_string_equal(world.endpoints[15], "a:6379");
    shoal__dialer_answered(&dialer, REFUSED);
    assert_int_equal(world.opened, SHOAL__ADDRESSES_MAX);
    assert_int_equal(world.failed, SHOAL_ECONN);
}

static void test_the_address_that_worked_is_the_first(void **state)
{
    shoal__target_t target = several(3, 1);

    (void)state;
    target.worked.bytes = 3;
    target.failed.bytes = 1;
    begin(&target);
    find(4, NULL);
    for (unsigned i = 0; i < 3; i++)
        shoal__dialer_answered(&dialer, REFUSED);
    shoal__dialer_answered(&dialer, 0);
    assert_int_equal(world.tried[0], 3);
    assert_int_equal(world.tried[1], 2);
    assert_int_equal(world.tried[2], 4);
    assert_int_equal(world.where.address.bytes, 1);
    assert_int_equal(world.where.endpoint, 1);
}

/* A server named another one: that is tried first, unless its address is of a kind that the
 * first server must not name. */
static void test_a_named_server_is_the_first(void **state)
{
    shoal__target_t target = several(2, 2);
    shoal__named_endpoint_t named = {
        .endpoint = {.host = "name-d", .port = 6379, .name = "d:6379", .by = &named.by},
        .by = {.bytes = 1, .at = {.ss_family = AF_UNIX}}};

    (void)state;
    target.named = &named;
    target.name = "d:6379";
    begin(&target);
    assert_string_equal(world.looked_up, "name-d");
    world.family = AF_UNIX;
    find(1, NULL);
    assert_string_equal(world.endpoints[0], "d:6379");
    assert_int_equal(target.known, 3);
    shoal__dialer_answered(&dialer, 0);
    assert_int_equal(world.where.endpoint, 2);
    assert_string_equal(world.where.name, "d:6379");

    world = (struct world){.family = AF_UNSPEC};
    begin(&target);
    find(2, NULL);
    assert_string_equal(world.endpoints[0], "a:6379");
    shoal__dialer_answered(&dialer, REFUSED);
    find(0, "no such name");
    check_failed(
        SHOAL_ECONN,
        "connect d:6379: the server was named by another one that must not know "
        "it; connect a:6379: refused; look up b:6379: no such name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_endpoints_are_tried_in_turn),
        TEST(test_the_present_endpoint_is_the_first),
        TEST(test_each_endpoint_has_its_share_of_the_time),
        TEST(test_a_further_connection_goes_nowhere_else),
        TEST(test_addresses_are_bounded),
        TEST(test_the_address_that_worked_is_the_first),
        TEST(test_a_named_server_is_the_first),
    };
    return cmocka_run_group_tests_name("net/dialer.endpoints", tests, NULL, NULL);
}
