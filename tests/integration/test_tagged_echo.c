/* SPDX-License-Identifier: MIT */
/* Every caller gets its own reply: tagged echoes from many threads with cancels and
 * deadlines, while the server kills the connection again and again.  And a ledger of
 * increments: none is lost, none is applied twice, none that was "not executed" is
 * applied at all.  (I1 I2 I3 I4; oracles O1 O2 O3) */
#include "support/live.h"
#include "support/redis_process.h"
#include "support/tag.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 16
#define KILLS 20
#define WINDOW 100 /* most commands of one thread that are under way */
#define ECHOES_PER_INCREMENT 10

typedef struct worker worker_t;

typedef struct slot {
    worker_t *worker;
    uint64_t seq;
    bool is_increment;
    _Atomic unsigned calls;
} slot_t;

struct worker {
    shoal_client_t *client;
    unsigned number;
    uint64_t random;
    pthread_t thread;
    slot_t *slots;
    size_t commands;
    _Atomic size_t accepted, completed;
    size_t cancels;
    /* The loop thread writes these. */
    uint64_t replied, failed, mismatches, wrong_types;
    uint64_t increments_ok, increments_maybe, increments_not;
};

static uint64_t next_random(worker_t *worker)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return worker->random;
}

static void note_echo(slot_t *slot, const shoal_result_t *result)
{
    worker_t *worker = slot->worker;
    size_t bytes = 0;

    if (shoal_result_status(result) != 0) {
        worker->failed++;
        return;
    }
    const shoal_reply_t *reply = shoal_result_reply(result);
    worker->replied++;
    if (shoal_reply_type(reply) != SHOAL_REPLY_STRING) {
        worker->wrong_types++;
        return;
    }
    const char *text = shoal_reply_string(reply, &bytes);
    worker->mismatches +=
        !tag_matches((tag_t){1, worker->number, slot->seq}, text, bytes);
}

static void note_increment(worker_t *worker, const shoal_result_t *result)
{
    switch (shoal_result_fate(result)) {
    case SHOAL_FATE_REPLIED:
        worker->increments_ok++;
        if (shoal_reply_type(shoal_result_reply(result)) != SHOAL_REPLY_INTEGER)
            worker->wrong_types++;
        break;
    case SHOAL_FATE_NOT_EXECUTED:
        worker->increments_not++;
        break;
    case SHOAL_FATE_UNKNOWN:
    case SHOAL_FATE_REPLY_LOST:
        worker->increments_maybe++;
        break;
    }
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    slot_t *slot = data;
    (void)client;

    slot->calls++;
    if (slot->is_increment)
        note_increment(slot->worker, result);
    else
        note_echo(slot, result);
    slot->worker->completed++;
}

static int submit(worker_t *worker, slot_t *slot, uint64_t dice, uint64_t *ret_ticket)
{
    char text[TAG_ROOM];
    tag_t tag = {1, worker->number, slot->seq};
    const char *const echo[] = {"ECHO", text};
    const size_t echo_bytes[] = {4, tag_make(tag, text)};
    const char *const increment[] = {"INCR", "tagged:ledger"};
    shoal_command_t command = {2, slot->is_increment ? increment : echo,
                               slot->is_increment ? NULL : echo_bytes};
    shoal_call_t call = {.size = sizeof call};

    if (dice % 10 == 0) /* never 0, which stands for the client's own timeout */
        call.timeout_us = 1 + (dice >> 8) % 5000;
    return shoal_client_submit_many(worker->client, &command, 1, &call, on_result, slot,
                                    ret_ticket);
}

static void *work(void *data)
{
    worker_t *worker = data;

    for (size_t i = 0; i < worker->commands; i++) {
        slot_t *slot = &worker->slots[i];
        uint64_t dice = next_random(worker), ticket = 0;

        *slot = (slot_t){.worker = worker,
                         .seq = i,
                         .is_increment = i % (ECHOES_PER_INCREMENT + 1) == 0};
        while (worker->accepted - worker->completed >= WINDOW)
            waiting_sleep_us(100);
        while (submit(worker, slot, dice, &ticket) != 0)
            waiting_sleep_us(100);
        worker->accepted++;
        if (dice % 10 == 1) {
            (void)shoal_client_cancel(worker->client, ticket);
            worker->cancels++;
        }
    }
    return NULL;
}

static size_t sum_completed(worker_t *workers)
{
    size_t completed = 0;
    for (size_t i = 0; i < THREADS; i++)
        completed += workers[i].completed;
    return completed;
}

/* Kill the connection KILLS times, after equal numbers of commands, and each time when
 * it is in use. */
