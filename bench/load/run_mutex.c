/* SPDX-License-Identifier: MIT */

/* A mutex queue in front of hiredis' asynchronous interface: the worker runs a libuv
 * loop with one connection.  A caller that finds the queue empty wakes the loop, which
 * sends all calls of the queue and wakes each caller from the callback of its reply.
 * So batches overlap. */

#include "load/hiredis_async.h"
#include "load/queued.h"
#include "load/uv_attach.h"

#include <stdlib.h>

typedef struct mutex_load {
    run_t *run;
    uv_loop_t loop;
    uv_async_t wakeup;
    bool has_loop;
    redisAsyncContext *connection; /* NULL: hiredis let go of it */
    queued_t queued;
} mutex_load_t;

static void lose(mutex_load_t *load, const redisAsyncContext *connection)
{
    run_fail(load->run, "%s", uv_attach_error(connection));
    queued_lose(&load->queued);
    load->connection = NULL;
}

static void on_connect(const redisAsyncContext *connection, int status)
{
    if (status != REDIS_OK)
        lose(connection->data, connection);
}

static void on_disconnect(const redisAsyncContext *connection, int status)
{
    mutex_load_t *load = connection->data;

    if (status != REDIS_OK)
        lose(load, connection);
    load->connection = NULL;
}

static int connect_to_server(mutex_load_t *load)
{
    redisAsyncContext *connection =
        hiredis_async_open(load->run, &load->loop, REDIS_OPT_NOAUTOFREEREPLIES, false);

    if (!connection)
        return -1;
    connection->data = load;
    load->connection = connection;
    redisAsyncSetConnectCallback(connection, on_connect);
    redisAsyncSetDisconnectCallback(connection, on_disconnect);
    return 0;
}

static void on_reply(redisAsyncContext *connection, void *reply, void *data)
{
    mutex_load_t *load = connection->data;

    if (!reply)
        lose(load, connection);
    queued_answer(data, reply);
}

static void send_one(mutex_load_t *load, queued_call_t *call)
{
    const command_t *command = call->command;

    if (load->connection &&
        redisAsyncCommandArgv(load->connection, on_reply, call, (int)command->argc,
                              command->argv, command->argvlen) == REDIS_OK)
        return;
    run_fail(load->run, "a command was refused");
    queued_answer(call, NULL);
}

static void on_wakeup(uv_async_t *wakeup)
{
    mutex_load_t *load = wakeup->data;
    queued_call_t *next;

    for (queued_call_t *call = queued_take(&load->queued); call; call = next) {
        next = call->next; /* once awake the caller comes again */
        send_one(load, call);
    }
    if (queued_is_over(&load->queued))
        uv_stop(&load->loop);
}

static void wake(void *data)
{
    mutex_load_t *load = data;
    uv_async_send(&load->wakeup);
}

static void *work(void *data)
{
    mutex_load_t *load = data;
    uv_run(&load->loop, UV_RUN_DEFAULT);
    return NULL;
}

static int start(run_t *run)
{
    mutex_load_t *load = calloc(1, sizeof *load);

    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    load->run = run;
    queued_init(&load->queued, run, wake, load);
    if (uv_loop_init(&load->loop) < 0)
        return run_fail(run, "no event loop");
    load->has_loop = true;
    load->wakeup.data = load;
    if (uv_async_init(&load->loop, &load->wakeup, on_wakeup) < 0)
        return run_fail(run, "no descriptors left");
    if (connect_to_server(load) < 0)
        return -1;
    return queued_start(&load->queued, work);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const mutex_load_t *load = run->load;
    *ret_counters = (load_counters_t){
        .foreign_cpu_ns = callers_foreign_cpu_ns(&load->queued.callers)};
}

/* The worker is gone: this thread ends what the loop still has. */
static void close_loop(mutex_load_t *load)
{
    if (load->connection)
        redisAsyncFree(load->connection);
    hiredis_async_close_loop(&load->loop);
}

static void stop(run_t *run)
{
    mutex_load_t *load = run->load;
    if (!load)
        return;
    queued_stop(&load->queued);
    if (load->has_loop)
        close_loop(load);
    free(load);
}

const load_kind_t load_mutex = {start, count, stop};
