/* SPDX-License-Identifier: MIT */

/* libvalkey's asynchronous client of clusters: one connection to each primary. */

#include "async_link.h"

#include <valkey/adapters/libuv.h>
#include <valkey/cluster.h>

#include <stdio.h>
#include <stdlib.h>

struct async_link {
    peer_t *peer;
    void (*on_reply)(void *data);
    valkeyClusterAsyncContext *cluster;
};

static async_link_t *only; /* the library has no place for a pointer of ours */

/* The slots are known when this returns; connections are made with the first commands. */
async_link_t *async_link_open(peer_t *peer, uv_loop_t *loop,
                              void (*on_reply)(void *data))
{
    async_link_t *link = peer_allocate(1, sizeof *link);
    char node[300];
    valkeyClusterOptions options = {0};

    if (!peer->options->is_cluster || peer->options->ca_file)
        peer_fail("libvalkey is measured with --cluster, without --ca");
    snprintf(node, sizeof node, "%s:%d", peer->options->host, peer->options->port);
    options.initial_nodes = node;
    options.options = VALKEY_OPT_BLOCKING_INITIAL_UPDATE;
    valkeyClusterOptionsUseLibuv(&options, loop);
    link->peer = peer;
    link->on_reply = on_reply;
    link->cluster = valkeyClusterAsyncConnectWithOptions(&options);
    if (!link->cluster || link->cluster->err)
        peer_fail("cannot connect: %s",
                  link->cluster ? link->cluster->errstr : "out of memory");
    only = link;
    return link;
}

static void on_answer(valkeyClusterAsyncContext *cluster, void *answer, void *data)
{
    const valkeyReply *reply = answer;

    if (!reply)
        peer_fail("a reply is missing: %s", cluster->errstr);
    if (reply->type == VALKEY_REPLY_ERROR)
        peer_note_error(only->peer, reply->str);
    only->on_reply(data);
}

void async_link_send(async_link_t *link, void *data)
{
    const char *argv[PEER_ARGUMENTS];

    peer_command(link->peer, argv);
    if (valkeyClusterAsyncCommandArgv(link->cluster, on_answer, data, PEER_ARGUMENTS,
                                      argv, link->peer->argvlen) != VALKEY_OK)
        peer_fail("a command was refused: %s", link->cluster->errstr);
}

/* The library frees the client when its last connection has ended. */
void async_link_close(async_link_t *link)
{
    valkeyClusterAsyncDisconnect(link->cluster);
    free(link);
}

const char *const async_link_library = "libvalkey";

void async_link_version(char *text, size_t text_bytes)
{
    snprintf(text, text_bytes, "%d.%d.%d", LIBVALKEY_VERSION_MAJOR,
             LIBVALKEY_VERSION_MINOR, LIBVALKEY_VERSION_PATCH);
}
