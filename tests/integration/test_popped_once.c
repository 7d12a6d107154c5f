/* SPDX-License-Identifier: MIT */
/* Many callers pop, each blocking, while others push; the pops are cancelled, run into
 * deadlines, lose their connections, and their server is killed and started again.  Each
 * element is popped once, or is still there; only where a result says UNKNOWN may one be
 * missing, or of a push there. */
#include "support/live.h"
#include "support/redis_process.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POPPERS 24

#define RESTART_EVERY 400 /* pushes */

/* What is known of a push. */
typedef enum push { NOT_PUSHED, PUSHED, PERHAPS } push_t;

typedef struct yard {
    shoal_client_t *client;
    redis_process_t *redis; /* that is killed and started again; NULL: it is not */
    size_t elements;
    unsigned char *pushed;         /* push_t */
    _Atomic unsigned char *popped; /* how often each element was popped */
    _Atomic bool is_over;
    _Atomic size_t busy, got, unknown, let_go, loading, nothing, others;
} yard_t;

typedef struct popper {
    yard_t *yard;
    unsigned random;
    _Atomic uint64_t ticket;
} popper_t;

static void on_pop(shoal_client_t *client, const shoal_result_t *result, void *data);

static void pop(popper_t *popper)
{
    static const char *const argv[] = {"BLPOP", "yard", "0"};
    const shoal_command_t command = {3, argv, NULL};
    shoal_call_t call = SHOAL_CALL_INIT;
    uint64_t ticket = 0;

    if (live_roll(&popper->random) % 2)
        call.timeout_us = 200 + live_roll(&popper->random) % 20000;
    if (shoal_client_submit_many(popper->yard->client, &command, 1, &call, on_pop,
                                 popper, &ticket) < 0)
        abort();
    popper->ticket = ticket;
}

