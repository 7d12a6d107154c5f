/* SPDX-License-Identifier: MIT */

/* A collector in front of hiredis' asynchronous interface: callers wake the loop's
 * thread, which sends what is queued and answers each caller when its reply came, so
 * that batches overlap. */

#include "async_link.h"
#include "call_queue.h"

#include <stdlib.h>

typedef struct async_collector {
    peer_t *peer;
    uv_loop_t loop;
    uv_async_t wakeup;
    redisAsyncContext *connection;
    call_queue_t queue;
    callers_t *callers;
    pthread_t worker;
} async_collector_t;

static void on_reply(redisAsyncContext *connection, void *reply, void *data)
{
    async_collector_t *collector = connection->data;
    call_t *call = data;

    async_link_check(collector->peer, reply, connection);
    sem_post(&call->done);
}

static void on_wakeup(uv_async_t *wakeup)
{
    async_collector_t *collector = wakeup->data;

    for (call_t *call = call_queue_take(&collector->queue), *next; call; call = next) {
        next = call->next;
        async_link_send(collector->peer, collector->connection, on_reply, call);
    }
    if (call_queue_is_closed(&collector->queue)) {
        uv_close((uv_handle_t *)wakeup, NULL);
        redisAsyncDisconnect(collector->connection);
    }
}

static void wake(void *data)
{
    async_collector_t *collector = data;
    uv_async_send(&collector->wakeup);
}

static void *run_loop(void *data)
{
    async_collector_t *collector = data;
    uv_run(&collector->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void start(peer_t *peer)
{
    async_collector_t *collector = peer_allocate(1, sizeof *collector);

    peer->state = collector;
    collector->peer = peer;
    call_queue_init(&collector->queue, wake, collector);
    if (uv_loop_init(&collector->loop) < 0 ||
        uv_async_init(&collector->loop, &collector->wakeup, on_wakeup) < 0)
        peer_fail("no event loop");
    collector->wakeup.data = collector;
    collector->connection = async_link_open(peer, &collector->loop);
    collector->connection->data = collector;
    if (pthread_create(&collector->worker, NULL, run_loop, collector) != 0)
        peer_fail("a thread cannot be started");
    collector->callers = callers_start(peer, &collector->queue);
}

static void stop(peer_t *peer)
{
    async_collector_t *collector = peer->state;

    callers_join(collector->callers);
    call_queue_close(&collector->queue);
    pthread_join(collector->worker, NULL);
    uv_loop_close(&collector->loop);
    free(collector);
}

const peer_client_t peer_client_async_collector = {"async-collector", start, stop};
