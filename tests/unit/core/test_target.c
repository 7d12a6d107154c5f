/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/target.h"
#include <stdio.h>

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
    target.known = 3;
    assert_true(shoal__target_asks_role(&target));
    target.is_replica = true;
    assert_false(shoal__target_asks_role(&target));
    target.is_replica = false;
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
    target.known = 3;
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

/* ---- redirects ---- */

static void redirect_to(unsigned from, const char *host, int port)
{
    const shoal__reached_t there = reached(from);
    shoal__redirect_t redirect = {.port = port};

    snprintf(redirect.host, sizeof redirect.host, "%s", host);
    shoal__target_redirect(&target, &there, &redirect);
}

static void test_a_server_names_another_one(void **state)
{
    const shoal__reached_t elsewhere = reached(2);

    (void)state;
    begin(2);
    worked(0);
    target.ready = 1;
    redirect_to(0, "h", 7);
    assert_int_equal(target.present, 2);
    assert_string_equal(target.name, "h:7");
    assert_int_equal(shoal__target_choices(&target), 3);
    assert_int_equal(shoal__target_trials(&target), 3); /* whatever is ready */
    assert_string_equal(target.named->endpoint.host, "h");
    assert_int_equal(target.named->endpoint.port, 7);
    assert_int_equal(target.named->by.at.ss_family, 1);

    shoal__target_worked(&target, &elsewhere, SHOAL__ROLE_PRIMARY);
    assert_string_equal(target.name, "h:7");
    assert_int_equal(shoal__target_trials(&target), 1);
    target.ready = 0;
    failed(2); /* the others are there again */
    check(0, 0, 3);
    assert_null(target.named);
    assert_int_equal(shoal__target_choices(&target), 2);
    shoal__target_release(&target);
}

static void test_the_named_one_is_forgotten_when_another_works(void **state)
{
    const shoal__reached_t late = reached(2);

    (void)state;
    begin(2);
    redirect_to(0, "::1", 7);
    assert_string_equal(target.name, "[::1]:7");
    worked(1);
    check(1, 2, 1);
    assert_null(target.named);
    /* A connection to it is greeted all the same. */
    shoal__target_worked(&target, &late, SHOAL__ROLE_PRIMARY);
    check(1, 3, 1);
    shoal__target_release(&target);
}

static void test_names_stay(void **state)
{
    char host[32];

    (void)state;
    begin(2);
    redirect_to(0, "h", 7);
    const char *name = target.name;
    redirect_to(0, "h", 8);
    assert_string_equal(target.name, "h:8");
    redirect_to(0, "i", 7);
    redirect_to(0, "h", 7);
    assert_ptr_equal(target.name, name);
    assert_int_equal(target.all_named_count, 3);

    for (int i = 0; i < 100; i++) {
        snprintf(host, sizeof host, "host-%d", i);
        redirect_to(0, host, 7);
    }
    assert_int_equal(target.all_named_count, SHOAL__NAMED_ENDPOINTS_MAX);
    worked(0);
    redirect_to(0, "one-too-many", 7); /* left, at least */
    check(1, 0, 1);
    shoal__target_release(&target);
}

static void test_there_is_no_memory(void **state)
{
    (void)state;
    begin(2);
    worked(0);
    shoal__test_fail_alloc_after(0);
    redirect_to(0, "h", 7);
    shoal__test_fail_alloc_never();
    check(1, 0, 1);
    assert_null(target.named);
    shoal__target_release(&target);
}

static void test_all_endpoints_and_the_named_one_are_bounded(void **state)
{
    static shoal__endpoint_t many[SHOAL__ENDPOINTS_MAX];

    (void)state;
    target = (shoal__target_t){
        .name = "x", .endpoints = many, .endpoints_count = SHOAL__ENDPOINTS_MAX};
    redirect_to(0, "h", 7);
    assert_int_equal(shoal__target_choices(&target), SHOAL__ENDPOINTS_MAX + 1);
    assert_int_equal(shoal__target_trials(&target), SHOAL__ENDPOINTS_MAX);
    shoal__target_release(&target);
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
        cmocka_unit_test(test_a_server_names_another_one),
        cmocka_unit_test(test_the_named_one_is_forgotten_when_another_works),
        cmocka_unit_test(test_names_stay),
        cmocka_unit_test(test_there_is_no_memory),
        cmocka_unit_test(test_all_endpoints_and_the_named_one_are_bounded),
    };
    return cmocka_run_group_tests_name("core/target", tests, NULL, NULL);
}