static bool is_loading(const shoal_reply_t *reply)
{
    size_t bytes;

    return shoal_reply_type(reply) == SHOAL_REPLY_ERROR &&
           strncmp(shoal_reply_string(reply, &bytes), "LOADING", 7) == 0;
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
    } else if (status == 0 && is_loading(reply)) {
        yard->loading++; /* attempts have an end */
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
    for (unsigned i = live_roll(random) % POPPERS; i > 0 && at; i--)
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

/* How often the server was asked to let a command go, since it began. */
static int unblocks(shoal_client_t *other)
{
    static const char name[] = "cmdstat_client|unblock:calls=";
    shoal_result_t *result;
    size_t bytes;

    assert_int_equal(shoal_client_callf(other, &result, "INFO commandstats"), 0);
    const char *at =
        strstr(shoal_reply_string(shoal_result_reply(result), &bytes), name);
    int calls = at ? atoi(at + sizeof name - 1) : 0;
    shoal_result_release(result);
    return calls;
}

static push_t push(yard_t *yard, shoal_client_t *other, size_t element)
{
    shoal_result_t *result;
    push_t is = PERHAPS;

    assert_int_equal(shoal_client_callf(other, &result, "RPUSH yard %d", (int)element),
                     0);
    if (shoal_result_status(result) == 0)
        is = is_loading(shoal_result_reply(result)) ? NOT_PUSHED : PUSHED;
    else if (shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED)
        is = NOT_PUSHED;
    if (!yard->redis)
        assert_int_equal(shoal_result_status(result), 0);
    shoal_result_release(result);
    return is;
}

static bool has_loaded(shoal_client_t *other)
{
    shoal_result_t *result;

    assert_int_equal(shoal_client_callf(other, &result, "LLEN yard"), 0);
    bool is_answered =
        shoal_reply_type(shoal_result_reply(result)) == SHOAL_REPLY_INTEGER;
    shoal_result_release(result);
    return is_answered;
}

/* ---- at the end ---- */

static unsigned char *read_left(shoal_client_t *other, size_t elements)
{
    unsigned char *left = calloc(elements, 1);
    shoal_result_t *result;
    size_t bytes;

    assert_non_null(left);
    assert_int_equal(shoal_client_callf(other, &result, "LRANGE yard 0 -1"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    const shoal_reply_t *list = shoal_result_reply(result);
    assert_int_equal(shoal_reply_type(list), SHOAL_REPLY_ARRAY);
    for (size_t i = 0; i < shoal_reply_count(list); i++)
        left[strtoul(shoal_reply_string(shoal_reply_at(list, i), &bytes), NULL, 10)]++;
    shoal_result_release(result);
    return left;
}

static void check_elements(const yard_t *yard, shoal_client_t *other)
{
    unsigned char *left = read_left(other, yard->elements);
    size_t missing = 0, remain = 0, doubtful = 0;

    for (size_t i = 0; i < yard->elements; i++) {
        unsigned there = left[i] + yard->popped[i];
        if (there > 1)
            fail_msg("element %zu: popped %d times, %d are left", i, yard->popped[i],
                     left[i]);
        if (there > 0 && yard->pushed[i] == NOT_PUSHED)
            fail_msg("element %zu was not pushed, and is there", i);
        remain += left[i];
        doubtful += yard->pushed[i] == PERHAPS;
        missing += there == 0 && yard->pushed[i] == PUSHED;
    }
    free(left);
    print_message(
        "%zu elements, %zu of them perhaps: popped %zu, left %zu, missing %zu; "
        "let go %zu, unknown %zu, loading %zu, others %zu; UNBLOCK %d times\n",
        yard->elements, doubtful, yard->got, remain, missing, yard->let_go,
        yard->unknown, yard->loading, yard->others, unblocks(other));
    assert_true(missing <= yard->unknown);
    assert_int_equal(yard->nothing, 0);
    assert_true(yard->let_go > 0);
}

/* ---- a run ---- */

typedef enum trouble { CANCELS, KILLS, RESTARTS } trouble_t;

static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "no",
                                      NULL};

static shoal_client_t *open_one(const yard_t *yard)
{
    return live_open(yard->redis ? live_options_of_port(redis_process_port(yard->redis))
                                 : live_options());
}

static void push_all(yard_t *yard, shoal_client_t *other, popper_t *poppers,
                     trouble_t trouble)
{
    unsigned random = 4711;
    size_t got = 0;

    for (size_t i = 0; i < yard->elements; i++) {
        yard->pushed[i] = (unsigned char)push(yard, other, i);
        if (live_roll(&random) % 3 == 0)
            (void)!shoal_client_cancel(yard->client,
                                       poppers[live_roll(&random) % POPPERS].ticket);
        if (trouble == KILLS && live_roll(&random) % 40 == 0)
            kill_one(other, &random);
        if (trouble == RESTARTS && i % RESTART_EVERY == RESTART_EVERY / 2) {
            WAIT_FOR(yard->got >= got + RESTART_EVERY / 4);
            redis_process_kill(yard->redis);
            assert_true(redis_process_restart(yard->redis));
            WAIT_FOR(has_loaded(other)); /* what was pushed until now */
            got = yard->got;
        }
    }
}

static void end_client(shoal_client_t *client)
{
    assert_int_equal(shoal_client_close_and_wait(client, 1000), 0);
    shoal_client_release(client);
}

static void run(size_t elements, trouble_t trouble)
{
    yard_t yard = {.elements = elements, .busy = POPPERS};
    popper_t poppers[POPPERS];

    if (trouble == RESTARTS) {
        yard.redis = redis_process_start(durable);
        if (!yard.redis)
            skip();
    }
    shoal_client_t *other = open_one(&yard);
    yard.client = open_one(&yard);
    ask(other, "DEL yard", 0);
    yard.popped = calloc(elements, sizeof *yard.popped);
    yard.pushed = calloc(elements, sizeof *yard.pushed);
    assert_true(yard.popped && yard.pushed);
    for (unsigned i = 0; i < POPPERS; i++) {
        poppers[i] = (popper_t){.yard = &yard, .random = i + 1};
        pop(&poppers[i]);
    }
    push_all(&yard, other, poppers, trouble);
    yard.is_over = true;
    while (yard.busy > 0) {
        for (unsigned i = 0; i < POPPERS; i++)
            (void)!shoal_client_cancel(yard.client, poppers[i].ticket);
        waiting_sleep_us(1000);
    }
    check_elements(&yard, other);
    if (trouble == CANCELS)
        assert_int_equal(yard.others, 0);
    if (trouble != RESTARTS)
        assert_int_equal(yard.loading, 0);
    WAIT_FOR(live_stats(yard.client).leases_now == 0);
    end_client(yard.client);
    end_client(other);
    redis_process_stop(yard.redis);
    free((void *)yard.popped);
    free(yard.pushed);
}

static void test_with_cancels_and_deadlines(void **state)
{
    (void)state;
    run(live_scaled(4000), CANCELS);
}

static void test_with_lost_connections_too(void **state)
{
    (void)state;
    run(live_scaled(4000), KILLS);
}

static void test_with_restarted_servers_too(void **state)
{
    (void)state;
    run(live_scaled(4000), RESTARTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_cancels_and_deadlines),
        cmocka_unit_test(test_with_lost_connections_too),
        cmocka_unit_test(test_with_restarted_servers_too),
    };
    return cmocka_run_group_tests_name("integration/popped_once", tests, NULL, NULL);
}
