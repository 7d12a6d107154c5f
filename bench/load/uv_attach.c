/* SPDX-License-Identifier: MIT */
#include "load/uv_attach.h"

#include <stdlib.h>

typedef struct watch {
    uv_poll_t poll;
    redisAsyncContext *connection; /* NULL: hiredis let go of it */
    int events;
} watch_t;

static void on_ready(uv_poll_t *poll, int status, int events)
{
    watch_t *watch = poll->data;
    int happened = status < 0 ? watch->events : events;

    if (watch->connection && (happened & UV_READABLE))
        redisAsyncHandleRead(watch->connection);
    if (watch->connection && (happened & UV_WRITABLE))
        redisAsyncHandleWrite(watch->connection);
}

static void watch_for(watch_t *watch, int events)
{
    if (events == watch->events)
        return;
    watch->events = events;
    if (events != 0)
        uv_poll_start(&watch->poll, events, on_ready);
    else
        uv_poll_stop(&watch->poll);
}

static void add_read(void *data)
{
    watch_t *watch = data;
    watch_for(watch, watch->events | UV_READABLE);
}

static void del_read(void *data)
{
    watch_t *watch = data;
    watch_for(watch, watch->events & ~UV_READABLE);
}

static void add_write(void *data)
{
    watch_t *watch = data;
    watch_for(watch, watch->events | UV_WRITABLE);
}

static void del_write(void *data)
{
    watch_t *watch = data;
    watch_for(watch, watch->events & ~UV_WRITABLE);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void cleanup(void *data)
{
    watch_t *watch = data;
    watch->connection = NULL;
    uv_close((uv_handle_t *)&watch->poll, on_closed);
}

int uv_attach(redisAsyncContext *connection, uv_loop_t *loop)
{
    watch_t *watch = calloc(1, sizeof *watch);

    if (!watch || uv_poll_init_socket(loop, &watch->poll, connection->c.fd) < 0) {
        free(watch);
        return -1;
    }
    watch->connection = connection;
    watch->poll.data = watch;
    connection->ev.data = watch;
    connection->ev.addRead = add_read;
    connection->ev.delRead = del_read;
    connection->ev.addWrite = add_write;
    connection->ev.delWrite = del_write;
    connection->ev.cleanup = cleanup;
    return 0;
}

const char *uv_attach_error(const redisAsyncContext *connection)
{
    if (!connection)
        return "out of memory";
    if (connection->errstr && connection->errstr[0] != '\0')
        return connection->errstr;
    return connection->c.errstr[0] != '\0' ? connection->c.errstr : "no reason given";
}
