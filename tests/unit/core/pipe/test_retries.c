/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/pipe/retries.h"
#include <shoal/errors.h>
#include <string.h>

static shoal__retries_t retries;

static int set_up(void **state)
{
    (void)state;
    shoal__retries_init(&retries);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shoal__retries_release(&retries);
    return 0;
}

static void add(uint64_t ticket, uint64_t due_us, uint64_t deadline_us)
{
    static const char bytes[] = "*1\r\n$4\r\nPING\r\n";
    const shoal__request_t request = {
        .ticket = ticket, .deadline_us = deadline_us, .bytes = sizeof bytes - 1};

    assert_int_equal(shoal__retries_add(&retries, &request, bytes, due_us), 0);
}

static uint64_t ticket_of(shoal__retry_t *retry)
{
    uint64_t ticket = retry ? retry->request.ticket : 0;

    if (retry)
        assert_memory_equal(retry->bytes, "*1\r\n$4\r\nPING\r\n", 14);
    shoal__free(retry);
    return ticket;
}

static uint64_t take_due(uint64_t now_us)
{
    return ticket_of(shoal__retries_take_due(&retries, now_us));
}

static void test_the_earliest_comes_first(void **state)
{
    (void)state;
    add(1, 300, SHOAL__NEVER_US);
    add(2, 100, SHOAL__NEVER_US);
    add(3, 200, SHOAL__NEVER_US);
    add(4, 100, SHOAL__NEVER_US); /* as early as 2, but later */
    assert_int_equal(retries.count, 4);
    assert_int_equal(retries.bytes, 4 * 14);
    assert_int_equal(take_due(99), 0);
    assert_int_equal(take_due(100), 2);
    assert_int_equal(take_due(100), 4);
    assert_int_equal(take_due(100), 0);
    assert_int_equal(take_due(1000), 3);
    assert_int_equal(take_due(1000), 1);
    assert_int_equal(take_due(1000), 0);
    assert_int_equal(retries.count, 0);
    assert_int_equal(retries.bytes, 0);
}

static void test_expired_ones_are_found_wherever_they_are(void **state)
{
    (void)state;
    add(1, 100, 5000);
    add(2, 200, 150);
    add(3, 300, SHOAL__NEVER_US);
    assert_int_equal(ticket_of(shoal__retries_take_expired(&retries, 149)), 0);
    assert_int_equal(ticket_of(shoal__retries_take_expired(&retries, 150)), 2);
    assert_int_equal(ticket_of(shoal__retries_take_expired(&retries, 4999)), 0);
    assert_int_equal(ticket_of(shoal__retries_take_expired(&retries, 5000)), 1);
    assert_int_equal(retries.count, 1);
}

static void test_taking_out_by_ticket_and_any(void **state)
{
    (void)state;
    add(1, 100, SHOAL__NEVER_US);
    add(2, 200, SHOAL__NEVER_US);
    add(3, 300, SHOAL__NEVER_US);
    assert_int_equal(ticket_of(shoal__retries_take_ticket(&retries, 9)), 0);
    assert_int_equal(ticket_of(shoal__retries_take_ticket(&retries, 2)), 2);
    assert_int_equal(ticket_of(shoal__retries_take_ticket(&retries, 2)), 0);
    assert_int_equal(retries.count, 2);
    assert_int_not_equal(ticket_of(shoal__retries_take_any(&retries)), 0);
    assert_int_not_equal(ticket_of(shoal__retries_take_any(&retries)), 0);
    assert_int_equal(ticket_of(shoal__retries_take_any(&retries)), 0);
}

static void test_when_to_look_again(void **state)
{
    (void)state;
    assert_int_equal(shoal__retries_next_us(&retries, true), SHOAL__NEVER_US);
    add(1, 100, SHOAL__NEVER_US);
    assert_int_equal(shoal__retries_next_us(&retries, true), 100);
    assert_int_equal(shoal__retries_next_us(&retries, false), SHOAL__NEVER_US);
    add(2, 200, 150);
    add(3, 50, 400);
    assert_int_equal(shoal__retries_next_us(&retries, true), 50);
    assert_int_equal(shoal__retries_next_us(&retries, false), 150);
    assert_int_equal(take_due(50), 3);
    assert_int_equal(shoal__retries_next_us(&retries, true), 100);
}

