/* SPDX-License-Identifier: MIT */
/* Reads at replicas beside a real primary with two replicas that are killed, promoted and
 * made replicas again: each read has the value of its key, and no write reaches a replica. */
#include "support/live.h"
#include "support/redis_process.h"
#include "support/tag.h"

#include <pthread.h>
#include <shoal/errors.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLICAS 2
#define READERS 4
#define KEYS 50
#define PROGRESS 200

typedef struct rig {
    redis_process_t *primary, *replicas[REPLICAS];
    char port[8];
    const char *arguments[8];
} rig_t;

/* A replica that was started again is empty for a second: it keeps nothing on disk. */
static const char *const plain[] = {"--repl-diskless-sync-delay", "1", NULL};

static void open_rig(rig_t *rig)
{
    rig->primary = redis_process_start(plain);
    if (!rig->primary)
        skip();
    snprintf(rig->port, sizeof rig->port, "%d", redis_process_port(rig->primary));
    const char *const arguments[] = {"--replicaof",          "127.0.0.1",   rig->port,
                                     "--repl-diskless-load", "on-empty-db", NULL};
    memcpy(rig->arguments, arguments, sizeof arguments);
    for (unsigned i = 0; i < REPLICAS; i++)
        rig->replicas[i] = redis_process_start(rig->arguments);
}

static void close_rig(rig_t *rig)
{
    for (unsigned i = 0; i < REPLICAS; i++)
        redis_process_stop(rig->replicas[i]);
    redis_process_stop(rig->primary);
}

static shoal_client_t *open_client(const rig_t *rig, shoal_read_from_t from)
{
    shoal_options_t *options = live_options_of_port(redis_process_port(rig->primary));

    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    assert_int_equal(shoal_options_set_read_from(options, from), 0);
    return live_open(options);
}

static void ask(const redis_process_t *redis, const char *command)
{
    assert_true(redis_ask(redis_process_port(redis), command, NULL, 0));
}

static uint64_t reads_at_replicas(shoal_client_t *client)
{
    return live_stats(client).replica_reads;
}

