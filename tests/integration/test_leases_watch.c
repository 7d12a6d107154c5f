/* SPDX-License-Identifier: MIT */
/* Optimistic locking while connections end after every byte.  Threads increase one counter by
 * WATCH, GET, and MULTI ... EXEC on leases; the unit also notes the attempt.  An attempt that
 * was proved not executed is made again, one whose fate is unknown is not.  At the end the
 * notes tell which attempts were executed: every one that has its reply, none that was called
 * not executed, none twice; and the counter is their number.  (I2 I3 I4) */
#include "fault_proxy/fault_proxy.h"
#include "support/live.h"

#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 32
/* Cuts of CI; at SHOAL_TEST_SCALE=100 each of the bytes is cut, in both ways, with both ends. */
#define CUTS 24
#define BYTES_BEHIND 700 /* of a few attempts: the exchange behind the greeting */
#define ENDINGS 4        /* of each byte: two ways, two ends */
#define ATTEMPTS_MAX 2000000

typedef enum verdict { OPEN, DONE, NOT_EXECUTED, UNKNOWN } verdict_t;

/* What all threads have. */
typedef struct race {
    shoal_client_t *client;
    _Atomic bool is_over;
    _Atomic size_t attempts, done, passed, not_executed, unknown, strange;
    _Atomic unsigned char *verdicts; /* by number of attempt */
} race_t;

typedef struct runner {
    race_t *race;
    pthread_t thread;
    sem_t answered;
    size_t results; /* of the unit */
    verdict_t verdict;
    bool was_passed; /* EXEC said nil: another thread was faster */
} runner_t;

static void note_exec(runner_t *runner, const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);
    bool is_nil = shoal_reply_type(reply) == SHOAL_REPLY_NIL;

    if (shoal_result_status(result) != 0)
        runner->verdict = shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED
                              ? NOT_EXECUTED
                              : UNKNOWN;
    else if (shoal_reply_type(reply) == SHOAL_REPLY_ARRAY)
        runner->verdict = DONE;
    else
        runner->verdict = NOT_EXECUTED;
    runner->was_passed = shoal_result_status(result) == 0 && is_nil;
    if (shoal_result_status(result) == 0 && runner->verdict != DONE && !is_nil)
        runner->race->strange++;
}

static void on_unit(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    runner_t *runner = data;
    (void)client;

    if (++runner->results < 4)
        return;
    note_exec(runner, result);
    sem_post(&runner->answered);
}

/* WATCH and GET.  False: the connection was lost. */
static bool watch(shoal_lease_t *lease, int64_t *ret_value)
{
    const char *const watch_argv[] = {"WATCH", "counter"};
    const char *const get_argv[] = {"GET", "counter"};
    const shoal_command_t commands[] = {{2, watch_argv, NULL}, {2, get_argv, NULL}};
    bool is_there = false;

    *ret_value = 0;
    for (size_t i = 0; i < 2; i++) {
        shoal_result_t *result = NULL;
        size_t bytes;
        const char *text;
        if (shoal_lease_call(lease, &commands[i], NULL, &result) < 0)
            return false;
        is_there = shoal_result_status(result) == 0;
        text = is_there ? shoal_reply_string(shoal_result_reply(result), &bytes) : NULL;
        if (text && i == 1)
            *ret_value = strtoll(text, NULL, 10);
        shoal_result_release(result);
        if (!is_there)
            break;
    }
    return is_there;
}

/* Write the next value, and note the attempt. */
static void write_next(runner_t *runner, shoal_lease_t *lease, int64_t value,
                       size_t attempt)
{
    char next[24], number[24];
    const char *const multi[] = {"MULTI"}, *const exec[] = {"EXEC"};
    const char *const set[] = {"SET", "counter", next};
    const char *const note[] = {"RPUSH", "notes", number};
    const shoal_command_t unit[] = {
        {1, multi, NULL}, {3, set, NULL}, {3, note, NULL}, {1, exec, NULL}};
    shoal_call_t call = SHOAL_CALL_INIT;

    snprintf(next, sizeof next, "%" PRId64, value + 1);
    snprintf(number, sizeof number, "%zu", attempt);
    call.flags = SHOAL_CALL_CONTIGUOUS;
    runner->results = 0;
    if (shoal_lease_submit(lease, unit, 4, &call, on_unit, runner, NULL) < 0)
        abort();
    while (sem_wait(&runner->answered) != 0)
        continue;
}

static void count(race_t *race, const runner_t *runner, size_t attempt)
{
    race->verdicts[attempt] = (unsigned char)runner->verdict;
    race->done += runner->verdict == DONE;
    race->unknown += runner->verdict == UNKNOWN;
    race->passed += runner->was_passed;
    race->not_executed += runner->verdict == NOT_EXECUTED && !runner->was_passed;
}

static void *increase(void *data)
{
    runner_t *runner = data;
    race_t *race = runner->race;

    while (!race->is_over) {
        shoal_lease_t *lease;
        int64_t value;
        if (shoal_lease_open(race->client, &lease) < 0)
            abort();
        /* Until the connection is lost. */
        while (!race->is_over && watch(lease, &value)) {
            size_t attempt = race->attempts++;
            if (attempt >= ATTEMPTS_MAX)
                abort();
            write_next(runner, lease, value, attempt);
            count(race, runner, attempt);
        }
        shoal_lease_close(lease);
    }
    return NULL;
}

/* ---- cuts ---- */

