/* SPDX-License-Identifier: MIT */
#include "load/hiredis_async.h"

#include "load/uv_attach.h"

/* `data` is NULL for a command of which an error is no matter. */
static void on_greeting(redisAsyncContext *connection, void *answer, void *data)
{
    run_t *run = data;
    redisReply *reply = answer;

    if (reply && reply->type == REDIS_REPLY_ERROR && run)
        run_fail(run, "%s", reply->str);
    if (reply && (connection->c.flags & REDIS_NO_AUTO_FREE_REPLIES))
        freeReplyObject(reply);
}

static void greet(run_t *run, redisAsyncContext *connection, bool keeps_protocol)
{
    const target_t *target = &run->options->target;

    if (target->password && target->user)
        redisAsyncCommand(connection, on_greeting, run, "AUTH %s %s", target->user,
                          target->password);
    if (target->password && !target->user)
        redisAsyncCommand(connection, on_greeting, run, "AUTH %s", target->password);
    /* Like the client under test: a server without HELLO is spoken to in RESP2. */
    if (target->resp == 3 && !keeps_protocol)
        redisAsyncCommand(connection, on_greeting, NULL, "HELLO 3");
    if (target->database != 0)
        redisAsyncCommand(connection, on_greeting, run, "SELECT %d", target->database);
}

redisAsyncContext *hiredis_async_open(run_t *run, uv_loop_t *loop, int flags,
                                      bool keeps_protocol)
{
    const target_t *target = &run->options->target;
    redisOptions options = {0};

    options.options = flags;
    if (target->socket_path)
        REDIS_OPTIONS_SET_UNIX(&options, target->socket_path);
    else
        REDIS_OPTIONS_SET_TCP(&options, target->host, target->port);
    redisAsyncContext *connection = redisAsyncConnectWithOptions(&options);
    if (!connection || connection->err || uv_attach(connection, loop) < 0 ||
        (target->is_tls && target_tls_begin(&target->tls, &connection->c) < 0)) {
        run_fail(run, "%s", uv_attach_error(connection));
        if (connection)
            redisAsyncFree(connection);
        return NULL;
    }
    greet(run, connection, keeps_protocol);
    return connection;
}

static void on_handle(uv_handle_t *handle, void *data)
{
    (void)data;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void hiredis_async_close_loop(uv_loop_t *loop)
{
    uv_walk(loop, on_handle, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
}
