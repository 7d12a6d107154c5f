/* SPDX-License-Identifier: MIT */
#include "support/cluster_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS_MAX 4000000

typedef enum fate { OPEN, IS_OK, IS_UNKNOWN, IS_NOT_EXECUTED, IS_ERROR } fate_t;

/* One number that is under way. */
typedef struct cluster_call {
    cluster_caller_t *caller;
    size_t number;
} cluster_call_t;

#define WINDOW_MAX 64

struct cluster_caller {
    cluster_load_t *load;
    char key[24];
    unsigned slot;
    size_t next;
    unsigned char *fates; /* of the numbers */
    cluster_call_t calls[WINDOW_MAX];
    _Atomic size_t ok;
    _Atomic unsigned under_way;
};

static void submit(cluster_call_t *call);

static fate_t fate_of(const shoal_result_t *result)
{
    if (shoal_result_status(result) == 0)
        return shoal_result_error(result) ? IS_ERROR : IS_OK;
    return shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED ? IS_NOT_EXECUTED
                                                                : IS_UNKNOWN;
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    cluster_call_t *call = data;
    cluster_caller_t *caller = call->caller;
    cluster_load_t *load = caller->load;
    fate_t fate = fate_of(result);
    (void)client;

    caller->fates[call->number] = (unsigned char)fate;
    if (fate == IS_OK)
        caller->ok++;
    else if (fate == IS_ERROR)
        snprintf(load->error, sizeof load->error, "%s", shoal_result_error(result));
    else
        snprintf(load->error, sizeof load->error, "%s: %s",
                 shoal_error_name(shoal_result_status(result)),
                 shoal_result_detail(result));
    if (load->is_over || caller->next == NUMBERS_MAX)
        caller->under_way--;
    else
        submit(call);
}

static void submit(cluster_call_t *call)
{
    cluster_caller_t *caller = call->caller;

    call->number = caller->next++;
    int rc =
        shoal_client_submitf(caller->load->client, on_result, call, "RPUSH %s %llu",
                             caller->key, (unsigned long long)call->number);
    if (rc < 0) {
        snprintf(caller->load->error, sizeof caller->load->error, "submit: %s",
                 shoal_error_name(rc));
        caller->fates[call->number] = IS_ERROR;
        caller->under_way--;
    }
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    cluster_load_t *load = data;
    (void)client;

    load->changes += shoal_event_kind(event) == SHOAL_EVENT_MAP_CHANGED;
    load->losses += shoal_event_kind(event) == SHOAL_EVENT_LOST;
}

/* On the loop's thread, as all that follow: so each caller is one thread. */
static void on_begin(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    cluster_load_t *load = data;
    (void)client, (void)result;

    for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++)
        for (unsigned call = 0; call < load->window; call++)
            submit(&load->callers[i].calls[call]);
}

static void begin(cluster_load_t *load)
{
    for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++)
        load->callers[i].under_way = load->window;
    load->is_over = false;
    assert_int_equal(shoal_client_submitf(load->client, on_begin, load, "PING"), 0);
}

static void init_caller(cluster_load_t *load, size_t number)
{
    cluster_caller_t *caller = &load->callers[number];
    char command[64], answer[32];

    caller->load = load;
    caller->fates = calloc(NUMBERS_MAX, 1);
    assert_non_null(caller->fates);
    for (size_t i = 0; i < WINDOW_MAX; i++)
        caller->calls[i].caller = caller;
    snprintf(caller->key, sizeof caller->key, "list%zu", number);
    snprintf(command, sizeof command, "CLUSTER KEYSLOT %s", caller->key);
    assert_true(
        redis_ask(cluster_rig_port(load->rig, 0), command, answer, sizeof answer));
    caller->slot = (unsigned)atoi(answer + 1);
}

cluster_load_t *cluster_load_begin(cluster_rig_t *rig, unsigned window)
{
    cluster_load_t *load = calloc(1, sizeof *load);
    shoal_options_t *options;

    assert_non_null(load);
    assert_true(window <= WINDOW_MAX);
    load->rig = rig;
    load->window = window;
    load->callers = calloc(CLUSTER_LOAD_CALLERS, sizeof *load->callers);
    assert_non_null(load->callers);
    options = cluster_rig_options(rig, 0);
    assert_int_equal(shoal_options_set_on_event(options, on_event, load), 0);
    load->client = live_open(options);
    for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++)
        init_caller(load, i);
    begin(load);
    cluster_load_await_progress(load, 10);
    return load;
}

const char *cluster_load_key(const cluster_load_t *load, size_t caller)
{
    return load->callers[caller].key;
}

unsigned cluster_load_slot(const cluster_load_t *load, size_t caller)
{
    return load->callers[caller].slot;
}

