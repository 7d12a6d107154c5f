/* SPDX-License-Identifier: MIT */
/* With several connections, commands of one thread for one key run in their order, also if
 * they have keys of several connections, and whichever connection is lost. */
#include "support/live.h"

#include <pthread.h>
#include <shoal/errors.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTIONS 4
/* Losses that come faster than connections would let nothing pass that needs all of them. */
#define OPERATIONS_PER_KILL 30
#define THREADS 4
#define KEYS 12 /* of one writer */
#define WINDOW 24
#define WORDS_MAX (2 * KEYS + 2)

static shoal_client_t *open_many(bool has_bulk_lane)
{
    shoal_options_t *options = live_options();

    assert_int_equal(shoal_options_set_client_name(options, "many"), 0);
    assert_int_equal(shoal_options_set_connections(options, CONNECTIONS), 0);
    assert_int_equal(shoal_options_set_bulk_lane(options, has_bulk_lane), 0);
    return live_open(options);
}

typedef enum kind {
    SETS, /* SET */
    GETS, /* GET */
    MSETS,
    MGETS,
    UNIT,   /* MULTI, a SET for each key, EXEC */
    APART,  /* a SET for each key in one call, which need not stay together */
    SCRIPT, /* reads a key that the library does not see */
    KINDS
} kind_t;

typedef struct operation {
    struct writer *writer;
    kind_t kind;
    bool has_key[KEYS];
    size_t number[KEYS]; /* of each key's SET, or of the last one before a read */
    size_t value[KEYS];  /* that a read gave */
    unsigned due;        /* results */
    int status;          /* the last one that is not 0 */
    shoal_fate_t fate;   /* with it */
    uint32_t attempts;
} operation_t;

typedef struct writer {
    shoal_client_t *client;
    unsigned id, random;
    bool is_inside; /* it submits from its callbacks, on the loop thread */
    size_t sets[KEYS];
    operation_t *operations;
    size_t count;
    _Atomic size_t begun, done;
} writer_t;

static void submit_next(writer_t *writer);

static size_t read_number(const shoal_reply_t *reply)
{
    size_t bytes;

    return shoal_reply_type(reply) == SHOAL_REPLY_STRING
               ? strtoul(shoal_reply_string(reply, &bytes), NULL, 10)
               : 0;
}

static void read_values(operation_t *operation, const shoal_reply_t *reply)
{
    size_t at = 0;

    for (unsigned i = 0; i < KEYS; i++)
        if (operation->has_key[i])
            operation->value[i] = read_number(
                operation->kind == MGETS ? shoal_reply_at(reply, at++) : reply);
}

