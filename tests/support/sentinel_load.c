/* SPDX-License-Identifier: MIT */
#include "support/sentinel_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS SENTINEL_LOAD_CALLERS
#define NUMBERS_MAX 2000000

typedef enum fate { OPEN, IS_OK, IS_UNKNOWN, IS_NOT_EXECUTED, IS_ERROR } fate_t;

typedef struct number {
    unsigned char fate;
    unsigned short era; /* of an OK: how often the client had been ready */
} number_t;

struct sentinel_caller {
    sentinel_load_t *load;
    unsigned id;
    size_t next; /* the number that is under way */
    number_t *numbers;
    _Atomic size_t ok_in_era;
    _Atomic bool is_idle;
};

/* ---- callers ---- */

static void submit(sentinel_caller_t *caller);

static fate_t fate_of(const shoal_result_t *result)
{
    if (shoal_result_status(result) == 0)
        return shoal_result_error(result) ? IS_ERROR : IS_OK;
    return shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED ? IS_NOT_EXECUTED
                                                                : IS_UNKNOWN;
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    sentinel_caller_t *caller = data;
    sentinel_load_t *load = caller->load;
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

static void submit(sentinel_caller_t *caller)
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
    sentinel_load_t *load = data;
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
    sentinel_load_count_anew(load);
}

void sentinel_load_count_anew(sentinel_load_t *load)
{
    for (size_t i = 0; i < CALLERS; i++)
        load->callers[i].ok_in_era = 0;
}

void sentinel_load_await_progress(const sentinel_load_t *load, size_t count)
{
    for (size_t i = 0; i < CALLERS; i++)
        WAIT_FOR(load->callers[i].ok_in_era >= count);
}

sentinel_load_t *sentinel_load_begin(sentinel_rig_t *rig, size_t sentinels)
{
    sentinel_load_t *load = calloc(1, sizeof *load);
    shoal_options_t *options;

    assert_non_null(load);
    load->rig = rig;
    load->callers = calloc(CALLERS, sizeof *load->callers);
    assert_non_null(load->callers);
    options = sentinel_rig_options(rig, sentinels);
    assert_int_equal(shoal_options_set_on_event(options, on_event, load), 0);
    assert_int_equal(shoal_options_set_timeout_us(options, 60000000), 0);
    load->client = live_open(options);
    for (unsigned i = 0; i < CALLERS; i++) {
        load->callers[i] = (sentinel_caller_t){
            .load = load, .id = i, .numbers = calloc(NUMBERS_MAX, sizeof(number_t))};
        assert_non_null(load->callers[i].numbers);
        submit(&load->callers[i]);
    }
    sentinel_load_await_progress(load, 10);
    return load;
}

/* ---- what became of the numbers ---- */

static void check_list(const sentinel_load_t *load, const sentinel_caller_t *caller,
                       sentinel_tally_t *tally)
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

static void stop(sentinel_load_t *load)
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

/* Is no number anywhere?  A server that is exchanged now may take the command with it. */
static bool is_flushed(const sentinel_load_t *load)
{
    shoal_result_t *result = NULL;
    bool is_flushed = shoal_client_callf(load->client, &result, "FLUSHALL") == 0 &&
                      shoal_result_status(result) == 0;

    shoal_result_release(result);
    for (size_t i = 0; i < RIG_SERVERS; i++)
        is_flushed = is_flushed && is_empty(load->rig->servers[i]);
    return is_flushed;
}

/* New numbers, in empty lists: the next primary has none of the old ones. */
static void go_on(sentinel_load_t *load)
{
    WAIT_FOR(is_flushed(load));
    load->is_over = false;
    for (size_t i = 0; i < CALLERS; i++) {
        load->callers[i].next = 0;
        load->callers[i].is_idle = false;
        submit(&load->callers[i]);
    }
    sentinel_load_await_progress(load, 10);
}

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

static void report(sentinel_load_t *load)
{
    const sentinel_tally_t *tally = &load->tally;
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

sentinel_tally_t sentinel_load_end(sentinel_load_t *load)
{
    sentinel_tally_t tally;

    stop(load);
    report(load);
    tally = load->tally;
    /* One command of each caller was under way at each loss. */
    assert_true(tally.unknown <= (size_t)CALLERS * load->era);
    assert_int_equal(shoal_client_close_and_wait(load->client, 0), 0);
    shoal_client_release(load->client);
    for (size_t i = 0; i < CALLERS; i++)
        free(load->callers[i].numbers);
    free(load->callers);
    sentinel_rig_stop(load->rig);
    free(load);
    return tally;
}

bool sentinel_load_leads_to(const sentinel_load_t *load, size_t server)
{
    shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;
    char name[RIG_NAME_BYTES];

    sentinel_rig_name(load->rig, server, name);
    assert_int_equal(shoal_connection_get(load->client, 1, &info), 0);
    return info.state == SHOAL_CONNECTION_READY && strcmp(info.server, name) == 0;
}

static size_t any_primary_but(const sentinel_load_t *load, size_t former)
{
    for (size_t i = 0; i < RIG_SENTINELS; i++) {
        size_t primary = sentinel_rig_primary(load->rig, i);
        if (primary != former && primary != RIG_SERVERS)
            return primary;
    }
    return RIG_SERVERS;
}

/* Since when has a sentinel named this server, and it said that it is the primary? */
typedef struct naming {
    size_t primary;
    uint64_t since_us;
} naming_t;

/* Is the client there?  A busy server may lose its place at once. */
static bool is_followed(const sentinel_load_t *load, size_t former, naming_t *naming)
{
    size_t primary = any_primary_but(load, former);

    if (primary != naming->primary || !sentinel_rig_is_primary(load->rig, primary))
        *naming = (naming_t){primary, waiting_now_us()};
    return primary != RIG_SERVERS && sentinel_load_leads_to(load, primary);
}

size_t sentinel_load_await_switch(sentinel_load_t *load, size_t former, unsigned era)
{
    naming_t naming = {RIG_SERVERS, 0};

    WAIT_FOR(is_followed(load, former, &naming) && load->era > era);
    sentinel_load_await_progress(load, 10);
    if (load->waits < SENTINEL_LOAD_WAITS_MAX)
        load->waits_us[load->waits++] =
            load->resumed_us > naming.since_us ? load->resumed_us - naming.since_us : 0;
    return naming.primary;
}

/* How often the client was ready when it was so with this server. */
static unsigned await_place(const sentinel_load_t *load, size_t server)
{
    unsigned era;

    do {
        WAIT_FOR(sentinel_load_leads_to(load, server));
        era = load->era;
    } while (!sentinel_load_leads_to(load, server));
    return era;
}

void sentinel_load_follow(sentinel_rig_t *rig, const sentinel_failure_t *failure)
{
    size_t primary = 0;

    if (!rig)
        skip();
    sentinel_load_t *load = sentinel_load_begin(rig, RIG_SENTINELS);
    for (size_t i = live_scaled(1); i > 0; i--) {
        /* A busy server may lose its place before it is struck. */
        unsigned era = await_place(load, primary);
        if (i < live_scaled(1)) {
            stop(load);
            go_on(load);
        }
        failure->strike(load, primary);
        sentinel_load_await_switch(load, primary, era);
        failure->heal(load, primary);
        primary = sentinel_rig_await_primary(rig);
    }
    sentinel_load_end(load);
}