/* What the greeting of a connection takes, by way. */
static void measure_greeting(fault_proxy_t *proxy, uint64_t bytes[2])
{
    shoal_client_t *client = live_open(live_options_of_port(fault_proxy_port(proxy)));
    fault_proxy_counts_t counts = fault_proxy_counts(proxy);

    memcpy(bytes, counts.bytes, sizeof counts.bytes);
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

/* Each connection to come ends after so many bytes; those that are open end now. */
static void cut(fault_proxy_t *proxy, const uint64_t greeting[2], size_t step)
{
    fault_way_t way = step % 2 ? FAULT_TO_CLIENT : FAULT_TO_SERVER;
    fault_way_t other = step % 2 ? FAULT_TO_SERVER : FAULT_TO_CLIENT;
    fault_end_t how = step / 2 % 2 ? FAULT_END_RESET : FAULT_END_FIN;
    unsigned accepted;

    fault_proxy_cut_after(proxy, 0, other, UINT64_MAX, how);
    fault_proxy_cut_after(proxy, 0, way, greeting[way] + step / ENDINGS, how);
    fault_proxy_cut(proxy, way, how);
    accepted = fault_proxy_counts(proxy).accepted;
    /* The client has THREADS + 1 connections at most: then one came to its last byte. */
    WAIT_FOR(fault_proxy_counts(proxy).accepted >= accepted + THREADS + 2);
}

static void check_notes(const race_t *race, shoal_client_t *judge)
{
    unsigned char *found = calloc(ATTEMPTS_MAX, 1);
    size_t executed, doubtful = 0, bytes;
    shoal_result_t *result;

    assert_non_null(found);
    assert_int_equal(shoal_client_callf(judge, &result, "LRANGE notes 0 -1"), 0);
    const shoal_reply_t *notes = shoal_result_reply(result);
    executed = shoal_reply_count(notes);
    for (size_t i = 0; i < executed; i++)
        found[strtoull(shoal_reply_string(shoal_reply_at(notes, i), &bytes), NULL,
                       10)]++;
    shoal_result_release(result);
    for (size_t i = 0; i < race->attempts; i++) {
        verdict_t verdict = (verdict_t)race->verdicts[i];
        if (found[i] > 1)
            fail_msg("attempt %zu was executed %d times", i, found[i]);
        if (verdict == DONE && !found[i])
            fail_msg("attempt %zu has its reply, and was not executed", i);
        if (verdict == NOT_EXECUTED && found[i])
            fail_msg("attempt %zu was executed all the same", i);
        doubtful += verdict == UNKNOWN && found[i];
    }
    assert_int_equal(shoal_client_callf(judge, &result, "GET counter"), 0);
    const char *text = shoal_reply_string(shoal_result_reply(result), &bytes);
    size_t value = strtoull(text, NULL, 10);
    shoal_result_release(result);
    free(found);
    print_message("%zu attempts: %zu done, %zu passed, %zu not executed, %zu unknown, "
                  "of which %zu were executed; the counter is %zu\n",
                  race->attempts, race->done, race->passed, race->not_executed,
                  race->unknown, doubtful, value);
    assert_int_equal(value, executed);
    assert_int_equal(value, race->done + doubtful);
}

static void test_nothing_is_counted_twice_or_lost(void **state)
{
    const size_t all = (size_t)BYTES_BEHIND * ENDINGS;
    size_t cuts = live_scaled(CUTS);
    race_t race = {.verdicts = calloc(ATTEMPTS_MAX, 1)};
    runner_t runners[THREADS];
    uint64_t greeting[2];
    shoal_result_t *result;
    (void)state;

    assert_non_null(race.verdicts);
    shoal_client_t *judge = live_open(live_options());
    assert_int_equal(shoal_client_callf(judge, &result, "FLUSHALL"), 0);
    shoal_result_release(result);
    fault_proxy_t *proxy =
        fault_proxy_start(&(fault_proxy_config_t){.server_port = live_port()});
    assert_non_null(proxy);
    measure_greeting(proxy, greeting);
    race.client = live_open(live_options_of_port(fault_proxy_port(proxy)));
    for (size_t i = 0; i < THREADS; i++) {
        runners[i] = (runner_t){.race = &race};
        sem_init(&runners[i].answered, 0, 0);
        assert_int_equal(
            pthread_create(&runners[i].thread, NULL, increase, &runners[i]), 0);
    }
    if (cuts > all)
        cuts = all;
    for (size_t i = 0; i < cuts; i++)
        cut(proxy, greeting, i * all / cuts + (cuts < all ? i % ENDINGS : 0));
    fault_proxy_cut_after(proxy, 0, FAULT_TO_SERVER, UINT64_MAX, FAULT_END_FIN);
    fault_proxy_cut_after(proxy, 0, FAULT_TO_CLIENT, UINT64_MAX, FAULT_END_FIN);
    fault_proxy_cut(proxy, FAULT_TO_SERVER, FAULT_END_FIN);
    size_t done = race.done;
    WAIT_FOR(race.done >= done + THREADS);
    race.is_over = true;
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(runners[i].thread, NULL);
        sem_destroy(&runners[i].answered);
    }
    assert_int_equal(race.strange, 0);
    check_notes(&race, judge);
    assert_int_equal(race.attempts,
                     race.done + race.passed + race.not_executed + race.unknown);
    WAIT_FOR(live_stats(race.client).leases_now == 0);
    print_message("%zu cuts, %u connections\n", cuts,
                  fault_proxy_counts(proxy).accepted);
    assert_int_equal(shoal_client_close_and_wait(race.client, 1000), 0);
    shoal_client_release(race.client);
    assert_int_equal(shoal_client_close_and_wait(judge, 1000), 0);
    shoal_client_release(judge);
    fault_proxy_stop(proxy);
    free((void *)race.verdicts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_counted_twice_or_lost),
    };
    return cmocka_run_group_tests_name("integration/leases_watch", tests, NULL, NULL);
}
