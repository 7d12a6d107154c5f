/* SPDX-License-Identifier: MIT */
/* With the bulk lane, beside a server that is a replica now and then and that loses
 * connections: commands of one thread for one key run in their order, but for those that the
 * client counts as reordered. */
#include "support/live.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 4
#define KEYS_MAX 3
#define WINDOW 100
#define VALUE_BYTES_MAX 40000 /* several reads of the server */

/* ---- numbered values, pushed to lists ---- */

typedef struct push {
    struct writer *writer;
    bool is_push; /* else it reads */
    unsigned key;
    size_t number; /* of the key's pushes, from 1 */
    int status;
    shoal_fate_t fate;
    bool is_error;
} push_t;

typedef struct writer {
    shoal_client_t *client;
    unsigned id, random;
    unsigned keys;
    size_t pushes[KEYS_MAX];
    push_t *operations;
    size_t count;
    _Atomic size_t done;
} writer_t;

static void on_operation(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    push_t *push = data;
    (void)client;

    push->status = shoal_result_status(result);
    push->fate = shoal_result_fate(result);
    push->is_error = push->status == 0 &&
                     shoal_reply_type(shoal_result_reply(result)) == SHOAL_REPLY_ERROR;
    push->writer->done++;
}

static void submit(writer_t *writer, push_t *push)
{
    char key[32];
    char *value = NULL;
    const char *argv[3] = {"LLEN", key, NULL};
    size_t argvlen[3] = {4};
    shoal_command_t command = {2, argv, argvlen};
    shoal_call_t call = SHOAL_CALL_INIT;

    *push =
        (push_t){.writer = writer, .key = live_roll(&writer->random) % writer->keys};
    argvlen[1] =
        (size_t)snprintf(key, sizeof key, "refused:%u:%u", writer->id, push->key);
    push->is_push = live_roll(&writer->random) % 4 != 0;
    if (push->is_push) {
        size_t bytes = 8;
        push->number = ++writer->pushes[push->key];
        if (live_roll(&writer->random) % 4 == 0)
            bytes += live_roll(&writer->random) % VALUE_BYTES_MAX;
        value = malloc(bytes + 1);
        if (!value)
            abort();
        snprintf(value, 9, "%08zu", push->number);
        memset(value + 8, ':', bytes - 8);
        argv[0] = "RPUSH";
        argvlen[0] = 5;
        argv[2] = value;
        argvlen[2] = bytes;
        command.argc = 3;
    }
    if (live_roll(&writer->random) % 8 == 0)
        call.flags = SHOAL_CALL_BULK;
    call.timeout_us = 60000000;
    if (shoal_client_submit_many(writer->client, &command, 1, &call, on_operation, push,
                                 NULL) < 0)
        abort();
    free(value);
}

static void *write_numbers(void *data)
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

/* ---- what the server has ---- */

typedef struct sums {
    size_t unknown, overtaken;
} sums_t;

static push_t *find(const writer_t *writer, unsigned key, size_t number)
{
    for (size_t i = 0; i < writer->count; i++) {
        push_t *push = &writer->operations[i];
        if (push->is_push && push->key == key && push->number == number)
            return push;
    }
    fail_msg("writer %u key %u has no %zu", writer->id, key, number);
    return NULL;
}

/* The numbers in the order of their execution.  Returns how many there are. */
static size_t read_list(shoal_client_t *other, const writer_t *writer, unsigned key,
                        size_t *numbers, size_t room)
{
    size_t total = 0, part;
    shoal_result_t *result;

    do {
        char text[96];
        snprintf(text, sizeof text, "LRANGE refused:%u:%u %zu %zu", writer->id, key,
                 total, total + 99);
        assert_int_equal(shoal_client_callf(other, &result, text), 0);
        const shoal_reply_t *reply = shoal_result_reply(result);
        part = shoal_reply_count(reply);
        for (size_t i = 0; i < part; i++) {
            size_t bytes;
            assert_true(total < room);
            numbers[total++] =
                strtoul(shoal_reply_string(shoal_reply_at(reply, i), &bytes), NULL, 10);
        }
        shoal_result_release(result);
    } while (part > 0);
    return total;
}

/* What has a reply ran once; what was not executed did not. */
static void check_fates(const writer_t *writer, unsigned key, const size_t *numbers,
                        size_t total, sums_t *sums)
{
    size_t count = writer->pushes[key];
    unsigned *runs = calloc(count + 1, sizeof *runs);

    assert_non_null(runs);
    for (size_t i = 0; i < total; i++) {
        assert_in_range(numbers[i], 1, count);
        runs[numbers[i]]++;
    }
    for (size_t number = 1; number <= count; number++) {
        const push_t *push = find(writer, key, number);
        bool ran = push->status == 0 && !push->is_error;
        bool may_have = ran || push->fate == SHOAL_FATE_UNKNOWN ||
                        push->fate == SHOAL_FATE_REPLY_LOST;
        sums->unknown += push->status != 0;
        if (runs[number] < ran || runs[number] > may_have)
            fail_msg("writer %u key %u: %zu: status %d, fate %d, ran %u times",
                     writer->id, key, number, push->status, (int)push->fate,
                     runs[number]);
    }
    free(runs);
}

