/* SPDX-License-Identifier: MIT */
#include "support/cluster_load.h"

#include "resp/key_slot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS_MAX 4000000

typedef enum fate { OPEN, IS_OK, IS_UNKNOWN, IS_NOT_EXECUTED, IS_ERROR } fate_t;
typedef enum kind { PUSH, UNIT, WRITE_PAIR, READ_PAIR } kind_t;
#define PAIR_READ_BEHIND 4 /* the write */

/* One number that is under way. */
typedef struct cluster_call {
    cluster_caller_t *caller;
    size_t number;
    unsigned parts; /* of the unit that it is: those that have a result */
} cluster_call_t;

#define WINDOW_MAX 64

struct cluster_caller {
    cluster_load_t *load;
    char key[32];
    unsigned slot;
    size_t first, next;   /* first: since the load began, or was begun anew */
    unsigned char *fates; /* of the numbers from the first one */
    unsigned char *marks; /* of the same: they are reordered */
    cluster_call_t calls[WINDOW_MAX];
    _Atomic size_t ok;
    size_t misread;
    _Atomic bool is_chosen;
    _Atomic unsigned under_way;
};

static kind_t kind_of(const cluster_load_t *load, size_t number)
{
    if (number % 8 == 5)
        return UNIT;
    if (!load->plan.has_pairs || number % 4 != 3)
        return PUSH;
    return number % 8 == 3 ? WRITE_PAIR : READ_PAIR;
}

static void submit(cluster_call_t *call);

static fate_t fate_of(const shoal_result_t *result)
{
    if (shoal_result_status(result) == 0)
        return shoal_result_error(result) ? IS_ERROR : IS_OK;
    return shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED ? IS_NOT_EXECUTED
                                                                : IS_UNKNOWN;
}

/* Both are what was written last. */
static void check_pair(const cluster_call_t *call, const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);
    size_t size = 0;

    for (size_t i = 0; i < 2; i++) {
        const char *said = shoal_reply_string(shoal_reply_at(reply, i), &size);
        if (!said || (size_t)atoll(said) != call->number - PAIR_READ_BEHIND) {
            call->caller->misread++;
            return;
        }
    }
}

static void note_silence(cluster_load_t *load)
{
    uint64_t now_us = waiting_now_us(), silence_us = now_us - load->heard_us;

    if (silence_us > load->silence_us)
        load->silence_us = silence_us;
    load->heard_us = now_us;
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    cluster_call_t *call = data;
    cluster_caller_t *caller = call->caller;
    cluster_load_t *load = caller->load;
    fate_t fate = fate_of(result);
    (void)client;

    caller->fates[call->number - caller->first] = (unsigned char)fate;
    caller->marks[call->number - caller->first] = shoal_result_was_reordered(result);
    if (fate == IS_OK && kind_of(load, call->number) == READ_PAIR)
        check_pair(call, result);
    if (caller->is_chosen)
        note_silence(load);
    if (fate == IS_OK)
        caller->ok++;
    else if (fate == IS_ERROR)
        snprintf(load->error, sizeof load->error, "%s", shoal_result_error(result));
    else
        snprintf(load->error, sizeof load->error, "%s: %s",
                 shoal_error_name(shoal_result_status(result)),
                 shoal_result_detail(result));
    if (load->is_over || caller->next - caller->first == NUMBERS_MAX)
        caller->under_way--;
    else
        submit(call);
}

/* Of the parts of a unit the last one tells. */
static void on_part(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    cluster_call_t *call = data;

    if (++call->parts == 3)
        on_result(client, result, data);
}

static int submit_unit(cluster_call_t *call)
{
    char number[24];
    const char *multi[] = {"MULTI"}, *exec[] = {"EXEC"};
    const char *push[] = {"RPUSH", call->caller->key, number};
    const shoal_command_t commands[] = {
        {1, multi, NULL}, {3, push, NULL}, {1, exec, NULL}};
    shoal_call_t options = SHOAL_CALL_INIT;

    options.flags = SHOAL_CALL_CONTIGUOUS;
    snprintf(number, sizeof number, "%zu", call->number);
    call->parts = 0;
    return shoal_client_submit_many(call->caller->load->client, commands, 3, &options,
                                    on_part, call, NULL);
}

