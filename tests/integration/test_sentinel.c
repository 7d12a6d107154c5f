/* SPDX-License-Identifier: MIT */
/* Sentinels exchange the primary while commands run.  A client that knows the sentinels
 * follows, and writes to no other server than one that is the primary.
 *
 * Each caller pushes ascending numbers to a list of its own, one after the other.  In the
 * end the list of the last primary tells what became of each number:
 *
 *   NOT_EXECUTED                    it is not there
 *   OK, by the last primary         it is there
 *   OK, by a former primary         it may be missing: replication is asynchronous
 *   UNKNOWN                         both
 *
 * and the numbers that are there ascend. */
#include "support/live.h"
#include "support/sentinel_rig.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS 8
#define NUMBERS_MAX 400000

typedef enum fate { OPEN, IS_OK, IS_UNKNOWN, IS_NOT_EXECUTED, IS_ERROR } fate_t;

typedef struct number {
    unsigned char fate;
    unsigned char era; /* of an OK: how often the client had been ready */
} number_t;

typedef struct load load_t;

typedef struct caller {
    load_t *load;
    unsigned id;
    size_t next; /* the number that is under way */
    number_t *numbers;
    _Atomic size_t ok_in_era;
    _Atomic bool is_idle;
} caller_t;

struct load {
    sentinel_rig_t *rig;
    shoal_client_t *client;
    caller_t callers[CALLERS];
    _Atomic unsigned era, changed, silent;
    _Atomic bool is_over;
    _Atomic uint64_t changed_us, resumed_us; /* of the last change */
    char error[200];
};

/* ---- callers ---- */

static void submit(caller_t *caller);

static fate_t fate_of(const shoal_result_t *result)
{
    if (shoal_result_status(result) == 0)
        return shoal_result_error(result) ? IS_ERROR : IS_OK;
    return shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED ? IS_NOT_EXECUTED
                                                                : IS_UNKNOWN;
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    caller_t *caller = data;
    load_t *load = caller->load;
    number_t *number = &caller->numbers[caller->next++];
    (void)client;

    number->fate = (unsigned char)fate_of(result);
    number->era = (unsigned char)load->era;
    if (number->fate == IS_OK) {
        if (load->resumed_us == 0)
            load->resumed_us = waiting_now_us();
        caller->ok_in_era++;
    } else if (number->fate == IS_ERROR) {
        snprintf(load->error, sizeof load->error, "%s", shoal_result_error(result));
    }
    if (load->is_over || caller->next == NUMBERS_MAX)
        caller->is_idle = true;
    else
        submit(caller);
}

static void submit(caller_t *caller)
{
    int rc =
        shoal_client_submitf(caller->load->client, on_result, caller, "RPUSH l%u %llu",
                             caller->id, (unsigned long long)caller->next);

    if (rc < 0) {
        snprintf(caller->load->error, sizeof caller->load->error, "submit: %s",
                 shoal_error_name(rc));
        caller->is_idle = true;
    }
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    load_t *load = data;
    (void)client;

    if (shoal_event_kind(event) == SHOAL_EVENT_SENTINELS_LOST)
        load->silent++;
    if (shoal_event_kind(event) == SHOAL_EVENT_SERVER_CHANGED) {
        load->changed++;
        load->changed_us = waiting_now_us();
    }
    if (shoal_event_kind(event) != SHOAL_EVENT_READY ||
        shoal_event_connection(event) != 1)
        return;
    load->era++;
    load->resumed_us = 0;
    for (size_t i = 0; i < CALLERS; i++)
        load->callers[i].ok_in_era = 0;
}

/* Every caller had so many numbers taken since the client became ready last. */
static void await_progress(const load_t *load, size_t count)
{
    for (size_t i = 0; i < CALLERS; i++)
        WAIT_FOR(load->callers[i].ok_in_era >= count);
}

