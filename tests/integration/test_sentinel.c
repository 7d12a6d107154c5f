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
 * and the numbers that are there ascend.
 *
 * Each kind of failover happens once, or SHOAL_TEST_SCALE times: 200 of each take some
 * hours.  Printed is how long writes waited behind the first sentinel that named the new
 * primary. */
#include "support/live.h"
#include "support/sentinel_rig.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS 8
#define NUMBERS_MAX 400000
#define WAITS_MAX 1000

typedef enum fate { OPEN, IS_OK, IS_UNKNOWN, IS_NOT_EXECUTED, IS_ERROR } fate_t;

typedef struct number {
    unsigned char fate;
    unsigned short era; /* of an OK: how often the client had been ready */
} number_t;

typedef struct tally {
    size_t ok, unknown, not_executed, lost;
} tally_t;

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
    _Atomic unsigned era, changed, silent, unnamed;
    _Atomic bool is_over;
    _Atomic uint64_t resumed_us;  /* the first OK since the client became ready last */
    tally_t tally;                /* of the rounds that are over */
    uint64_t waits_us[WAITS_MAX]; /* of writes, behind the news */
    size_t waits;
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
    number->era = (unsigned short)load->era;
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
    if (shoal_event_kind(event) == SHOAL_EVENT_ATTEMPT_FAILED &&
        strncmp(shoal_event_detail(event), "no sentinel names", 17) == 0)
        load->unnamed++;
    load->changed += shoal_event_kind(event) == SHOAL_EVENT_SERVER_CHANGED;
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
        if (number <= last || number >= NUMBERS_MAX)
            fail_msg("caller %u: %lld behind %lld", caller->id, (long long)number,
                     (long long)last);
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

static void stop(load_t *load)
{
    load->is_over = true;
    for (size_t i = 0; i < CALLERS; i++)
        WAIT_FOR(load->callers[i].is_idle);
    for (size_t i = 0; i < CALLERS; i++)
        check_list(load, &load->callers[i], &load->tally);
    if (load->error[0])
        fail_msg("an error came through: %s", load->error);
    assert_int_equal(load->tally.not_executed, 0); /* they had time to wait */
}

static bool is_empty(const redis_process_t *server)
{
    char answer[32] = "";

    return redis_ask(redis_process_port(server), "DBSIZE", answer, sizeof answer) &&
           strcmp(answer, ":0") == 0;
}

