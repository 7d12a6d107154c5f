/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/request_list.h"
#include <shoal/errors.h>
#include <string.h>

static shoal__request_list_t list;

static int set_up(void **state)
{
    (void)state;
    shoal__request_list_init(&list);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shoal__request_list_release(&list);
    return 0;
}

static void add(uint64_t ticket, uint64_t deadline_us)
{
    static const char bytes[] = "*1\r\n$4\r\nPING\r\n";
    const shoal__request_t request = {
        .ticket = ticket, .deadline_us = deadline_us, .bytes = sizeof bytes - 1};

    assert_int_equal(shoal__request_list_add(&list, &request, bytes), 0);
}

static uint64_t ticket_of(shoal__listed_request_t *listed)
{
    uint64_t ticket = listed ? listed->request.ticket : 0;

    if (listed)
        assert_memory_equal(listed->bytes, "*1\r\n$4\r\nPING\r\n", 14);
    shoal__free(listed);
    return ticket;
}

static uint64_t take_first(void)
{
    return ticket_of(shoal__request_list_take_first(&list));
}

static uint64_t take_expired(uint64_t now_us)
{
    return ticket_of(shoal__request_list_take_expired(&list, now_us));
}

/* 0: it is not there. */
static uint64_t take_ticket(uint64_t ticket)
{
    for (shoal__list_t *at = list.waiting.next; at != &list.waiting; at = at->next) {
        shoal__listed_request_t *listed =
            SHOAL__LIST_ENTRY(at, shoal__listed_request_t, node);
        if (listed->request.ticket == ticket)
            return ticket_of(shoal__request_list_take(&list, listed));
    }
    return 0;
}

static void test_the_first_comes_first(void **state)
{
    (void)state;
    shoal__request_list_t other;

    shoal__request_list_init(&other);
    add(1, 300);
    add(2, 100);
    shoal__request_list_put(&other, shoal__request_list_take_first(&list));
    assert_int_equal(other.count, 1);
    assert_int_equal(shoal__request_list_next_us(&other), 300);
    shoal__request_list_put(&list, shoal__request_list_take_first(&other));
    assert_int_equal(list.count, 2);
    assert_int_equal(take_first(), 2);
    assert_int_equal(take_first(), 1);
    assert_int_equal(take_first(), 0);
    assert_int_equal(list.count, 0);
}

static void test_expired_ones_are_found_wherever_they_are(void **state)
{
    (void)state;
    add(1, 5000);
    add(2, 150);
    add(3, SHOAL__NEVER_US);
    assert_int_equal(take_expired(149), 0);
    assert_int_equal(take_expired(150), 2);
    assert_int_equal(take_expired(4999), 0);
    assert_int_equal(take_expired(5000), 1);
    assert_int_equal(list.count, 1);
}

static void test_taking_out_by_ticket(void **state)
{
    (void)state;
    add(1, SHOAL__NEVER_US);
    add(2, SHOAL__NEVER_US);
    assert_int_equal(take_ticket(9), 0);
    assert_int_equal(take_ticket(2), 2);
    assert_int_equal(take_ticket(2), 0);
    assert_int_equal(list.count, 1);
}

static void test_when_to_look_again(void **state)
{
    (void)state;
    assert_int_equal(shoal__request_list_next_us(&list), SHOAL__NEVER_US);
    add(1, SHOAL__NEVER_US);
    assert_int_equal(shoal__request_list_next_us(&list), SHOAL__NEVER_US);
    add(2, 150);
    add(3, 400);
    assert_int_equal(shoal__request_list_next_us(&list), 150);
}

/* A bound that a command left behind costs one look, not one each turn. */
static void test_an_early_bound_is_corrected(void **state)
{
    (void)state;
    add(1, 150);
    add(2, 500);
    assert_int_equal(take_ticket(1), 1);
    assert_int_equal(shoal__request_list_next_us(&list), 150);
    assert_int_equal(take_expired(150), 0);
    assert_int_equal(shoal__request_list_next_us(&list), 500);
    assert_int_equal(take_first(), 2);
    assert_int_equal(shoal__request_list_next_us(&list), SHOAL__NEVER_US);
}

/* Each look costs a walk: many deadlines share one. */
static void test_many_are_not_walked_for_each_deadline(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 1025; i++)
        add(i, 1000 + i);
    assert_int_equal(take_expired(1001), 1);
    add(1026, 3000);
    assert_int_equal(take_expired(1001), 0);
    assert_int_equal(shoal__request_list_next_us(&list), 11001);
}

static void test_a_failed_allocation_changes_nothing(void **state)
{
    (void)state;
    const shoal__request_t request = {.bytes = 4};

    add(1, SHOAL__NEVER_US);
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__request_list_add(&list, &request, "PING"), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_int_equal(list.count, 1);
    assert_int_equal(take_first(), 1);
}

/* What is left is freed with its sinks; also before the beginning. */
static void test_release(void **state)
{
    (void)state;
    static const shoal_sink_t sink = {0};
    shoal__request_list_t none = {0};
    shoal__request_t request = {.extra = shoal__malloc(sizeof *request.extra)};

    *request.extra = (shoal__extra_t){.sink = &sink, .owners = 1};
    assert_int_equal(shoal__request_list_add(&list, &request, ""), 0);
    add(1, SHOAL__NEVER_US);
    shoal__request_list_release(&list);
    assert_int_equal(list.count, 0);
    shoal__request_list_release(&none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_comes_first),
        TEST(test_expired_ones_are_found_wherever_they_are),
        TEST(test_taking_out_by_ticket),
        TEST(test_when_to_look_again),
        TEST(test_an_early_bound_is_corrected),
        TEST(test_many_are_not_walked_for_each_deadline),
        TEST(test_a_failed_allocation_changes_nothing),
        TEST(test_release),
    };
    return cmocka_run_group_tests_name("core/request_list", tests, NULL, NULL);
}