void cluster_load_await_progress(cluster_load_t *load, size_t count)
{
    size_t from[CLUSTER_LOAD_CALLERS];

    for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++)
        from[i] = load->callers[i].ok;
    for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++)
        WAIT_FOR(load->callers[i].ok >= from[i] + count);
}

size_t cluster_load_caller_of(const cluster_load_t *load, size_t by, size_t owner)
{
    size_t caller = 0;

    while (caller < CLUSTER_LOAD_CALLERS &&
           cluster_rig_owner(load->rig, by, load->callers[caller].key) != owner)
        caller++;
    assert_true(caller < CLUSTER_LOAD_CALLERS);
    return caller;
}

void cluster_load_note_wait(cluster_load_t *load, size_t caller)
{
    size_t ok = load->callers[caller].ok;
    uint64_t since_us = waiting_now_us();

    WAIT_FOR(load->callers[caller].ok > ok);
    if (load->waits < CLUSTER_LOAD_WAITS_MAX)
        load->waits_us[load->waits++] = waiting_now_us() - since_us;
}

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

static void report_waits(cluster_load_t *load)
{
    size_t waits = load->waits;

    if (waits == 0)
        return;
    qsort(load->waits_us, waits, sizeof *load->waits_us, compare);
    print_message(
        "%zu failovers; the first number was taken %.1f ms (median), %.1f (p99), "
        "%.1f (most) behind the promotion\n",
        waits, (double)load->waits_us[waits / 2] / 1e3,
        (double)load->waits_us[waits * 99 / 100] / 1e3,
        (double)load->waits_us[waits - 1] / 1e3);
}

/* ---- what became of the numbers ---- */

static void read_list(const cluster_load_t *load, const cluster_caller_t *caller,
                      char *is_there, cluster_tally_t *tally)
{
    shoal_result_t *result = NULL;
    const shoal_reply_t *reply;
    int64_t highest = -1;

    assert_int_equal(
        shoal_client_callf(load->client, &result, "LRANGE %s 0 -1", caller->key), 0);
    assert_int_equal(shoal_result_status(result), 0);
    reply = shoal_result_reply(result);
    for (size_t i = 0; i < shoal_reply_count(reply); i++) {
        int64_t number =
            atoll(shoal_reply_string(shoal_reply_at(reply, i), &(size_t){0}));
        assert_true(number >= 0 && number < NUMBERS_MAX);
        if (is_there[number])
            fail_msg("%s: %lld was executed twice", caller->key, (long long)number);
        is_there[number] = 1;
        tally->inversions += number < highest;
        highest = number > highest ? number : highest;
    }
    shoal_result_release(result);
}

static void count(const cluster_load_t *load, const cluster_caller_t *caller,
                  cluster_tally_t *tally)
{
    char *is_there = calloc(NUMBERS_MAX, 1);

    assert_non_null(is_there);
    read_list(load, caller, is_there, tally);
    for (size_t i = 0; i < caller->next; i++) {
        unsigned char fate = caller->fates[i];
        if (fate == IS_NOT_EXECUTED && is_there[i])
            fail_msg("%s: %zu was executed", caller->key, i);
        tally->ok += fate == IS_OK;
        tally->lost += fate == IS_OK && !is_there[i];
        tally->unknown += fate == IS_UNKNOWN;
        tally->not_executed += fate == IS_NOT_EXECUTED;
        tally->errors += fate == IS_ERROR;
    }
    free(is_there);
}

cluster_tally_t cluster_load_stop(cluster_load_t *load)
{
    cluster_tally_t tally = {0};

    load->is_over = true;
    for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++)
        WAIT_FOR(load->callers[i].under_way == 0);
    for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++)
        count(load, &load->callers[i], &tally);
    print_message(
        "ok %zu, lost by replication %zu, unknown %zu, not executed %zu, errors "
        "%zu, inversions %zu; the map changed %u times, %u losses; %s\n",
        tally.ok, tally.lost, tally.unknown, tally.not_executed, tally.errors,
        tally.inversions, load->changes, load->losses, load->error);
    report_waits(load);
    return tally;
}

void cluster_load_go_on(cluster_load_t *load)
{
    for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++) {
        cluster_caller_t *caller = &load->callers[i];
        char command[64];
        snprintf(command, sizeof command, "DEL %s", caller->key);
        live_ask(load->client, command);
        memset(caller->fates, OPEN, caller->next);
        caller->next = 0;
    }
    load->error[0] = '\0';
    begin(load);
    cluster_load_await_progress(load, 10);
}

void cluster_load_end(cluster_load_t *load)
{
    live_finish(load->client);
    for (size_t i = 0; i < CLUSTER_LOAD_CALLERS; i++)
        free(load->callers[i].fates);
    free(load->callers);
    cluster_rig_stop(load->rig);
    free(load);
}
