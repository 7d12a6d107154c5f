/* SPDX-License-Identifier: MIT */
/* With the bulk lane, commands of one thread for one key run in their order, whichever
 * connection they take and lose. */
#include "support/live.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Losses that come faster than connections would let nothing pass that needs both. */
#define COMMANDS_PER_KILL 30
#define THREADS 4
#define KEYS 3
#define WINDOW 12
#define VALUE_BYTES_MAX 400000

static shoal_client_t *open_named(void)
{
    shoal_options_t *options = live_options();

    assert_int_equal(shoal_options_set_client_name(options, "lanes"), 0);
    assert_int_equal(shoal_options_set_bulk_lane(options, true), 0);
    return live_open(options);
}

typedef struct operation {
    struct writer *writer;
    unsigned key;
    bool is_set;
    size_t number; /* of the SET, or of the last one before the GET */
    int status;
    shoal_fate_t fate;
    uint32_t attempts;
    size_t value; /* of a GET */
} operation_t;

typedef struct writer {
    shoal_client_t *client;
    unsigned id, random;
    size_t sets[KEYS];
    operation_t *operations;
    size_t count;
    _Atomic size_t done;
} writer_t;

static void on_operation(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    operation_t *operation = data;
    const shoal_reply_t *reply = shoal_result_reply(result);
    size_t bytes;
    (void)client;

    operation->status = shoal_result_status(result);
    operation->fate = shoal_result_fate(result);
    operation->attempts = shoal_result_attempts(result);
    if (operation->status == 0 && shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        abort();
    if (operation->status == 0 && !operation->is_set &&
        shoal_reply_type(reply) == SHOAL_REPLY_STRING)
        operation->value = strtoul(shoal_reply_string(reply, &bytes), NULL, 10);
    operation->writer->done++;
}

static void submit(writer_t *writer, operation_t *operation)
{
    char key[32], head[16];
    size_t bytes = 9;
    char *value = NULL;
    const char *argv[3] = {"GET", key, NULL};
    size_t argvlen[3] = {3};
    shoal_command_t command = {2, argv, argvlen};
    shoal_call_t call = SHOAL_CALL_INIT;

    *operation =
        (operation_t){.writer = writer, .key = live_roll(&writer->random) % KEYS};
    operation->is_set = live_roll(&writer->random) % 2;
    argvlen[1] =
        (size_t)snprintf(key, sizeof key, "lanes:%u:%u", writer->id, operation->key);
    if (operation->is_set) {
        writer->sets[operation->key]++;
        if (live_roll(&writer->random) % 4 == 0)
            bytes += live_roll(&writer->random) % VALUE_BYTES_MAX;
        value = malloc(bytes + 9);
        if (!value)
            abort();
        snprintf(head, sizeof head, "%08zu:", writer->sets[operation->key]);
        memset(value, 'x', bytes);
        memcpy(value, head, 9);
        argv[0] = "SET";
        argv[2] = value;
        argvlen[2] = bytes;
        command.argc = 3;
    }
    if (live_roll(&writer->random) % 8 == 0)
        call.flags = SHOAL_CALL_BULK;
    call.timeout_us = 60000000;
    operation->number = writer->sets[operation->key];
    if (shoal_client_submit_many(writer->client, &command, 1, &call, on_operation,
                                 operation, NULL) < 0)
        abort();
    free(value);
}

static void *write_and_read(void *data)
{
    writer_t *writer = data;

    for (size_t i = 0; i < writer->count; i++) {
        while (i - writer->done >= WINDOW)
            waiting_sleep_us(50);
        submit(writer, &writer->operations[i]);
    }
    while (writer->done < writer->count)
        waiting_sleep_us(200);
    return NULL;
}

/* A GET reads what stands before it: nothing later, and nothing that a SET before it had
 * replaced for certain. */
static void check_order(const writer_t *writer, size_t *ret_unknown)
{
    size_t replaced[KEYS] = {0};

    for (size_t i = 0; i < writer->count; i++) {
        const operation_t *at = &writer->operations[i];
        if (at->is_set) {
            *ret_unknown += at->status != 0;
            if (at->status == 0)
                replaced[at->key] = at->number;
            continue;
        }
        if (at->status != 0)
            continue;
        if (at->value < replaced[at->key])
            fail_msg("writer %u key %u: GET %zu read %zu, but %zu had been set",
                     writer->id, at->key, i, at->value, replaced[at->key]);
        if (at->attempts == 1 && at->value > at->number)
            fail_msg("writer %u key %u: GET %zu read %zu, but %zu was the last",
                     writer->id, at->key, i, at->value, at->number);
    }
}

static void check_run(size_t count, bool kills)
{
    shoal_client_t *other = live_open(live_options());
    shoal_client_t *client = open_named();
    writer_t writers[THREADS];
    pthread_t threads[THREADS];
    unsigned random = 99;
    size_t unknown = 0, done = 0, kill_at = 0;

    live_ask(other, "FLUSHALL");
    for (unsigned i = 0; i < THREADS; i++) {
        writers[i] = (writer_t){
            .client = client, .id = i, .random = i * 7919 + 1, .count = count};
        writers[i].operations = calloc(count, sizeof *writers[i].operations);
        assert_non_null(writers[i].operations);
        assert_int_equal(pthread_create(&threads[i], NULL, write_and_read, &writers[i]),
                         0);
    }
    while (done < THREADS * count) {
        if (kills && done >= kill_at) {
            live_kill(other, "lanes", live_roll(&random) % 2);
            kill_at = done + COMMANDS_PER_KILL;
        }
        waiting_sleep_us(3000 + live_roll(&random) % 10000);
        done = 0;
        for (unsigned i = 0; i < THREADS; i++)
            done += writers[i].done;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        check_order(&writers[i], &unknown);
        free(writers[i].operations);
    }
    shoal_stats_t stats = live_stats(client);
    print_message("%zu commands, %llu by the lane, %llu losses, %zu SETs unknown\n",
                  THREADS * count, (unsigned long long)stats.bulk,
                  (unsigned long long)stats.losses, unknown);
    assert_true(stats.bulk > 0);
    assert_int_equal(stats.desyncs, 0);
    if (!kills)
        assert_int_equal(unknown, 0);
    live_finish(client);
    live_finish(other);
}

static void test_keeps_the_order_of_each_key(void **state)
{
    (void)state;
    check_run(live_scaled(2000), false);
}

static void test_keeps_the_order_over_losses(void **state)
{
    (void)state;
    check_run(live_scaled(1500), true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_the_order_of_each_key),
        cmocka_unit_test(test_keeps_the_order_over_losses),
    };
    return cmocka_run_group_tests_name("integration/lane_order", tests, NULL, NULL);
}
