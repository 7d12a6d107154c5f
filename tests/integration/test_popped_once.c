/* SPDX-License-Identifier: MIT */
/* Many callers pop, each blocking, while others push; the pops are cancelled, run into
 * deadlines, and lose their connections.  Each element is popped once, or is still there; only
 * where a result says UNKNOWN may one be missing. */
#include "support/live.h"
#include "support/redis_process.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POPPERS 24

typedef struct yard {
    shoal_client_t *client;
    size_t elements;
    _Atomic unsigned char *popped; /* how often each element was popped */
    _Atomic bool is_over;
    _Atomic size_t busy, got, unknown, let_go, nothing, others;
} yard_t;

typedef struct popper {
    yard_t *yard;
    unsigned random;
    _Atomic uint64_t ticket;
} popper_t;

static void on_pop(shoal_client_t *client, const shoal_result_t *result, void *data);

static unsigned roll(unsigned *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

static void pop(popper_t *popper)
{
    static const char *const argv[] = {"BLPOP", "yard", "0"};
    const shoal_command_t command = {3, argv, NULL};
    shoal_call_t call = SHOAL_CALL_INIT;
    uint64_t ticket = 0;

    if (roll(&popper->random) % 2)
        call.timeout_us = 200 + roll(&popper->random) % 20000;
    if (shoal_client_submit_many(popper->yard->client, &command, 1, &call, on_pop,
                                 popper, &ticket) < 0)
        abort();
    popper->ticket = ticket;
}

static void note(yard_t *yard, const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);
    int status = shoal_result_status(result);

    if (status == 0 && shoal_reply_type(reply) == SHOAL_REPLY_ARRAY) {
        size_t bytes;
        const char *text = shoal_reply_string(shoal_reply_at(reply, 1), &bytes);
        atomic_fetch_add(&yard->popped[strtoul(text, NULL, 10)], 1);
        yard->got++;
    } else if (status == 0) {
        yard->nothing++; /* a reply without an element: nil, or the error UNBLOCKED */
    } else if (shoal_result_fate(result) != SHOAL_FATE_NOT_EXECUTED) {
        yard->unknown++;
    } else if (status == SHOAL_ECANCELLED || status == SHOAL_ETIMEOUT) {
        yard->let_go++;
    } else {
        yard->others++;
    }
}

static void on_pop(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    popper_t *popper = data;
    yard_t *yard = popper->yard;
    (void)client;

    note(yard, result);
    if (yard->is_over)
        yard->busy--;
    else
        pop(popper);
}

static int64_t ask(shoal_client_t *client, const char *format, int number)
{
    shoal_result_t *result;
    int64_t answer;

    assert_int_equal(shoal_client_callf(client, &result, format, number), 0);
    assert_int_equal(shoal_result_status(result), 0);
    answer = shoal_reply_integer(shoal_result_reply(result));
    shoal_result_release(result);
    return answer;
}

/* Kill one connection whose command blocks. */
static void kill_one(shoal_client_t *other, unsigned *random)
{
    shoal_result_t *result;
    const char *text, *at;
    size_t bytes;

    assert_int_equal(shoal_client_callf(other, &result, "CLIENT LIST TYPE normal"), 0);
    text = shoal_reply_string(shoal_result_reply(result), &bytes);
    at = text;
    for (unsigned i = roll(random) % POPPERS; i > 0 && at; i--)
        at = strchr(at + 1, '\n');
    at = at ? strstr(at, "id=") : NULL;
    for (; at; at = strstr(at + 1, "\nid=")) {
        const char *end = strchr(at + 1, '\n');
        const char *blocks = strstr(at, "cmd=blpop");
        if (!blocks || !end || blocks > end)
            continue;
        ask(other, "CLIENT KILL ID %d", atoi(strstr(at, "id=") + 3));
        break;
    }
    shoal_result_release(result);
}

static void run(size_t elements, bool kills)
{
    shoal_client_t *other = live_open(live_options());
    yard_t yard = {.client = live_open(live_options()), .elements = elements};
    popper_t poppers[POPPERS];
    unsigned random = 4711;
    size_t missing = 0, left = 0;

    ask(other, "DEL yard", 0);
    yard.popped = calloc(elements, sizeof *yard.popped);
    assert_non_null(yard.popped);
    yard.busy = POPPERS;
    for (unsigned i = 0; i < POPPERS; i++) {
        poppers[i] = (popper_t){.yard = &yard, .random = i + 1};
        pop(&poppers[i]);
    }
    for (size_t i = 0; i < elements; i++) {
        ask(other, "RPUSH yard %d", (int)i);
        if (roll(&random) % 3 == 0)
            (void)!shoal_client_cancel(yard.client,
                                       poppers[roll(&random) % POPPERS].ticket);
        if (kills && roll(&random) % 40 == 0)
            kill_one(other, &random);
    }
    yard.is_over = true;
    while (yard.busy > 0) {
        for (unsigned i = 0; i < POPPERS; i++)
            (void)!shoal_client_cancel(yard.client, poppers[i].ticket);
        waiting_sleep_us(1000);
    }
    for (size_t i = 0; i < elements; i++) {
        if (yard.popped[i] > 1)
            fail_msg("element %zu was popped %d times", i, yard.popped[i]);
        missing += yard.popped[i] == 0;
    }
    left = (size_t)ask(other, "LLEN yard", 0);
    print_message(
        "popped %zu, left %zu; let go %zu, unknown %zu, nil %zu, others %zu\n",
        yard.got, left, yard.let_go, yard.unknown, yard.nothing, yard.others);
    assert_true(missing >= left);
    assert_true(missing - left <= yard.unknown);
    assert_int_equal(yard.nothing, 0);
    assert_true(yard.let_go > 0);
    if (!kills)
        assert_int_equal(yard.others, 0);

    WAIT_FOR(live_stats(yard.client).leases_now == 0);
    assert_int_equal(shoal_client_close_and_wait(yard.client, 1000), 0);
    shoal_client_release(yard.client);
    assert_int_equal(shoal_client_close_and_wait(other, 1000), 0);
    shoal_client_release(other);
    free((void *)yard.popped);
}

static void test_with_cancels_and_deadlines(void **state)
{
    (void)state;
    run(live_scaled(4000), false);
}

static void test_with_lost_connections_too(void **state)
{
    (void)state;
    run(live_scaled(4000), true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_cancels_and_deadlines),
        cmocka_unit_test(test_with_lost_connections_too),
    };
    return cmocka_run_group_tests_name("integration/popped_once", tests, NULL, NULL);
}