static void strike(worker_t *workers, shoal_client_t *client, size_t commands)
{
    for (size_t strike = 0; strike < KILLS; strike++) {
        char answer[64] = "";
        WAIT_FOR(live_stats(client).connects > strike);
        WAIT_FOR(sum_completed(workers) >= commands * strike / (KILLS + 1));
        WAIT_FOR(redis_ask(live_port(), "CLIENT KILL TYPE normal SKIPME yes", answer,
                           sizeof answer) &&
                 answer[0] == ':' && answer[1] != '0');
    }
}

static worker_t *start_workers(shoal_client_t *client, size_t commands)
{
    worker_t *workers = calloc(THREADS, sizeof *workers);

    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].client = client;
        workers[i].number = i;
        workers[i].random = 88172645463325252u + i * 7919u;
        workers[i].commands = commands / THREADS;
        workers[i].slots = calloc(workers[i].commands, sizeof(slot_t));
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    return workers;
}

typedef struct totals {
    uint64_t accepted, completed, replied, failed, mismatches, wrong_types;
    uint64_t increments_ok, increments_maybe, increments_not, repeated, cancels;
} totals_t;

static totals_t add_up(worker_t *workers)
{
    totals_t totals = {0};

    for (size_t i = 0; i < THREADS; i++) {
        const worker_t *worker = &workers[i];
        totals.accepted += worker->accepted;
        totals.completed += worker->completed;
        totals.replied += worker->replied;
        totals.failed += worker->failed;
        totals.mismatches += worker->mismatches;
        totals.wrong_types += worker->wrong_types;
        totals.increments_ok += worker->increments_ok;
        totals.increments_maybe += worker->increments_maybe;
        totals.increments_not += worker->increments_not;
        totals.cancels += worker->cancels;
        for (size_t j = 0; j < worker->commands; j++)
            totals.repeated += worker->slots[j].calls != 1;
    }
    return totals;
}

static uint64_t read_ledger(void)
{
    char answer[64] = "";
    assert_true(redis_ask(live_port(), "GET tagged:ledger", answer, sizeof answer));
    return strtoull(answer, NULL, 10);
}

static void test_tagged_echo_under_fire(void **state)
{
    size_t commands = live_scaled(100000 * (ECHOES_PER_INCREMENT + 1) /
                                  ECHOES_PER_INCREMENT / THREADS) *
                      THREADS;
    shoal_options_t *options = live_options();
    (void)state;

    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 10000), 0);
    assert_int_equal(shoal_options_set_timeout_us(options, 20000000), 0);
    assert_true(redis_ask(live_port(), "DEL tagged:ledger", NULL, 0));
    shoal_client_t *client = live_open(options);
    worker_t *workers = start_workers(client, commands);
    strike(workers, client, commands);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    WAIT_FOR(sum_completed(workers) == commands);
    WAIT_FOR(live_stats(client).connects > KILLS);
    shoal_stats_t stats = live_stats(client);
    assert_int_equal(shoal_client_close_and_wait(client, 1000000), 0);
    shoal_client_release(client);

    totals_t totals = add_up(workers);
    uint64_t value = read_ledger();
    print_message(
        "%llu echoes replied, %llu failed, %llu cancels; increments: %llu ok, "
        "%llu maybe, %llu not, ledger %llu; %llu connections, %llu retries\n",
        (unsigned long long)totals.replied, (unsigned long long)totals.failed,
        (unsigned long long)totals.cancels, (unsigned long long)totals.increments_ok,
        (unsigned long long)totals.increments_maybe,
        (unsigned long long)totals.increments_not, (unsigned long long)value,
        (unsigned long long)stats.connects, (unsigned long long)stats.retries);
    assert_int_equal(totals.mismatches, 0);              /* O1 */
    assert_int_equal(totals.wrong_types, 0);             /* O1 */
    assert_int_equal(totals.accepted, totals.completed); /* O3 */
    assert_int_equal(totals.repeated, 0);                /* O3 */
    assert_true(totals.increments_ok <= value);          /* O2: none is lost */
    assert_true(value <=
                totals.increments_ok + totals.increments_maybe); /* nor doubled */
    assert_int_equal(stats.commands, stats.completed);
    assert_true(totals.replied > totals.accepted / 2); /* most echoes were checked */
    for (size_t i = 0; i < THREADS; i++)
        free(workers[i].slots);
    free(workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tagged_echo_under_fire),
    };
    return cmocka_run_group_tests_name("integration/tagged_echo", tests, NULL, NULL);
}