/* A bound that a command left behind costs one look, not one each turn. */
static void test_an_early_bound_is_corrected(void **state)
{
    (void)state;
    add(1, 100, 150);
    add(2, 200, 500);
    assert_int_equal(ticket_of(shoal__retries_take_ticket(&retries, 1)), 1);
    assert_true(shoal__retries_next_us(&retries, false) <= 500);
    assert_int_equal(ticket_of(shoal__retries_take_expired(&retries, 150)), 0);
    assert_int_equal(shoal__retries_next_us(&retries, false), 500);
    assert_int_equal(ticket_of(shoal__retries_take_any(&retries)), 2);
    assert_int_equal(shoal__retries_next_us(&retries, false), SHOAL__NEVER_US);
}

/* The upper half of ten tokens may be spent; an answer gives back a tenth.  (I13) */
static void test_the_allowance(void **state)
{
    (void)state;
    int spent = 0;

    for (; shoal__retries_allowed(&retries); spent++)
        shoal__retries_spend(&retries);
    assert_int_equal(spent, 5);
    for (int answers = 0; answers < 1000; answers++) {
        shoal__retries_earn(&retries);
        if (shoal__retries_allowed(&retries)) {
            shoal__retries_spend(&retries);
            spent++;
        }
    }
    assert_in_range(spent, 5 + 90, 5 + 101);

    /* It never holds more than ten, and never less than none. */
    for (int i = 0; i < 1000; i++)
        shoal__retries_earn(&retries);
    for (int i = 0; i < 100; i++)
        shoal__retries_spend(&retries);
    assert_int_equal(retries.tokens_10, 0);
    for (int i = 0; i < 50; i++)
        shoal__retries_earn(&retries);
    assert_false(shoal__retries_allowed(&retries));
    shoal__retries_earn(&retries);
    assert_true(shoal__retries_allowed(&retries));
}

/* Uniform in 0 .. most_us, which doubles with each attempt, up to a second. */
static void test_delays(void **state)
{
    static const uint64_t most_us[] = {8000,   16000,  32000,   64000,  128000,
                                       256000, 512000, 1000000, 1000000};
    shoal__random_t random;

    (void)state;
    shoal__random_init(&random, 5);
    for (unsigned attempts = 0; attempts < 256; attempts++) {
        uint64_t most = most_us[attempts < 8 ? attempts : 8];
        uint64_t lowest_us = UINT64_MAX, highest_us = 0;
        for (int round = 0; round < 1000; round++) {
            uint64_t delay_us = shoal__retries_delay_us(attempts, &random);
            assert_in_range(delay_us, 0, most);
            lowest_us = delay_us < lowest_us ? delay_us : lowest_us;
            highest_us = delay_us > highest_us ? delay_us : highest_us;
        }
        assert_true(lowest_us < most / 20 && highest_us > most - most / 20);
    }
}

static void test_a_failed_allocation_changes_nothing(void **state)
{
    (void)state;
    const shoal__request_t request = {.bytes = 4};

    add(1, 100, SHOAL__NEVER_US);
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__retries_add(&retries, &request, "PING", 5), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_int_equal(retries.count, 1);
    assert_int_equal(retries.bytes, 14);
    assert_int_equal(take_due(100), 1);
}

/* What is left is freed with its sinks; also before the beginning. */
static void test_release(void **state)
{
    (void)state;
    static const shoal_sink_t sink = {0};
    shoal__retries_t none = {0};
    shoal__request_t request = {.extra = shoal__malloc(sizeof *request.extra)};

    *request.extra = (shoal__extra_t){.sink = &sink, .owners = 1};
    assert_int_equal(shoal__retries_add(&retries, &request, "", 5), 0);
    add(1, 100, SHOAL__NEVER_US);
    shoal__retries_release(&retries);
    assert_int_equal(retries.count, 0);
    shoal__retries_release(&none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_earliest_comes_first),
        TEST(test_expired_ones_are_found_wherever_they_are),
        TEST(test_taking_out_by_ticket_and_any),
        TEST(test_when_to_look_again),
        TEST(test_an_early_bound_is_corrected),
        TEST(test_the_allowance),
        TEST(test_delays),
        TEST(test_a_failed_allocation_changes_nothing),
        TEST(test_release),
    };
    return cmocka_run_group_tests_name("core/pipe/retries", tests, NULL, NULL);
}
