/* SPDX-License-Identifier: MIT */
/* A server that is killed and started again under load.  It keeps what it acknowledged
 * in an append-only file, so every id can be looked for afterwards: those reported done
 * are there once, those reported not executed are not, the others at most once.
 * (I1 I2 I3 I4; oracles O1 - O4) */
#include "support/live.h"
#include "support/process_state.h"
#include "support/redis_process.h"
#include "support/tag.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define RESTARTS 20
#define WINDOW 100
#define COMMANDS_MAX 2000000 /* most commands of one thread */
#define HURRY_US 20000
#define PROGRESS 300 /* commands that must succeed between two kills */

static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "no",
                                      NULL};

typedef struct writer writer_t;

/* A further outcome beside the fates: a server that is still starting answered
 * LOADING. */
#define REJECTED 4
#define FATES 5

typedef struct push {
    writer_t *writer;
    uint32_t seq;
    uint8_t calls, fate;
    uint8_t found; /* how often its id is in the list at the end */
} push_t;

struct writer {
    shoal_client_t *client;
    unsigned number;
    pthread_t thread;
    push_t *pushes; /* all its commands: a push and an echo by turns */
    size_t count;
    _Atomic bool is_over;
    _Atomic size_t completed, done;
    size_t mismatches;
    char mismatch[64]; /* the text of the last wrong reply */
};

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    push_t *push = data;
    writer_t *writer = push->writer;
    bool is_echo = push->seq % 2;
    size_t bytes = 0;
    (void)client;

    push->calls++;
    push->fate = (uint8_t)shoal_result_fate(result);
    if (shoal_result_status(result) == 0) {
        const shoal_reply_t *reply = shoal_result_reply(result);
        const char *text = shoal_reply_string(reply, &bytes);
        tag_t tag = {4, writer->number, push->seq};
        bool is_right = is_echo ? tag_matches(tag, text, bytes)
                                : shoal_reply_type(reply) == SHOAL_REPLY_INTEGER;
        if (shoal_reply_type(reply) == SHOAL_REPLY_ERROR && bytes > 8 &&
            memcmp(text, "LOADING ", 8) == 0) {
            push->fate = REJECTED;
        } else if (!is_right) {
            writer->mismatches++;
            snprintf(writer->mismatch, sizeof writer->mismatch, "%.*s", (int)bytes,
                     text ? text : "");
        }
        writer->done++;
    }
    writer->completed++;
}

/* Some commands have a short deadline: without a connection they end, not executed. */
static int submit(push_t *push)
{
    char text[TAG_ROOM];
    const char *const rpush[] = {"RPUSH", "ids", text};
    const char *const echo[] = {"ECHO", text};
    bool is_echo = push->seq % 2;
    shoal_command_t command = {is_echo ? 2 : 3, is_echo ? echo : rpush, NULL};
    shoal_call_t call = {.size = sizeof call,
                         .timeout_us = push->seq % 10 == 4 ? HURRY_US : 0};

    (void)tag_make((tag_t){4, push->writer->number, push->seq}, text);
    return shoal_client_submit_many(push->writer->client, &command, 1, &call, on_result,
                                    push, NULL);
}

static void *write_ids(void *data)
{
    writer_t *writer = data;

    for (; !writer->is_over && writer->count < COMMANDS_MAX; writer->count++) {
        push_t *push = &writer->pushes[writer->count];

        *push = (push_t){.writer = writer, .seq = (uint32_t)writer->count};
        while (writer->count - writer->completed >= WINDOW)
            waiting_sleep_us(50);
        while (submit(push) != 0)
            waiting_sleep_us(50);
    }
    return NULL;
}

static size_t sum_done(const writer_t *writers)
{
    size_t done = 0;
    for (size_t i = 0; i < THREADS; i++)
        done += writers[i].done;
    return done;
}

/* While it loads its file the server refuses to be asked. */
static bool has_loaded(const redis_process_t *redis)
{
    char answer[64];

    return redis_ask(redis_process_port(redis), "PING", answer, sizeof answer) &&
           strcmp(answer, "+PONG") == 0;
}

