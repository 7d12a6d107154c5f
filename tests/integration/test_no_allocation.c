/* SPDX-License-Identifier: MIT */
/* P2: the steady state allocates nothing, whoever submits. */
#include "support/live.h"
#include "support/process_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNDER_WAY 64
#define WARM_UP 100000
#define RESIDENT_SLACK 1048576 /* pages that the C library touches late */

typedef struct chain {
    size_t total;
    _Atomic size_t left; /* to be submitted */
    _Atomic size_t answered;
    _Atomic size_t wrong;
} chain_t;

static int submit(shoal_client_t *client, size_t number, shoal_result_cb on_result,
                  chain_t *chain)
{
    static const char *const set[] = {"SET", "alloc:s", "a value of some thirty bytes"};
    static const char *const get[] = {"GET", "alloc:s"};
    static const char *const incr[] = {"INCR", "alloc:n"};

    switch (number % 3) {
    case 0:
        return shoal_client_submit(client, 3, set, NULL, on_result, chain);
    case 1:
        return shoal_client_submit(client, 2, get, NULL, on_result, chain);
    default:
        return shoal_client_submit(client, 2, incr, NULL, on_result, chain);
    }
}

/* Each result submits the next command. */
static void on_link(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    chain_t *chain = data;

    chain->wrong += shoal_result_status(result) != 0;
    if (chain->left > 0) {
        chain->left--;
        chain->wrong += submit(client, chain->left, on_link, chain) != 0;
    }
    chain->answered++;
}

static void run_chain(shoal_client_t *client, size_t commands, size_t under_way)
{
    chain_t chain = {.total = commands, .left = commands - under_way};

    for (size_t i = 0; i < under_way; i++)
        assert_int_equal(submit(client, i, on_link, &chain), 0);
    while (chain.answered < commands)
        waiting_sleep_us(500);
    assert_int_equal(chain.wrong, 0);
}

static void on_answer(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    chain_t *chain = data;
    (void)client;
    chain->wrong += shoal_result_status(result) != 0;
    chain->answered++;
}

/* Another thread submits; it sees to it that few are under way. */
static void run_from_outside(shoal_client_t *client, size_t commands, size_t under_way)
{
    chain_t chain = {.total = commands};

    for (size_t i = 0; i < commands; i++) {
        while (i - chain.answered >= under_way)
            waiting_sleep_us(50);
        assert_int_equal(submit(client, i, on_answer, &chain), 0);
    }
    while (chain.answered < commands)
        waiting_sleep_us(500);
    assert_int_equal(chain.wrong, 0);
}

/* The warm-up has more under way than the steady state, so that what grows has grown. */
static void check(void (*run)(shoal_client_t *client, size_t commands,
                              size_t under_way))
{
    size_t commands = live_scaled(live_is_sanitized() ? 200000 : 1000000);
    shoal_client_t *client = live_open(live_options());

    run(client, WARM_UP, 16 * UNDER_WAY);
    unsigned long long allocations = shoal_allocations();
    size_t resident = process_resident_bytes();
    run(client, commands, UNDER_WAY);
    allocations = shoal_allocations() - allocations;
    size_t resident_after = process_resident_bytes();
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    assert_int_equal(allocations, 0);
    assert_true(allocations < shoal_allocations()); /* the counter does count */
    if (!live_is_sanitized())
        assert_true(resident_after <= resident + RESIDENT_SLACK);
}

static void test_chains_on_the_loop_thread(void **state)
{
    (void)state;
    check(run_chain);
}

static void test_submissions_of_another_thread(void **state)
{
    (void)state;
    check(run_from_outside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains_on_the_loop_thread),
        cmocka_unit_test(test_submissions_of_another_thread),
    };
    return cmocka_run_group_tests_name("integration/no_allocation", tests, NULL, NULL);
}
