/* SPDX-License-Identifier: MIT */
/* P2: the steady state allocates nothing, on whatever thread commands are submitted. */
#include "support/live.h"
#include "support/process_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNDER_WAY 64
#define WARM_UP 100000
#define RESIDENT_SLACK                                                                 \
    1048576 /* bytes that the C library may still touch after warm-up */

typedef struct chain {
    _Atomic size_t left; /* commands that are still to be submitted */
    _Atomic size_t answered;
    _Atomic size_t wrong;
} chain_t;

typedef struct usage {
    unsigned long long allocations;
    size_t resident_bytes;
} usage_t;

static usage_t usage_now(void)
{
    return (usage_t){shoal_allocations(), process_resident_bytes()};
}

static int submit(shoal_client_t *client, size_t number, shoal_result_cb on_result,
                  chain_t *chain)
{
    static const char *const set[] = {"SET", "alloc:s", "a value of some thirty bytes"};
    static const char *const get[] = {"GET", "alloc:s"};
    static const char *const incr[] = {"INCR", "alloc:n"};

    switch (number % 3) {
    case 0:
        return shoal_client_submit(client, 3, set, NULL, on_result, chain, NULL);
    case 1:
        return shoal_client_submit(client, 2, get, NULL, on_result, chain, NULL);
    default:
        return shoal_client_submit(client, 2, incr, NULL, on_result, chain, NULL);
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

static usage_t run_chain(shoal_client_t *client, size_t commands)
{
    chain_t chain = {.left = WARM_UP + commands - UNDER_WAY};

    for (size_t i = 0; i < UNDER_WAY; i++)
        assert_int_equal(submit(client, i, on_link, &chain), 0);
    while (chain.answered < WARM_UP)
        waiting_sleep_us(500);
    usage_t before = usage_now();
    while (chain.answered < WARM_UP + commands)
        waiting_sleep_us(500);
    assert_int_equal(chain.wrong, 0);
    return before;
}

static void on_answer(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    chain_t *chain = data;
    (void)client;
    chain->wrong += shoal_result_status(result) != 0;
    chain->answered++;
}

/* The test's thread submits, with at most UNDER_WAY commands under way.  During the
 * warm-up there are more, so that no buffer has to grow afterwards. */
static usage_t run_from_outside(shoal_client_t *client, size_t commands)
{
    chain_t chain = {0};
    usage_t before = {0};

    for (size_t i = 0; i < WARM_UP + commands; i++) {
        size_t under_way = i < WARM_UP ? 16 * UNDER_WAY : UNDER_WAY;
        while (i - chain.answered >= under_way)
            waiting_sleep_us(50);
        if (i == WARM_UP)
            before = usage_now();
        assert_int_equal(submit(client, i, on_answer, &chain), 0);
    }
    while (chain.answered < WARM_UP + commands)
        waiting_sleep_us(500);
    assert_int_equal(chain.wrong, 0);
    return before;
}

/* `run` returns the usage after its warm-up. */
static void check(usage_t (*run)(shoal_client_t *client, size_t commands))
{
    size_t commands = live_scaled(process_is_sanitized() ? 200000 : 1000000);
    shoal_client_t *client = live_open(live_options());
    usage_t before = run(client, commands), after = usage_now();

    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
    assert_true(before.allocations > 0); /* the library counts them */
    assert_true(after.allocations == before.allocations);
    if (!process_is_sanitized())
        assert_true(after.resident_bytes <= before.resident_bytes + RESIDENT_SLACK);
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
