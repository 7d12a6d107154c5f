/* SPDX-License-Identifier: MIT */
#include "async_link.h"

#include "load/target_tls.h"
#include "load/uv_attach.h"

static void on_connect(const redisAsyncContext *connection, int status)
{
    if (status != REDIS_OK)
        peer_fail("cannot connect: %s", uv_attach_error(connection));
}

static void on_disconnect(const redisAsyncContext *connection, int status)
{
    if (status != REDIS_OK)
        peer_fail("the connection was lost: %s", uv_attach_error(connection));
}

redisAsyncContext *async_link_open(const peer_t *peer, uv_loop_t *loop)
{
    const peer_options_t *options = peer->options;
    redisAsyncContext *connection =
        options->socket_path ? redisAsyncConnectUnix(options->socket_path)
                             : redisAsyncConnect(options->host, options->port);

    if (!connection || connection->err)
        peer_fail("cannot connect: %s", uv_attach_error(connection));
    if (options->ca_file &&
        target_tls_begin(&(target_tls_t){.ca_file = options->ca_file}, &connection->c) <
            0)
        peer_fail("TLS cannot be begun");
    if (uv_attach(connection, loop) < 0)
        peer_fail("the connection cannot be watched");
    redisAsyncSetConnectCallback(connection, on_connect);
    redisAsyncSetDisconnectCallback(connection, on_disconnect);
    return connection;
}

void async_link_send(const peer_t *peer, redisAsyncContext *connection,
                     redisCallbackFn *on_reply, void *data)
{
    const char *argv[PEER_ARGUMENTS] = {peer->argv[0], peer->argv[1], peer->argv[2]};

    if (redisAsyncCommandArgv(connection, on_reply, data, PEER_ARGUMENTS, argv,
                              peer->argvlen) != REDIS_OK)
        peer_fail("a command was refused: %s", uv_attach_error(connection));
}

void async_link_check(peer_t *peer, const redisReply *reply,
                      const redisAsyncContext *connection)
{
    if (!reply)
        peer_fail("a reply is missing: %s", uv_attach_error(connection));
    if (reply->type == REDIS_REPLY_ERROR)
        peer_note_error(peer, reply->str);
}