static int submit_bulk(cluster_call_t *call)
{
    char number[24];
    const char *push[] = {"RPUSH", call->caller->key, number};
    const shoal_command_t command = {3, push, NULL};
    shoal_call_t options = SHOAL_CALL_INIT;

    options.flags = SHOAL_CALL_BULK;
    snprintf(number, sizeof number, "%zu", call->number);
    return shoal_client_submit_many(call->caller->load->client, &command, 1, &options,
                                    on_result, call, NULL);
}

static int submit_kind(cluster_call_t *call)
{
    cluster_caller_t *caller = call->caller;
    shoal_client_t *client = caller->load->client;
    unsigned long long number = call->number;
    const char *key = caller->key;

    switch (kind_of(caller->load, call->number)) {
    case UNIT:
        return submit_unit(call);
    case WRITE_PAIR:
        return shoal_client_submitf(client, on_result, call,
                                    "MSET {%s}a %llu {%s}b %llu", key, number, key,
                                    number);
    case READ_PAIR:
        return shoal_client_submitf(client, on_result, call, "MGET {%s}a {%s}b", key,
                                    key);
    case PUSH:
    default:
        if (caller->load->plan.has_bulk && call->number % 16 == 9)
            return submit_bulk(call);
        return shoal_client_submitf(client, on_result, call, "RPUSH %s %llu", key,
                                    number);
    }
}

static void submit(cluster_call_t *call)
{
    cluster_caller_t *caller = call->caller;
    int rc;

    call->number = caller->next++;
    rc = submit_kind(call);
    if (rc < 0) {
        snprintf(caller->load->error, sizeof caller->load->error, "submit: %s",
                 shoal_error_name(rc));
        caller->fates[call->number - caller->first] = IS_ERROR;
        caller->under_way--;
    }
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    cluster_load_t *load = data;
    shoal_event_kind_t kind = shoal_event_kind(event);
    (void)client;

    load->changes += kind == SHOAL_EVENT_MAP_CHANGED;
    load->losses += kind == SHOAL_EVENT_LOST;
    if (kind == SHOAL_EVENT_MAP_CHANGED)
        load->changed_us = waiting_now_us();
}

/* On the loop's thread, as all that follow: so each caller is one thread. */
static void on_begin(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    cluster_load_t *load = data;
    (void)client, (void)result;

    for (size_t i = 0; i < load->plan.callers; i++)
        for (unsigned call = 0; call < load->plan.window; call++)
            submit(&load->callers[i].calls[call]);
}

static void begin(cluster_load_t *load)
{
    for (size_t i = 0; i < load->plan.callers; i++)
        load->callers[i].under_way = load->plan.window;
    load->is_over = false;
    assert_int_equal(shoal_client_submitf(load->client, on_begin, load, "PING"), 0);
}

static bool is_near(const cluster_load_t *load, unsigned slot)
{
    unsigned first = slot - slot % (CLUSTER_SLOTS / CLUSTER_PRIMARIES);

    return load->plan.slots == 0 || slot - first < load->plan.slots;
}

static void init_caller(cluster_load_t *load, size_t number)
{
    cluster_caller_t *caller = &load->callers[number];
    unsigned attempt = 0;

    caller->load = load;
    caller->fates = calloc(NUMBERS_MAX, 1);
    caller->marks = calloc(NUMBERS_MAX, 1);
    assert_non_null(caller->fates);
    assert_non_null(caller->marks);
    for (size_t i = 0; i < WINDOW_MAX; i++)
        caller->calls[i].caller = caller;
    do {
        snprintf(caller->key, sizeof caller->key, "list%u.%u", (unsigned)number,
                 attempt++);
        caller->slot =
            shoal__key_slot((shoal__bytes_t){caller->key, strlen(caller->key)});
    } while (!is_near(load, caller->slot));
}

cluster_load_t *cluster_load_begin(cluster_rig_t *rig, unsigned window)
{
    return cluster_load_begin_as(rig, &(cluster_load_plan_t){.window = window});
}

