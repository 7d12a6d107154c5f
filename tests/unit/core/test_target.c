/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/target.h"

static const shoal__endpoint_t endpoints[] = {
    {.name = "a"}, {.name = "b"}, {.name = "c"}};
static shoal__target_t target;

static void begin(unsigned count)
{
    target = (shoal__target_t){
        .name = "a", .endpoints = endpoints, .endpoints_count = count};
}

/* The endpoint's address, which is told apart by its family. */
static shoal__reached_t reached(unsigned endpoint)
{
    shoal__reached_t there = {.endpoint = endpoint, .address = {.bytes = 8}};

    there.address.at.ss_family = (sa_family_t)(endpoint + 1);
    return there;
}

static void worked(unsigned endpoint)
{
    const shoal__reached_t there = reached(endpoint);

    shoal__target_worked(&target, &there, SHOAL__ROLE_PRIMARY);
}

static void failed(unsigned endpoint)
{
    const shoal__reached_t there = reached(endpoint);

    shoal__target_failed(&target, &there, SHOAL__ROLE_UNKNOWN);
}

static void check(unsigned present, unsigned worked_on, unsigned failed_on)
{
    assert_int_equal(target.present, present);
    assert_string_equal(target.name, endpoints[present].name);
    assert_int_equal(target.worked.bytes > 0 ? target.worked.at.ss_family : 0,
                     worked_on);
    assert_int_equal(target.failed.bytes > 0 ? target.failed.at.ss_family : 0,
                     failed_on);
}

static void test_the_one_that_works_is_the_present_one(void **state)
{
    (void)state;
    begin(3);
    worked(2);
    check(2, 3, 0);
    worked(0);
    check(0, 1, 0);
}

static void test_the_next_one_follows_a_failure(void **state)
{
    (void)state;
    begin(3);
    failed(0);
    check(1, 0, 1);
    failed(1);
    check(2, 0, 2);
    failed(2);
    check(0, 0, 3);
    /* Another connection has moved on already. */
    failed(2);
    check(0, 0, 3);
}

static void test_what_worked_and_failed_are_two(void **state)
{
    (void)state;
    begin(2);
    worked(0);
    failed(0);
    check(1, 0, 1);
    worked(1);
    check(1, 2, 1);
    worked(0);
    check(0, 1, 0);
}

/* One connection fails where another one works: no reason to leave. */
static void test_nobody_leaves_while_a_connection_works(void **state)
{
    (void)state;
    begin(2);
    worked(0);
    target.ready = 1;
    assert_int_equal(shoal__target_trials(&target), 1);
    failed(0);
    check(0, 1, 0);
    target.ready = 0;
    assert_int_equal(shoal__target_trials(&target), 2);
    failed(0);
    check(1, 0, 1);
}

static void test_a_single_endpoint_stays(void **state)
{
    (void)state;
    begin(1);
    failed(0);
    check(0, 0, 1);
    worked(0);
    check(0, 1, 0);
}

/* A round over all of them, and then a replica will do. */
static void test_replicas_are_counted(void **state)
{
    (void)state;
    begin(3);
    assert_false(shoal__target_asks_role(&target)); /* nothing was dialed yet */
    target.choices = 3;
    assert_true(shoal__target_asks_role(&target));
    for (unsigned i = 0; i < 2; i++) {
        const shoal__reached_t there = reached(i);
        assert_false(shoal__target_accepts(&target, SHOAL__ROLE_REPLICA));
        assert_true(shoal__target_accepts(&target, SHOAL__ROLE_PRIMARY));
        shoal__target_failed(&target, &there, SHOAL__ROLE_REPLICA);
    }
    assert_true(shoal__target_accepts(&target, SHOAL__ROLE_REPLICA));
    const shoal__reached_t last = reached(2);
    shoal__target_worked(&target, &last, SHOAL__ROLE_REPLICA);
    assert_int_equal(target.replicas, 2);
    assert_true(shoal__target_accepts(&target, SHOAL__ROLE_REPLICA));

    worked(0);
    assert_int_equal(target.replicas, 0);
    assert_false(shoal__target_accepts(&target, SHOAL__ROLE_REPLICA));
    target.ready = 1; /* whatever it is, all lead there */
    assert_true(shoal__target_accepts(&target, SHOAL__ROLE_REPLICA));
}

/* It was demoted, while connections to it are ready. */
static void test_a_server_is_left(void **state)
{
    const shoal__reached_t first = reached(0), second = reached(1);

    (void)state;
    begin(3);
    target.choices = 3;
    worked(0);
    target.ready = 2;
    target.replicas = 2;
    shoal__target_leave(&target, &first);
    check(1, 0, 1);
    assert_int_equal(shoal__target_trials(&target), 3);
    assert_false(shoal__target_accepts(&target, SHOAL__ROLE_REPLICA));
    shoal__target_failed(&target, &second, SHOAL__ROLE_REPLICA);
    check(2, 0, 2);
    worked(2);
    check(2, 3, 2);
    assert_int_equal(shoal__target_trials(&target), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_one_that_works_is_the_present_one),
        cmocka_unit_test(test_the_next_one_follows_a_failure),
        cmocka_unit_test(test_what_worked_and_failed_are_two),
        cmocka_unit_test(test_nobody_leaves_while_a_connection_works),
        cmocka_unit_test(test_a_single_endpoint_stays),
        cmocka_unit_test(test_replicas_are_counted),
        cmocka_unit_test(test_a_server_is_left),
    };
    return cmocka_run_group_tests_name("core/target", tests, NULL, NULL);
}
