/* SPDX-License-Identifier: MIT */

/* hiredis' asynchronous interface, one connection. */

#include "async_link.h"

#include "load/target_tls.h"
#include "load/uv_attach.h"

#include <hiredis/async.h>
#include <stdio.h>
#include <stdlib.h>

struct async_link {
    peer_t *peer;
    void (*on_reply)(void *data);
    redisAsyncContext *connection;
};

static void on_connect(const redisAsyncContext *connection, int status)
{
    if (status != REDIS_OK)
        peer_fail("cannot connect: %s", uv_attach_error(connection));
}

static void on_disconnect(const redisAsyncContext *connection, int status)
{
    if (status != REDIS_OK)
        peer_fail("the connection was lost: %s", uv_attach_error(connection));
    free(connection->data);
}

static redisAsyncContext *connect_to(const peer_options_t *options)
{
    redisAsyncContext *connection =
        options->socket_path ? redisAsyncConnectUnix(options->socket_path)
                             : redisAsyncConnect(options->host, options->port);

    if (!connection || connection->err)
        peer_fail("cannot connect: %s", uv_attach_error(connection));
    if (options->ca_file &&
        target_tls_begin(&(target_tls_t){.ca_file = options->ca_file}, &connection->c) <
            0)
        peer_fail("TLS cannot be begun");
    return connection;
}

async_link_t *async_link_open(peer_t *peer, uv_loop_t *loop,
                              void (*on_reply)(void *data))
{
    async_link_t *link = peer_allocate(1, sizeof *link);

    if (peer->options->is_cluster)
        peer_fail("hiredis knows one server alone");
    link->peer = peer;
    link->on_reply = on_reply;
    link->connection = connect_to(peer->options);
    link->connection->data = link;
    if (uv_attach(link->connection, loop) < 0)
        peer_fail("the connection cannot be watched");
    redisAsyncSetConnectCallback(link->connection, on_connect);
    redisAsyncSetDisconnectCallback(link->connection, on_disconnect);
    return link;
}

static void on_answer(redisAsyncContext *connection, void *answer, void *data)
{
    async_link_t *link = connection->data;
    const redisReply *reply = answer;

    if (!reply)
        peer_fail("a reply is missing: %s", uv_attach_error(connection));
    if (reply->type == REDIS_REPLY_ERROR)
        peer_note_error(link->peer, reply->str);
    link->on_reply(data);
}

void async_link_send(async_link_t *link, void *data)
{
    const char *argv[PEER_ARGUMENTS];

    peer_command(link->peer, argv);
    if (redisAsyncCommandArgv(link->connection, on_answer, data, PEER_ARGUMENTS, argv,
                              link->peer->argvlen) != REDIS_OK)
        peer_fail("a command was refused: %s", uv_attach_error(link->connection));
}

void async_link_close(async_link_t *link)
{
    redisAsyncDisconnect(link->connection);
}

const char *const async_link_library = "hiredis";

void async_link_version(char *text, size_t text_bytes)
{
    snprintf(text, text_bytes, "%d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
}