/* A replica answers a write with READONLY, and counts that. */
static void check_no_write(const redis_process_t *redis)
{
    shoal_client_t *client = live_open(live_options_of_port(redis_process_port(redis)));
    shoal_result_t *result;
    size_t bytes;

    assert_int_equal(shoal_client_callf(client, &result, "INFO errorstats"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    assert_null(
        strstr(shoal_reply_string(shoal_result_reply(result), &bytes), "READONLY"));
    shoal_result_release(result);
    live_finish(client);
}

/* ---- callers ---- */

typedef struct reader {
    pthread_t thread;
    shoal_client_t *client;
    unsigned id;
    _Atomic bool *is_over;
    _Atomic unsigned reads, writes; /* that were answered */
    _Atomic unsigned failed;        /* reads that were not */
    _Atomic unsigned wrong;         /* values of another key */
    char detail[256];
} reader_t;

static void fill(shoal_client_t *client)
{
    char value[TAG_ROOM];

    for (unsigned i = 0; i < KEYS; i++) {
        shoal_result_t *result;
        tag_make((tag_t){.client = 1, .seq = i}, value);
        assert_int_equal(
            shoal_client_callf(client, &result, "SET read:%u %s", i, value), 0);
        assert_int_equal(shoal_result_status(result), 0);
        shoal_result_release(result);
    }
}

static void read_one(reader_t *reader, unsigned key)
{
    shoal_result_t *result;
    const shoal_reply_t *reply;
    size_t bytes = 0;
    const char *value;

    if (shoal_client_callf(reader->client, &result, "GET read:%u", key) < 0)
        abort();
    reply = shoal_result_reply(result);
    value = shoal_reply_string(reply, &bytes);
    if (shoal_result_status(result) < 0 ||
        shoal_reply_type(reply) != SHOAL_REPLY_STRING) {
        reader->failed++;
        snprintf(reader->detail, sizeof reader->detail, "%s %s",
                 shoal_result_detail(result), value ? value : "");
    } else if (tag_matches((tag_t){.client = 1, .seq = key}, value, bytes))
        reader->reads++;
    else
        reader->wrong++;
    shoal_result_release(result);
}

static void write_one(reader_t *reader)
{
    shoal_result_t *result;

    if (shoal_client_callf(reader->client, &result, "INCR count:%u", reader->id) < 0)
        abort();
    if (shoal_result_status(result) == 0 &&
        shoal_reply_type(shoal_result_reply(result)) == SHOAL_REPLY_INTEGER)
        reader->writes++;
    shoal_result_release(result);
}

static void *run_reader(void *data)
{
    reader_t *reader = data;
    unsigned random = reader->id + 1;

    while (!*reader->is_over) {
        read_one(reader, live_roll(&random) % KEYS);
        if (live_roll(&random) % 4 == 0)
            write_one(reader);
    }
    return NULL;
}

static void start(reader_t *readers, shoal_client_t *client, _Atomic bool *is_over)
{
    for (unsigned i = 0; i < READERS; i++) {
        readers[i].client = client;
        readers[i].id = i;
        readers[i].is_over = is_over;
        assert_int_equal(
            pthread_create(&readers[i].thread, NULL, run_reader, &readers[i]), 0);
    }
}

/* All of them go on. */
static void await_progress(reader_t *readers)
{
    for (unsigned i = 0; i < READERS; i++) {
        unsigned before = readers[i].reads;
        WAIT_FOR(readers[i].reads >= before + PROGRESS);
    }
}

static void finish(reader_t *readers, _Atomic bool *is_over)
{
    *is_over = true;
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
    for (unsigned i = 0; i < READERS; i++) {
        if (readers[i].failed > 0)
            print_error("a read failed: %s\n", readers[i].detail);
        assert_int_equal(readers[i].failed, 0);
        assert_int_equal(readers[i].wrong, 0);
        assert_true(readers[i].writes > 0);
    }
}

static void await_reads_at_replicas(shoal_client_t *client)
{
    uint64_t before = reads_at_replicas(client);
    WAIT_FOR(reads_at_replicas(client) > before + PROGRESS);
}

/* Until the replicas have all keys, reads there find none. */
static void await_copies(const rig_t *rig)
{
    char answer[32], command[40], value[TAG_ROOM];

    tag_make((tag_t){.client = 1, .seq = KEYS - 1}, value);
    snprintf(command, sizeof command, "GET read:%d", KEYS - 1);
    for (unsigned i = 0; i < REPLICAS; i++)
        WAIT_FOR(redis_ask(redis_process_port(rig->replicas[i]), command, answer,
                           sizeof answer) &&
                 strcmp(answer, value) == 0);
}

static void fill_all(const rig_t *rig)
{
    shoal_client_t *client =
        live_open(live_options_of_port(redis_process_port(rig->primary)));

    fill(client);
    live_finish(client);
    await_copies(rig);
}

/* ---- the tests ---- */

static void test_replicas_that_are_killed(void **state)
{
    rig_t rig = {0};
    reader_t readers[READERS] = {0};
    _Atomic bool is_over = false;
    (void)state;

    open_rig(&rig);
    fill_all(&rig);
    shoal_client_t *client = open_client(&rig, SHOAL_READ_REPLICA_PREFERRED);
    start(readers, client, &is_over);
    await_reads_at_replicas(client);
    for (unsigned i = 0; i < REPLICAS; i++) {
        check_no_write(rig.replicas[i]);
        redis_process_kill(rig.replicas[i]);
        await_progress(readers);
    }
    for (unsigned i = 0; i < REPLICAS; i++)
        assert_true(redis_process_restart(rig.replicas[i]));
    await_reads_at_replicas(client);
    await_progress(readers);
    finish(readers, &is_over);
    for (unsigned i = 0; i < REPLICAS; i++)
        check_no_write(rig.replicas[i]);
    live_finish(client);
    close_rig(&rig);
}

static void test_a_replica_that_is_promoted(void **state)
{
    rig_t rig = {0};
    reader_t readers[READERS] = {0};
    _Atomic bool is_over = false;
    char command[48];
    (void)state;

    open_rig(&rig);
    fill_all(&rig);
    shoal_client_t *client = open_client(&rig, SHOAL_READ_REPLICA_PREFERRED);
    start(readers, client, &is_over);
    await_reads_at_replicas(client);
    ask(rig.replicas[0], "REPLICAOF NO ONE");
    await_progress(readers);
    await_reads_at_replicas(client);
    snprintf(command, sizeof command, "REPLICAOF 127.0.0.1 %s", rig.port);
    ask(rig.replicas[0], command);
    await_progress(readers);
    finish(readers, &is_over);
    check_no_write(rig.replicas[0]);
    check_no_write(rig.replicas[1]);
    live_finish(client);
    close_rig(&rig);
}

/* The primary is away for a while; nobody but it is asked for writes. */
static void test_reads_without_the_primary(void **state)
{
    rig_t rig = {0};
    shoal_result_t *result;
    (void)state;

    open_rig(&rig);
    fill_all(&rig);
    shoal_client_t *client = open_client(&rig, SHOAL_READ_REPLICA);
    live_ask(client, "GET read:0");
    redis_process_kill(rig.primary);
    for (unsigned i = 0; i < PROGRESS; i++)
        live_ask(client, "GET read:0");
    assert_true(redis_process_restart(rig.primary));
    assert_int_equal(shoal_client_wait_ready(client, WAITING_US_MAX), 0);
    assert_int_equal(shoal_client_callf(client, &result, "SET late 1"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    shoal_result_release(result);
    check_no_write(rig.replicas[0]);
    check_no_write(rig.replicas[1]);
    live_finish(client);
    close_rig(&rig);
}

/* What was written comes to the replicas, some time later. */
static void test_a_write_is_read_later(void **state)
{
    rig_t rig = {0};
    (void)state;

    open_rig(&rig);
    fill_all(&rig);
    shoal_client_t *client = open_client(&rig, SHOAL_READ_REPLICA);
    for (int i = 0; i < 50; i++) {
        shoal_result_t *result;
        int64_t seen = -1;
        assert_int_equal(shoal_client_callf(client, &result, "SETBIT late:%d 7 1", i),
                         0);
        shoal_result_release(result);
        while (seen != 1) {
            assert_int_equal(shoal_client_callf(client, &result, "GETBIT late:%d 7", i),
                             0);
            assert_int_equal(shoal_result_status(result), 0);
            seen = shoal_reply_integer(shoal_result_reply(result));
            shoal_result_release(result);
        }
    }
    assert_true(reads_at_replicas(client) >= 50);
    live_finish(client);
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replicas_that_are_killed),
        cmocka_unit_test(test_a_replica_that_is_promoted),
        cmocka_unit_test(test_reads_without_the_primary),
        cmocka_unit_test(test_a_write_is_read_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
