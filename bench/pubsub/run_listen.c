/* SPDX-License-Identifier: MIT */

/* Receiving with hiredis' asynchronous interface on libuv, as its own example does: one
 * connection in its default protocol, a callback for each message. */

#include "load/hiredis_async.h"
#include "load/uv_attach.h"
#include "pubsub/publisher.h"
#include "pubsub/receipts.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct listen_load {
    run_t *run;
    publisher_t publisher;
    receipts_t receipts;
    uv_loop_t loop;
    bool has_loop;
    uv_async_t ending;
    uint64_t confirmed; /* channels */
    redisAsyncContext *connection;
    crew_t crew;
} listen_load_t;

static void on_connect(const redisAsyncContext *connection, int status)
{
    listen_load_t *load = connection->data;
    if (status == REDIS_OK)
        return;
    run_fail(load->run, "%s", uv_attach_error(connection));
    load->connection = NULL;
}

static void on_disconnect(const redisAsyncContext *connection, int status)
{
    listen_load_t *load = connection->data;
    if (status != REDIS_OK)
        run_fail(load->run, "%s", uv_attach_error(connection));
    load->connection = NULL;
}

/* Confirmations have a number where messages have their payload. */
static void on_push(redisAsyncContext *connection, void *answer, void *data)
{
    listen_load_t *load = data;
    const redisReply *reply = answer;

    (void)connection;
    if (!reply)
        return;
    if (reply->type == REDIS_REPLY_ERROR) {
        run_fail(load->run, "%s", reply->str);
        return;
    }
    if (reply->elements != 3)
        return;
    const redisReply *last = reply->element[2];
    if (last->type == REDIS_REPLY_STRING)
        receipts_note(&load->receipts, last->str, last->len);
    else if (++load->confirmed == publisher_channels(load->run->options))
        publisher_go(&load->publisher);
}

static void on_ending(uv_async_t *ending)
{
    uv_stop(ending->loop);
}

static int subscribe(listen_load_t *load)
{
    char channel[PUBLISHER_CHANNEL_BYTES];

    for (uint64_t i = 0; i < publisher_channels(load->run->options); i++) {
        publisher_channel(i, channel, sizeof channel);
        if (redisAsyncCommand(load->connection, on_push, load, "SUBSCRIBE %s",
                              channel) != REDIS_OK)
            return run_fail(load->run, "a subscription was refused");
    }
    return 0;
}

static void *work(void *member)
{
    listen_load_t *load = member;
    uv_run(&load->loop, UV_RUN_DEFAULT);
    return NULL;
}

static int start(run_t *run)
{
    listen_load_t *load = calloc(1, sizeof *load);

    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    load->run = run;
    if (publisher_start(&load->publisher, run) < 0)
        return -1;
    receipts_init(&load->receipts, run, load->publisher.credits);
    if (uv_loop_init(&load->loop) < 0)
        return run_fail(run, "no event loop");
    load->has_loop = true;
    if (uv_async_init(&load->loop, &load->ending, on_ending) < 0)
        return run_fail(run, "no descriptors left");
    load->connection = hiredis_async_open(run, &load->loop, 0, true);
    if (!load->connection)
        return -1;
    load->connection->data = load;
    redisAsyncSetConnectCallback(load->connection, on_connect);
    redisAsyncSetDisconnectCallback(load->connection, on_disconnect);
    if (subscribe(load) < 0)
        return -1;
    return crew_start(&load->crew, run, 1, work, load, 0);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const listen_load_t *load = run->load;
    *ret_counters =
        (load_counters_t){.has_messages = true, .lost_messages = load->receipts.lost};
}

static void stop(run_t *run)
{
    listen_load_t *load = run->load;
    if (!load)
        return;
    if (load->crew.count > 0)
        uv_async_send(&load->ending);
    crew_join(&load->crew);
    publisher_stop(&load->publisher);
    if (load->connection)
        redisAsyncFree(load->connection);
    if (load->has_loop)
        hiredis_async_close_loop(&load->loop);
    free(load);
}

const load_kind_t load_listen = {start, count, stop};