static load_t *begin(sentinel_rig_t *rig, size_t sentinels)
{
    load_t *load = calloc(1, sizeof *load);
    shoal_options_t *options;

    assert_non_null(load);
    load->rig = rig;
    options = sentinel_rig_options(rig, sentinels);
    assert_int_equal(shoal_options_set_on_event(options, on_event, load), 0);
    assert_int_equal(shoal_options_set_timeout_us(options, 60000000), 0);
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    load->client = live_open(options);
    for (unsigned i = 0; i < CALLERS; i++) {
        load->callers[i] = (caller_t){
            .load = load, .id = i, .numbers = calloc(NUMBERS_MAX, sizeof(number_t))};
        assert_non_null(load->callers[i].numbers);
        submit(&load->callers[i]);
    }
    await_progress(load, 10);
    return load;
}

/* ---- what became of the numbers ---- */

typedef struct tally {
    size_t ok, unknown, not_executed, lost;
} tally_t;

static void check_list(const load_t *load, const caller_t *caller, tally_t *tally)
{
    char *is_there = calloc(NUMBERS_MAX, 1);
    shoal_result_t *result = NULL;
    const shoal_reply_t *reply;
    int64_t last = -1;

    assert_non_null(is_there);
    assert_int_equal(
        shoal_client_callf(load->client, &result, "LRANGE l%u 0 -1", caller->id), 0);
    assert_int_equal(shoal_result_status(result), 0);
    reply = shoal_result_reply(result);
    for (size_t i = 0; i < shoal_reply_count(reply); i++) {
        int64_t number =
            atoll(shoal_reply_string(shoal_reply_at(reply, i), &(size_t){0}));
        assert_true(number > last && number < NUMBERS_MAX);
        is_there[number] = 1;
        last = number;
    }
    shoal_result_release(result);
    for (size_t i = 0; i < caller->next; i++) {
        const number_t *number = &caller->numbers[i];
        bool is_ok = number->fate == IS_OK;
        bool is_lost = is_ok && !is_there[i];

        if (is_lost && number->era == load->era)
            fail_msg("caller %u: the last primary took %zu and has it not", caller->id,
                     i);
        if (number->fate == IS_NOT_EXECUTED && is_there[i])
            fail_msg("caller %u: %zu was executed", caller->id, i);
        tally->ok += is_ok;
        tally->lost += is_lost;
        tally->unknown += number->fate == IS_UNKNOWN;
        tally->not_executed += number->fate == IS_NOT_EXECUTED;
    }
    free(is_there);
}

static tally_t end(load_t *load)
{
    tally_t tally = {0};

    load->is_over = true;
    for (size_t i = 0; i < CALLERS; i++)
        WAIT_FOR(load->callers[i].is_idle);
    for (size_t i = 0; i < CALLERS; i++)
        check_list(load, &load->callers[i], &tally);
    if (load->error[0])
        fail_msg("an error came through: %s", load->error);
    print_message("ok %zu, lost by replication %zu, unknown %zu, not executed %zu; %u "
                  "times ready, %u servers\n",
                  tally.ok, tally.lost, tally.unknown, tally.not_executed, load->era,
                  load->changed);
    /* One command of each caller was under way at each loss. */
    assert_true(tally.unknown <= (size_t)CALLERS * load->era);
    assert_int_equal(tally.not_executed, 0); /* they had time to wait */
    assert_int_equal(shoal_client_close_and_wait(load->client, 0), 0);
    shoal_client_release(load->client);
    for (size_t i = 0; i < CALLERS; i++)
        free(load->callers[i].numbers);
    sentinel_rig_stop(load->rig);
    free(load);
    return tally;
}

static void report_resumption(load_t *load)
{
    print_message("resumed %lld us behind the news\n",
                  (long long)(load->resumed_us - load->changed_us));
}

static bool leads_to(const load_t *load, size_t server)
{
    shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;
    char name[32];

    snprintf(name, sizeof name, "127.0.0.1:%d",
             redis_process_port(load->rig->servers[server]));
    assert_int_equal(shoal_connection_get(load->client, 1, &info), 0);
    return info.state == SHOAL_CONNECTION_READY && strcmp(info.server, name) == 0;
}