/* New numbers, in empty lists: the next primary has none of the old ones. */
static void go_on(load_t *load)
{
    shoal_result_t *result = NULL;

    assert_int_equal(shoal_client_callf(load->client, &result, "FLUSHALL"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    shoal_result_release(result);
    for (size_t i = 0; i < RIG_SERVERS; i++)
        WAIT_FOR(is_empty(load->rig->servers[i]));
    load->is_over = false;
    for (size_t i = 0; i < CALLERS; i++) {
        load->callers[i].next = 0;
        load->callers[i].is_idle = false;
        submit(&load->callers[i]);
    }
    await_progress(load, 10);
}

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

static void report(load_t *load)
{
    const tally_t *tally = &load->tally;
    size_t waits = load->waits;

    print_message("ok %zu, lost by replication %zu, unknown %zu, not executed %zu; %u "
                  "times ready, %u servers\n",
                  tally->ok, tally->lost, tally->unknown, tally->not_executed,
                  load->era, load->changed);
    if (waits == 0)
        return;
    qsort(load->waits_us, waits, sizeof *load->waits_us, compare);
    print_message("%zu failovers; writes waited for %.1f ms (median), %.1f (p99), %.1f "
                  "(most)\n",
                  waits, (double)load->waits_us[waits / 2] / 1e3,
                  (double)load->waits_us[waits * 99 / 100] / 1e3,
                  (double)load->waits_us[waits - 1] / 1e3);
}

static tally_t end(load_t *load)
{
    tally_t tally;

    stop(load);
    report(load);
    tally = load->tally;
    /* One command of each caller was under way at each loss. */
    assert_true(tally.unknown <= (size_t)CALLERS * load->era);
    assert_int_equal(shoal_client_close_and_wait(load->client, 0), 0);
    shoal_client_release(load->client);
    for (size_t i = 0; i < CALLERS; i++)
        free(load->callers[i].numbers);
    sentinel_rig_stop(load->rig);
    free(load);
    return tally;
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

static size_t any_primary_but(const load_t *load, size_t former)
{
    for (size_t i = 0; i < RIG_SENTINELS; i++) {
        size_t primary = sentinel_rig_primary(load->rig, i);
        if (primary != former && primary != RIG_SERVERS)
            return primary;
    }
    return RIG_SERVERS;
}

/* The sentinels name another primary than before, and the client, which was ready so often
 * (era), follows and works there. */
static size_t await_switch(load_t *load, size_t former, unsigned era)
{
    size_t primary;
    uint64_t named_us;

    WAIT_FOR((primary = any_primary_but(load, former)) != RIG_SERVERS);
    named_us = waiting_now_us();
    /* A busy server may lose its place at once. */
    WAIT_FOR(load->era > era &&
             (primary = any_primary_but(load, former)) != RIG_SERVERS &&
             leads_to(load, primary));
    await_progress(load, 10);
    if (load->waits < WAITS_MAX)
        load->waits_us[load->waits++] =
            load->resumed_us > named_us ? load->resumed_us - named_us : 0;
    return primary;
}

/* What ends a primary, and what brings it back. */
typedef struct failure {
    void (*strike)(sentinel_rig_t *rig, size_t primary);
    void (*heal)(sentinel_rig_t *rig, size_t primary);
} failure_t;

static void follow(const failure_t *failure, size_t rounds)
{
    sentinel_rig_t *rig = sentinel_rig_start();
    size_t primary = 0;

    if (!rig)
        skip();
    load_t *load = begin(rig, RIG_SENTINELS);
    for (size_t i = live_scaled(rounds); i > 0; i--) {
        unsigned era = load->era;
        failure->strike(rig, primary);
        await_switch(load, primary, era);
        failure->heal(rig, primary);
        primary = sentinel_rig_await_primary(rig, primary);
        WAIT_FOR(leads_to(load, primary));
        stop(load);
        go_on(load);
    }
    end(load);
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

static void exchange(sentinel_rig_t *rig, size_t primary)
{
    (void)primary;
    sentinel_rig_failover(rig);
}

static void leave(sentinel_rig_t *rig, size_t primary)
{
    (void)rig, (void)primary;
}

static void kill_server(sentinel_rig_t *rig, size_t primary)
{
    redis_process_kill(rig->servers[primary]);
}

static void restart_server(sentinel_rig_t *rig, size_t primary)
{
    assert_true(redis_process_restart(rig->servers[primary]));
}

static void pause_server(sentinel_rig_t *rig, size_t primary)
{
    redis_process_pause(rig->servers[primary]);
}

static void resume_server(sentinel_rig_t *rig, size_t primary)
{
    redis_process_resume(rig->servers[primary]);
}

static void test_follows_a_failover(void **state)
{
    (void)state;
    follow(&(failure_t){exchange, leave}, 3);
}

static void test_follows_a_killed_primary(void **state)
{
    (void)state;
    follow(&(failure_t){kill_server, restart_server}, 1);
}

static void test_follows_a_stopped_primary(void **state)
{
    (void)state;
    follow(&(failure_t){pause_server, resume_server}, 1);
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
    await_switch(load, 0, 1);
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
    await_switch(load, 0, 1);
    end(load);
}

/* One sentinel does not hear of a failover, and is the only one that is left: it names the
 * former primary, with an older epoch. */
static void test_stays_although_one_was_cut_off(void **state)
{
    sentinel_rig_t *rig = RIG();
    load_t *load = begin(rig, RIG_SENTINELS);

    redis_process_kill(rig->sentinels[2]);
    sentinel_rig_failover(rig);
    await_switch(load, 0, 1);
    size_t primary = sentinel_rig_await_primary(rig, 0);
    WAIT_FOR(leads_to(load, primary));
    unsigned changed = load->changed; /* a busy server may lose its place at once */
    redis_process_kill(rig->sentinels[0]);
    redis_process_kill(rig->sentinels[1]);
    assert_true(redis_process_restart(rig->sentinels[2]));
    WAIT_FOR(sentinel_rig_primary(rig, 2) == 0);
    /* It is asked, and not believed; what the others said may serve one more dial. */
    WAIT_FOR((sentinel_rig_tell(rig->servers[primary], "CLIENT KILL TYPE normal", ":"),
              load->unnamed > 0));
    for (size_t i = 0; i < 2; i++)
        assert_true(redis_process_restart(rig->sentinels[i]));
    WAIT_FOR(leads_to(load, primary));
    await_progress(load, 10);
    assert_int_equal(load->changed, changed);
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
        cmocka_unit_test(test_stays_although_one_was_cut_off),
    };
    return cmocka_run_group_tests_name("integration/sentinel", tests, NULL, NULL);
}
