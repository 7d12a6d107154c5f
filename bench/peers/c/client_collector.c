/* SPDX-License-Identifier: MIT */

/* A collector in front of a blocking hiredis connection: the worker sends what is
 * queued as one pipeline, reads all replies of it, then looks again. */

#include "call_queue.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>

typedef struct collector {
    peer_t *peer;
    redisContext *connection;
    call_queue_t queue;
    callers_t *callers;
    pthread_t worker;
} collector_t;

static redisContext *connect_to(const peer_options_t *options)
{
    redisContext *connection = options->socket_path
                                   ? redisConnectUnix(options->socket_path)
                                   : redisConnect(options->host, options->port);
    if (!connection || connection->err)
        peer_fail("cannot connect: %s",
                  connection ? connection->errstr : "out of memory");
    return connection;
}

static void append_all(collector_t *collector, const call_t *first)
{
    peer_t *peer = collector->peer;
    const char *argv[PEER_ARGUMENTS] = {peer->argv[0], peer->argv[1], peer->argv[2]};

    for (const call_t *call = first; call; call = call->next) {
        if (redisAppendCommandArgv(collector->connection, PEER_ARGUMENTS, argv,
                                   peer->argvlen) != REDIS_OK)
            peer_fail("a command was refused: %s", collector->connection->errstr);
    }
}

static void answer_all(collector_t *collector, call_t *first)
{
    for (call_t *call = first, *next; call; call = next) {
        void *answer = NULL;
        if (redisGetReply(collector->connection, &answer) != REDIS_OK)
            peer_fail("a reply is missing: %s", collector->connection->errstr);
        const redisReply *reply = answer;
        if (reply->type == REDIS_REPLY_ERROR)
            peer_note_error(collector->peer, reply->str);
        freeReplyObject(answer);
        next = call->next; /* the caller may use its call again at once */
        sem_post(&call->done);
    }
}

static void *collect(void *data)
{
    collector_t *collector = data;
    call_t *first;

    while ((first = call_queue_take(&collector->queue)) != NULL) {
        append_all(collector, first);
        answer_all(collector, first);
    }
    return NULL;
}

static void start(peer_t *peer)
{
    collector_t *collector = peer_allocate(1, sizeof *collector);

    peer->state = collector;
    collector->peer = peer;
    collector->connection = connect_to(peer->options);
    call_queue_init(&collector->queue, NULL, NULL);
    if (pthread_create(&collector->worker, NULL, collect, collector) != 0)
        peer_fail("a thread cannot be started");
    collector->callers = callers_start(peer, &collector->queue);
}

static void stop(peer_t *peer)
{
    collector_t *collector = peer->state;

    callers_join(collector->callers);
    call_queue_close(&collector->queue);
    pthread_join(collector->worker, NULL);
    redisFree(collector->connection);
    free(collector);
}

const peer_client_t peer_client_collector = {"collector", start, stop};