/* The client follows to a primary that is not `former`, and works there. */
static size_t await_switch(load_t *load, size_t former)
{
    size_t primary = sentinel_rig_await_primary(load->rig, former);

    WAIT_FOR(leads_to(load, primary));
    await_progress(load, 10);
    report_resumption(load);
    return primary;
}

/* ---- tests ---- */

#define RIG()                                                                          \
    sentinel_rig_start();                                                              \
    (void)state;                                                                       \
    if (!rig)                                                                          \
    skip()

static void test_finds_the_primary(void **state)
{
    sentinel_rig_t *rig = RIG();
    load_t *load = begin(rig, 1);

    assert_int_equal(load->changed, 1);
    tally_t tally = end(load);
    assert_int_equal(tally.lost + tally.unknown, 0);
}

static void test_follows_a_failover(void **state)
{
    sentinel_rig_t *rig = RIG();
    load_t *load = begin(rig, RIG_SENTINELS);
    size_t primary = 0;

    for (int i = 0; i < 3; i++) {
        sentinel_rig_failover(rig);
        primary = await_switch(load, primary);
    }
    end(load);
}

static void test_follows_a_killed_primary(void **state)
{
    sentinel_rig_t *rig = RIG();
    load_t *load = begin(rig, RIG_SENTINELS);

    redis_process_kill(rig->servers[0]);
    await_switch(load, 0);
    assert_true(redis_process_restart(rig->servers[0]));
    sentinel_rig_await_primary(rig, 0);
    end(load);
}

static void test_follows_a_stopped_primary(void **state)
{
    sentinel_rig_t *rig = RIG();
    load_t *load = begin(rig, RIG_SENTINELS);

    redis_process_pause(rig->servers[0]);
    WAIT_FOR(leads_to(load, 1) || leads_to(load, 2));
    await_progress(load, 10);
    redis_process_resume(rig->servers[0]);
    sentinel_rig_await_primary(rig, 0);
    end(load);
}

/* An operator has the sentinels watch another server: no event tells of it, and the epoch
 * begins anew. */
static void test_follows_an_operator(void **state)
{
    sentinel_rig_t *rig = RIG();
    load_t *load = begin(rig, RIG_SENTINELS);

    sentinel_rig_tell(rig->servers[1], "REPLICAOF NO ONE", "+OK");
    sentinel_rig_monitor(rig, 1);
    WAIT_FOR(leads_to(load, 1));
    await_progress(load, 10);
    end(load);
}

/* The sentinels' users may not subscribe: the questions every 5 s are enough. */
static void test_follows_without_events(void **state)
{
    sentinel_rig_t *rig = RIG();

    for (size_t i = 0; i < RIG_SENTINELS; i++)
        sentinel_rig_tell(rig->sentinels[i], "ACL SETUSER default -subscribe", "+OK");
    load_t *load = begin(rig, 1);
    sentinel_rig_failover(rig);
    await_switch(load, 0);
    end(load);
}

/* Sentinels come and go; the primary that works goes on. */
static void test_goes_on_without_sentinels(void **state)
{
    sentinel_rig_t *rig = RIG();
    load_t *load = begin(rig, RIG_SENTINELS);

    for (size_t i = 0; i < RIG_SENTINELS; i++)
        redis_process_kill(rig->sentinels[i]);
    WAIT_FOR(load->silent == 1);
    assert_int_equal(load->era, 1);
    for (size_t i = 0; i < CALLERS; i++)
        load->callers[i].ok_in_era = 0;
    await_progress(load, 10);
    for (size_t i = 0; i < RIG_SENTINELS; i++)
        assert_true(redis_process_restart(rig->sentinels[i]));
    sentinel_rig_failover(rig);
    await_switch(load, 0);
    end(load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_the_primary),
        cmocka_unit_test(test_follows_a_failover),
        cmocka_unit_test(test_follows_a_killed_primary),
        cmocka_unit_test(test_follows_a_stopped_primary),
        cmocka_unit_test(test_follows_an_operator),
        cmocka_unit_test(test_follows_without_events),
        cmocka_unit_test(test_goes_on_without_sentinels),
    };
    return cmocka_run_group_tests_name("integration/sentinel", tests, NULL, NULL);
}