static void check_key(shoal_client_t *other, const writer_t *writer, unsigned key,
                      sums_t *sums)
{
    size_t count = writer->pushes[key], most = 0;
    size_t *numbers = calloc(count + 1, sizeof *numbers);

    assert_non_null(numbers);
    size_t total = read_list(other, writer, key, numbers, count);
    check_fates(writer, key, numbers, total, sums);
    for (size_t i = 0; i < total; i++) {
        sums->overtaken += numbers[i] < most;
        most = numbers[i] > most ? numbers[i] : most;
    }
    free(numbers);
}

static void open_lane(shoal_client_t *client)
{
    static const char *const argv[] = {"SET", "first", "v"};
    const shoal_command_t set = {3, argv, NULL};
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_result_t *result;

    call.flags = SHOAL_CALL_BULK;
    WAIT_FOR((assert_int_equal(shoal_client_call_with(client, &set, &call, &result), 0),
              shoal_result_release(result), live_stats(client).bulk > 0));
}

static void trouble_until_done(shoal_client_t *other, const writer_t *writers,
                               unsigned threads)
{
    unsigned random = 77;
    bool is_done = false;

    while (!is_done) {
        live_ask(other, "REPLICAOF 127.0.0.1 1");
        waiting_sleep_us(live_roll(&random) % 3000);
        live_kill(other, "refused", live_roll(&random) % 2);
        waiting_sleep_us(live_roll(&random) % 6000);
        live_ask(other, "REPLICAOF NO ONE");
        waiting_sleep_us(live_roll(&random) % 3000);
        if (live_roll(&random) % 2 == 0)
            live_kill(other, "refused", live_roll(&random) % 2);
        waiting_sleep_us(live_roll(&random) % 6000);
        is_done = true;
        for (unsigned i = 0; i < threads; i++)
            is_done = is_done && writers[i].done == writers[i].count;
    }
}

static void check_run(unsigned threads, unsigned keys, size_t count)
{
    shoal_client_t *other = live_open(live_options());
    shoal_options_t *options = live_options();
    writer_t writers[THREADS_MAX];
    pthread_t ids[THREADS_MAX];
    sums_t sums = {0};

    assert_int_equal(shoal_options_set_client_name(options, "refused"), 0);
    assert_int_equal(shoal_options_set_bulk_lane(options, true), 0);
    shoal_client_t *client = live_open(options);
    live_ask(other, "FLUSHALL");
    open_lane(client);
    for (unsigned i = 0; i < threads; i++) {
        writers[i] = (writer_t){.client = client,
                                .id = i,
                                .random = i * 7919 + 1,
                                .keys = keys,
                                .count = count};
        writers[i].operations = calloc(count, sizeof *writers[i].operations);
        assert_non_null(writers[i].operations);
        assert_int_equal(pthread_create(&ids[i], NULL, write_numbers, &writers[i]), 0);
    }
    trouble_until_done(other, writers, threads);
    for (unsigned i = 0; i < threads; i++)
        assert_int_equal(pthread_join(ids[i], NULL), 0);
    shoal_stats_t stats = live_stats(client);
    for (unsigned i = 0; i < threads; i++) {
        for (unsigned key = 0; key < keys; key++)
            check_key(other, &writers[i], key, &sums);
        free(writers[i].operations);
    }
    print_message(
        "%zu commands, %llu by the lane, %llu losses, %llu retries; %zu without "
        "a reply; %zu overtaken, %llu reordered\n",
        threads * count, (unsigned long long)stats.bulk,
        (unsigned long long)stats.losses, (unsigned long long)stats.retries,
        sums.unknown, sums.overtaken, (unsigned long long)stats.reordered);
    assert_int_equal(stats.desyncs, 0);
    /* Of what has no reply it is not known. */
    assert_true(sums.overtaken <= stats.reordered + sums.unknown);
    live_finish(client);
    live_finish(other);
}

/* Here whatever overtakes a command overtakes one for its key. */
static void test_counts_what_overtakes_in_one_list(void **state)
{
    (void)state;
    check_run(1, 1, live_scaled(400));
}

static void test_counts_what_overtakes(void **state)
{
    (void)state;
    check_run(THREADS_MAX, KEYS_MAX, live_scaled(400));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_what_overtakes_in_one_list),
        cmocka_unit_test(test_counts_what_overtakes),
    };
    return cmocka_run_group_tests_name("integration/lane_refused", tests, NULL, NULL);
}