cluster_load_t *cluster_load_begin_as(cluster_rig_t *rig,
                                      const cluster_load_plan_t *plan)
{
    cluster_load_t *load = calloc(1, sizeof *load);
    shoal_options_t *options;

    assert_non_null(load);
    assert_true(plan->window <= WINDOW_MAX);
    load->rig = rig;
    load->plan = *plan;
    if (plan->callers == 0)
        load->plan.callers = CLUSTER_LOAD_CALLERS;
    load->callers = calloc(load->plan.callers, sizeof *load->callers);
    assert_non_null(load->callers);
    options = cluster_rig_options(rig, 0);
    assert_int_equal(shoal_options_set_on_event(options, on_event, load), 0);
    load->client = live_open(options);
    for (size_t i = 0; i < load->plan.callers; i++)
        init_caller(load, i);
    begin(load);
    cluster_load_await_progress(load, 10);
    return load;
}

const char *cluster_load_key(const cluster_load_t *load, size_t caller)
{
    return load->callers[caller].key;
}

size_t cluster_load_taken(const cluster_load_t *load, size_t caller)
{
    return load->callers[caller].ok;
}

unsigned cluster_load_slot(const cluster_load_t *load, size_t caller)
{
    return load->callers[caller].slot;
}

/* For whoever reads why a wait was in vain. */
static void describe(const cluster_load_t *load, size_t number)
{
    const cluster_caller_t *caller = &load->callers[number];

    print_message("%s, slot %u: %zu of %zu numbers were taken, %u are under way; %s\n",
                  caller->key, caller->slot, (size_t)caller->ok, caller->next,
                  (unsigned)caller->under_way, load->error);
    for (size_t i = 0; i < load->rig->count; i++)
        print_message("node %zu, port %d: node %zu owns it\n", i,
                      cluster_rig_client_port(load->rig, i),
                      cluster_rig_owner(load->rig, i, caller->key));
}

static void await_caller(const cluster_load_t *load, size_t number, size_t count)
{
    uint64_t since_us = waiting_now_us();
    bool is_described = false;

    while (load->callers[number].ok < count) {
        bool is_late = waiting_now_us() - since_us > WAITING_US_MAX / 2;
        if (is_late && !is_described)
            describe(load, number);
        is_described |= is_late;
        waiting_pause(since_us, "the caller goes on", __FILE__, __LINE__);
    }
}

static void await_callers(cluster_load_t *load, size_t count, bool are_chosen)
{
    size_t *from = malloc(load->plan.callers * sizeof *from);

    assert_non_null(from);
    for (size_t i = 0; i < load->plan.callers; i++)
        from[i] = load->callers[i].ok;
    for (size_t i = 0; i < load->plan.callers; i++)
        if (!are_chosen || load->callers[i].is_chosen)
            await_caller(load, i, from[i] + count);
    free(from);
}

void cluster_load_await_progress(cluster_load_t *load, size_t count)
{
    await_callers(load, count, false);
}

void cluster_load_await_chosen(cluster_load_t *load, size_t count)
{
    await_callers(load, count, true);
}

size_t cluster_load_caller_of(const cluster_load_t *load, size_t by, size_t owner)
{
    size_t caller = 0;

    while (caller < load->plan.callers &&
           cluster_rig_owner(load->rig, by, load->callers[caller].key) != owner)
        caller++;
    assert_true(caller < load->plan.callers);
    return caller;
}

void cluster_load_note_wait(cluster_load_t *load, size_t caller, uint64_t since_us)
{
    size_t ok = load->callers[caller].ok;
    uint64_t changed_us;

    WAIT_FOR(load->callers[caller].ok > ok);
    changed_us = load->changed_us;
    if (load->waits == CLUSTER_LOAD_WAITS_MAX)
        return;
    load->changes_us[load->waits] = changed_us > since_us ? changed_us - since_us : 0;
    load->waits_us[load->waits++] = waiting_now_us() - since_us;
}

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