static void on_operation(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    operation_t *operation = data;
    writer_t *writer = operation->writer;
    const shoal_reply_t *reply = shoal_result_reply(result);
    int status = shoal_result_status(result);
    (void)client;

    if (status == 0 && shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        abort();
    if (status != 0) {
        operation->status = status;
        operation->fate = shoal_result_fate(result);
    }
    operation->attempts = shoal_result_attempts(result);
    if (status == 0 && (operation->kind == GETS || operation->kind == MGETS ||
                        operation->kind == SCRIPT))
        read_values(operation, reply);
    if (--operation->due > 0)
        return;
    writer->done++;
    while (writer->is_inside && writer->begun < writer->count &&
           writer->begun - writer->done < WINDOW)
        submit_next(writer);
}

/* ---- one operation ---- */

typedef struct line {
    char texts[WORDS_MAX][40];
    const char *words[WORDS_MAX];
    size_t count;
} line_t;

static void say(line_t *line, const char *word)
{
    snprintf(line->texts[line->count], sizeof line->texts[0], "%s", word);
    line->words[line->count] = line->texts[line->count];
    line->count++;
}

static void say_key(line_t *line, const operation_t *operation, unsigned key)
{
    char word[32];

    snprintf(word, sizeof word, "many:%u:%u", operation->writer->id, key);
    say(line, word);
}

static void say_number(line_t *line, const operation_t *operation, unsigned key)
{
    char word[32];

    snprintf(word, sizeof word, "%zu", operation->number[key]);
    say(line, word);
}

static void choose_keys(operation_t *operation, unsigned *random)
{
    bool has_many = operation->kind == MSETS || operation->kind == MGETS ||
                    operation->kind == UNIT || operation->kind == APART;
    unsigned count = has_many ? 1 + live_roll(random) % 3 : 1;

    for (unsigned i = 0; i < count; i++)
        operation->has_key[live_roll(random) % KEYS] = true;
    for (unsigned i = 0; i < KEYS; i++) {
        bool is_set = operation->kind == SETS || operation->kind == MSETS ||
                      operation->kind == UNIT || operation->kind == APART;
        if (operation->has_key[i] && is_set)
            operation->writer->sets[i]++;
        operation->number[i] = operation->writer->sets[i];
    }
}

/* The commands of an operation; returns how many they are. */
static size_t build(operation_t *operation, line_t *lines)
{
    static const char *const names[] = {
        [SETS] = "SET", [GETS] = "GET", [MSETS] = "MSET", [MGETS] = "MGET"};
    bool is_unit = operation->kind == UNIT;
    bool is_apart = is_unit || operation->kind == APART;
    bool has_values = operation->kind == SETS || operation->kind == MSETS || is_apart;
    size_t count = 0;

    if (is_unit)
        say(&lines[count++], "MULTI");
    if (operation->kind == SCRIPT) {
        say(&lines[0], "EVAL");
        say(&lines[0], "return redis.call('get',ARGV[1])");
        say(&lines[0], "0");
    } else if (!is_apart)
        say(&lines[0], names[operation->kind]);
    for (unsigned i = 0; i < KEYS; i++) {
        if (!operation->has_key[i])
            continue;
        if (is_apart)
            say(&lines[count], "SET");
        say_key(&lines[count], operation, i);
        if (has_values)
            say_number(&lines[count], operation, i);
        count += is_apart;
    }
    if (is_unit)
        say(&lines[count], "EXEC");
    return count + (is_unit || !is_apart);
}

static void submit_next(writer_t *writer)
{
    static const kind_t often[] = {SETS, SETS, SETS, SETS, SETS,  SETS,  GETS,  GETS,
                                   GETS, GETS, GETS, GETS, APART, MSETS, MGETS, UNIT};
    operation_t *operation = &writer->operations[writer->begun++];
    line_t lines[KEYS + 2] = {0};
    shoal_command_t commands[KEYS + 2];
    shoal_call_t call = SHOAL_CALL_INIT;
    unsigned random = live_roll(&writer->random);

    *operation = (operation_t){.writer = writer};
    operation->kind =
        random % 64 == 0 ? SCRIPT : often[random % (sizeof often / sizeof *often)];
    choose_keys(operation, &writer->random);
    operation->due = (unsigned)build(operation, lines);
    for (unsigned i = 0; i < operation->due; i++)
        commands[i] = (shoal_command_t){lines[i].count, lines[i].words, NULL};
    call.flags = operation->kind == UNIT ? SHOAL_CALL_CONTIGUOUS : 0;
    if (operation->kind == SETS && live_roll(&writer->random) % 16 == 0)
        call.flags = SHOAL_CALL_BULK;
    call.timeout_us = 60000000;
    if (shoal_client_submit_many(writer->client, commands, operation->due, &call,
                                 on_operation, operation, NULL) < 0)
        abort();
}

static void *write_and_read(void *data)
{
    writer_t *writer = data;

    if (writer->is_inside)
        submit_next(writer);
    for (size_t i = 0; i < writer->count && !writer->is_inside; i++) {
        while (i - writer->done >= WINDOW)
            waiting_sleep_us(50);
        submit_next(writer);
    }
    while (writer->done < writer->count)
        waiting_sleep_us(200);
    return NULL;
}

/* ---- the order ---- */

static bool is_read(const operation_t *operation)
{
    return operation->kind == GETS || operation->kind == MGETS ||
           operation->kind == SCRIPT;
}

/* A read finds what stands before it: nothing later, and nothing that a write before it had
 * replaced for certain.  What was not executed is never found. */
static void check_key(const writer_t *writer, unsigned key, size_t *ret_unknown)
{
    size_t replaced = 0;

    for (size_t i = 0; i < writer->count; i++) {
        const operation_t *at = &writer->operations[i];
        if (!at->has_key[key])
            continue;
        if (!is_read(at)) {
            *ret_unknown += at->status != 0;
            if (at->status == 0)
                replaced = at->number[key];
            continue;
        }
        if (at->status != 0)
            continue;
        if (at->value[key] < replaced)
            fail_msg("writer %u key %u: read %zu (%d) gave %zu, but %zu had been set",
                     writer->id, key, i, at->kind, at->value[key], replaced);
        if (at->attempts == 1 && at->value[key] > at->number[key])
            fail_msg("writer %u key %u: read %zu (%d) gave %zu, but %zu was the last",
                     writer->id, key, i, at->kind, at->value[key], at->number[key]);
    }
}

/* No read finds a value whose write is said not to have been executed. */
static void check_fates(const writer_t *writer, unsigned key)
{
    size_t written = writer->sets[key];
    bool *is_false = calloc(written + 1, sizeof *is_false);

    assert_non_null(is_false);
    for (size_t i = 0; i < writer->count; i++) {
        const operation_t *at = &writer->operations[i];
        if (at->has_key[key] && !is_read(at) && at->status != 0 &&
            at->fate == SHOAL_FATE_NOT_EXECUTED && at->kind != APART)
            is_false[at->number[key]] = true;
    }
    for (size_t i = 0; i < writer->count; i++) {
        const operation_t *at = &writer->operations[i];
        if (at->has_key[key] && is_read(at) && at->status == 0 &&
            is_false[at->value[key]])
            fail_msg("writer %u key %u: %zu was set, and said not to be executed",
                     writer->id, key, at->value[key]);
    }
    free(is_false);
}

static unsigned count_ready(shoal_client_t *client)
{
    unsigned ready = 0;

    for (uint64_t i = 1; i < 100; i++) {
        shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;
        ready += shoal_connection_get(client, i, &info) == 0 &&
                 info.state == SHOAL_CONNECTION_READY;
    }
    return ready;
}

static void check_run(size_t count, bool has_bulk_lane, bool kills)
{
    shoal_client_t *other = live_open(live_options());
    shoal_client_t *client = open_many(has_bulk_lane);
    writer_t writers[THREADS];
    pthread_t threads[THREADS];
    unsigned random = 99;
    size_t unknown = 0, done = 0, kill_at = 0;

    live_ask(other, "FLUSHALL");
    assert_int_equal(count_ready(client), CONNECTIONS);
    for (unsigned i = 0; i < THREADS; i++) {
        writers[i] = (writer_t){.client = client,
                                .id = i,
                                .random = i * 7919 + 1,
                                .is_inside = i == THREADS - 1,
                                .count = count};
        writers[i].operations = calloc(count, sizeof *writers[i].operations);
        assert_non_null(writers[i].operations);
        assert_int_equal(pthread_create(&threads[i], NULL, write_and_read, &writers[i]),
                         0);
    }
    while (done < THREADS * count) {
        if (kills && done >= kill_at) {
            live_kill(other, "many", live_roll(&random) % CONNECTIONS);
            kill_at = done + OPERATIONS_PER_KILL;
        }
        waiting_sleep_us(3000 + live_roll(&random) % 10000);
        done = 0;
        for (unsigned i = 0; i < THREADS; i++)
            done += writers[i].done;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (unsigned key = 0; key < KEYS; key++) {
            check_key(&writers[i], key, &unknown);
            check_fates(&writers[i], key);
        }
        free(writers[i].operations);
    }
    shoal_stats_t stats = live_stats(client);
    print_message("%zu operations, %llu waited, %llu losses, %zu writes unknown\n",
                  THREADS * count, (unsigned long long)stats.bulk,
                  (unsigned long long)stats.losses, unknown);
    assert_true(stats.bulk > 0);
    assert_int_equal(stats.desyncs, 0);
    if (!kills)
        assert_int_equal(unknown, 0);
    else
        assert_true(stats.losses > 0);
    live_finish(client);
    live_finish(other);
}

static void test_keeps_the_order_of_each_key(void **state)
{
    (void)state;
    check_run(live_scaled(3000), false, false);
}

static void test_keeps_the_order_beside_the_bulk_lane(void **state)
{
    (void)state;
    check_run(live_scaled(3000), true, false);
}

static void test_keeps_the_order_over_losses(void **state)
{
    (void)state;
    check_run(live_scaled(2000), false, true);
}

static void test_keeps_the_order_over_losses_beside_the_bulk_lane(void **state)
{
    (void)state;
    check_run(live_scaled(2000), true, true);
}

/* ---- a lone caller ---- */

static void test_a_lone_caller_uses_all_connections(void **state)
{
    shoal_client_t *client = open_many(false);
    shoal_result_t *result;
    size_t bytes;
    (void)state;

    live_ask(client, "FLUSHALL");
    for (unsigned i = 1; i <= 400; i++) {
        assert_int_equal(shoal_client_callf(client, &result,
                                            "MSET a%u %u b%u %u c%u %u", i % 9, i,
                                            i % 9, i, i % 9, i),
                         0);
        assert_int_equal(shoal_result_status(result), 0);
        shoal_result_release(result);
        assert_int_equal(shoal_client_callf(client, &result, "GET b%u", i % 9), 0);
        assert_int_equal(
            strtoul(shoal_reply_string(shoal_result_reply(result), &bytes), NULL, 10),
            i);
        shoal_result_release(result);
    }
    assert_true(live_stats(client).direct_calls > 0);
    for (uint64_t i = 1; i < 100; i++) {
        shoal_stats_t stats = SHOAL_STATS_INIT;
        if (shoal_stats_get_connection(client, i, &stats) == 0)
            assert_true(stats.replies > 20);
    }
    live_finish(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_the_order_of_each_key),
        cmocka_unit_test(test_keeps_the_order_beside_the_bulk_lane),
        cmocka_unit_test(test_keeps_the_order_over_losses),
        cmocka_unit_test(test_keeps_the_order_over_losses_beside_the_bulk_lane),
        cmocka_unit_test(test_a_lone_caller_uses_all_connections),
    };
    return cmocka_run_group_tests_name("integration/connections", tests, NULL, NULL);
}