/* Note in each push how often its id is in the list. */
static void read_list(shoal_client_t *client, writer_t *writers)
{
    shoal_result_t *result = NULL;

    assert_int_equal(shoal_client_callf(client, &result, "LRANGE ids 0 -1"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    const shoal_reply_t *list = shoal_result_reply(result);
    assert_int_equal(shoal_reply_type(list), SHOAL_REPLY_ARRAY);
    for (size_t i = 0; i < shoal_reply_count(list); i++) {
        char text[TAG_ROOM] = "";
        size_t bytes = 0;
        unsigned number = 0, seq = 0;
        const char *id = shoal_reply_string(shoal_reply_at(list, i), &bytes);

        assert_true(bytes < sizeof text);
        memcpy(text, id, bytes);
        assert_int_equal(sscanf(text, "4|%u|%u|", &number, &seq), 2);
        assert_true(number < THREADS && seq < writers[number].count);
        assert_true(tag_matches((tag_t){4, number, seq}, id, bytes));
        writers[number].pushes[seq].found++;
    }
    shoal_result_release(result);
}

static void check_writer(const writer_t *writer, size_t fates[FATES])
{
    if (writer->mismatches)
        fail_msg("%zu wrong replies, the last: %s", writer->mismatches,
                 writer->mismatch);
    for (size_t i = 0; i < writer->count; i++) {
        const push_t *push = &writer->pushes[i];
        if (push->calls != 1)
            fail_msg("command %zu completed %u times", i, push->calls);
        if (i % 2)
            continue;
        fates[push->fate]++;
        bool is_done = push->fate == SHOAL_FATE_REPLIED;
        bool is_not = push->fate == SHOAL_FATE_NOT_EXECUTED || push->fate == REJECTED;
        if (push->found > 1 || (is_done && push->found == 0) ||
            (is_not && push->found > 0))
            fail_msg("push %zu, with fate %u, is there %u times", i, push->fate,
                     push->found);
    }
}

static void restart_again_and_again(redis_process_t *redis, shoal_client_t *client,
                                    const writer_t *writers)
{
    for (uint64_t i = 0; i < RESTARTS; i++) {
        size_t done = sum_done(writers);
        WAIT_FOR(live_stats(client).connects > i);
        WAIT_FOR(sum_done(writers) > done + PROGRESS);
        /* Without connections the last commands are executed, and not answered. */
        if (i % 2)
            (void)redis_ask(redis_process_port(redis),
                            "CLIENT KILL TYPE normal SKIPME yes", NULL, 0);
        redis_process_kill(redis);
        if (i % 3 == 0)
            waiting_sleep_us(20000);
        assert_true(redis_process_restart(redis));
    }
    WAIT_FOR(live_stats(client).connects > RESTARTS);
}

static void test_restarts_under_load(void **state)
{
    writer_t *writers = calloc(THREADS, sizeof *writers);
    size_t fates[FATES] = {0}, commands = 0;
    (void)state;

    redis_process_t *redis = redis_process_start(durable);
    if (!redis)
        skip();
    shoal_options_t *options = live_options_of_port(redis_process_port(redis));
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    assert_int_equal(shoal_options_set_timeout_us(options, 20000000), 0);
    shoal_client_t *client = live_open(options);
    size_t descriptors = process_descriptors(), threads = process_threads();
    for (unsigned i = 0; i < THREADS; i++) {
        writers[i] = (writer_t){.client = client, .number = i};
        writers[i].pushes = calloc(COMMANDS_MAX, sizeof(push_t));
        pthread_create(&writers[i].thread, NULL, write_ids, &writers[i]);
    }
    restart_again_and_again(redis, client, writers);
    for (size_t i = 0; i < THREADS; i++)
        writers[i].is_over = true;
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(writers[i].thread, NULL);
        WAIT_FOR(writers[i].completed == writers[i].count);
        commands += writers[i].count;
    }
    assert_int_equal(process_descriptors(), descriptors); /* O7 */
    assert_int_equal(process_threads(), threads);
    WAIT_FOR(has_loaded(redis));
    read_list(client, writers);
    for (size_t i = 0; i < THREADS; i++)
        check_writer(&writers[i], fates);
    print_message("%zu commands; pushes: %zu rejected, %zu replied, %zu not executed, "
                  "%zu unknown, %zu "
                  "with a lost reply\n",
                  commands, fates[REJECTED], fates[SHOAL_FATE_REPLIED],
                  fates[SHOAL_FATE_NOT_EXECUTED], fates[SHOAL_FATE_UNKNOWN],
                  fates[SHOAL_FATE_REPLY_LOST]);
    shoal_stats_t stats = live_stats(client);
    assert_int_equal(stats.commands, stats.completed);
    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
    for (size_t i = 0; i < THREADS; i++)
        free(writers[i].pushes);
    free(writers);
    redis_process_stop(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restarts_under_load),
    };
    return cmocka_run_group_tests_name("integration/restart", tests, NULL, NULL);
}