static void report(const char *what, uint64_t *times_us, size_t count)
{
    qsort(times_us, count, sizeof *times_us, compare);
    print_message("  %s: %.1f ms (median), %.1f (p99), %.1f (most)\n", what,
                  (double)times_us[count / 2] / 1e3,
                  (double)times_us[count * 99 / 100] / 1e3,
                  (double)times_us[count - 1] / 1e3);
}

static void report_waits(cluster_load_t *load)
{
    if (load->waits == 0)
        return;
    print_message("%zu failovers; behind the promotion\n", load->waits);
    report("the map changed", load->changes_us, load->waits);
    report("the first number was taken", load->waits_us, load->waits);
}

/* ---- pace ---- */

void cluster_load_choose(cluster_load_t *load, size_t by, size_t node)
{
    load->heard_us = waiting_now_us();
    for (size_t i = 0; i < load->plan.callers; i++) {
        cluster_caller_t *caller = &load->callers[i];
        caller->is_chosen = cluster_rig_owner(load->rig, by, caller->key) != node;
    }
    load->silence_us = 0;
}

size_t cluster_load_chosen(const cluster_load_t *load)
{
    size_t taken = 0;

    for (size_t i = 0; i < load->plan.callers; i++)
        taken += load->callers[i].is_chosen ? load->callers[i].ok : 0;
    return taken;
}

uint64_t cluster_load_silence_us(const cluster_load_t *load)
{
    return load->silence_us;
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
            atoll(shoal_reply_string(shoal_reply_at(reply, i), &(size_t){0})) -
            (int64_t)caller->first;
        if (number < 0)
            continue; /* of before: replicas may be promoted that did not get the DEL */
        assert_true(number < NUMBERS_MAX);
        if (is_there[number])
            fail_msg("%s: %lld was executed twice", caller->key, (long long)number);
        is_there[number] = 1;
        tally->inversions += number < highest;
        tally->unmarked += number < highest && !caller->marks[number] &&
                           caller->fates[number] == IS_OK;
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
    tally->misread += caller->misread;
    for (size_t i = 0; i < caller->next - caller->first; i++) {
        unsigned char fate = caller->fates[i];
        kind_t kind = kind_of(load, caller->first + i);
        bool is_push = kind == PUSH || kind == UNIT;
        if (fate == IS_NOT_EXECUTED && is_there[i])
            fail_msg("%s: %zu was executed", caller->key, i);
        tally->ok += fate == IS_OK;
        tally->lost += fate == IS_OK && is_push && !is_there[i];
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
    for (size_t i = 0; i < load->plan.callers; i++)
        WAIT_FOR(load->callers[i].under_way == 0);
    for (size_t i = 0; i < load->plan.callers; i++)
        count(load, &load->callers[i], &tally);
    tally.reordered = (size_t)(live_stats(load->client).reordered - load->reordered);
    load->reordered += tally.reordered;
    print_message(
        "ok %zu, lost by replication %zu, unknown %zu, not executed %zu, errors "
        "%zu, inversions %zu, unmarked %zu, misread %zu, reordered %zu; the map "
        "changed %u times, %u "
        "losses; %s\n",
        tally.ok, tally.lost, tally.unknown, tally.not_executed, tally.errors,
        tally.inversions, tally.unmarked, tally.misread, tally.reordered, load->changes,
        load->losses, load->error);
    return tally;
}

void cluster_load_go_on(cluster_load_t *load)
{
    for (size_t i = 0; i < load->plan.callers; i++) {
        cluster_caller_t *caller = &load->callers[i];
        char command[64];
        snprintf(command, sizeof command, "DEL %s", caller->key);
        live_ask(load->client, command);
        memset(caller->fates, OPEN, caller->next - caller->first);
        memset(caller->marks, 0, caller->next - caller->first);
        caller->first = caller->next;
        caller->misread = 0;
    }
    load->error[0] = '\0';
    begin(load);
    cluster_load_await_progress(load, 10);
}

void cluster_load_end(cluster_load_t *load)
{
    report_waits(load);
    live_finish(load->client);
    for (size_t i = 0; i < load->plan.callers; i++) {
        free(load->callers[i].fates);
        free(load->callers[i].marks);
    }
    free(load->callers);
    cluster_rig_stop(load->rig);
    free(load);
}
