/* SPDX-License-Identifier: MIT */

/* An asynchronous client on libuv: one thread; each caller sends its next command from the
 * callback of its reply. */

#include "async_link.h"
#include "ticker.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct async async_t;

typedef struct caller {
    async_t *async;
    struct caller *next_idle;
    uint64_t count;
    peer_shot_t shot;
} caller_t;

struct async {
    peer_t *peer;
    uv_loop_t loop;
    async_link_t *link; /* NULL: let go of */
    caller_t *callers;
    caller_t *idle; /* open loop: callers without a command */
    uint64_t taken; /* open loop: commands that callers took over */
    uint64_t outstanding;
    ticker_t ticker;
    pthread_t thread;
};

static void send_next(caller_t *caller, uint64_t intended_ns);

static void finish(caller_t *caller)
{
    peer_end(caller->async->peer, &caller->shot);
    caller->async->outstanding--;
}

/* The phase is PEER_STOPPING: ends the connections, and so the loop. */
static void let_go(async_t *async)
{
    if (!async->link || async->outstanding > 0)
        return;
    async_link_close(async->link);
    async->link = NULL;
}

/* Gives the caller its next command, if there is one. */
static void proceed(caller_t *caller)
{
    async_t *async = caller->async;
    peer_t *peer = async->peer;

    if (peer_phase(peer) == PEER_STOPPING) {
        let_go(async);
    } else if (peer->options->rate == 0) {
        send_next(caller, 0);
    } else if (async->taken < peer_released(peer)) {
        send_next(caller, peer_due_ns(peer, async->taken++));
    } else {
        caller->next_idle = async->idle;
        async->idle = caller;
    }
}

static void on_reply(void *data)
{
    caller_t *caller = data;

    finish(caller);
    proceed(caller);
}

static void send_next(caller_t *caller, uint64_t intended_ns)
{
    async_t *async = caller->async;

    peer_begin(async->peer, &caller->shot, caller->count++, intended_ns);
    async->outstanding++;
    async_link_send(async->link, caller);
}

/* The generator alone: what is due is done at once. */
static void skip_next(caller_t *caller, uint64_t intended_ns)
{
    peer_begin(caller->async->peer, &caller->shot, caller->count++, intended_ns);
    caller->async->outstanding++;
    finish(caller);
}

static void on_tick(void *data)
{
    async_t *async = data;
    peer_t *peer = async->peer;
    uint64_t released = peer_released(peer);

    if (peer_phase(peer) == PEER_STOPPING) {
        ticker_stop(&async->ticker);
        let_go(async);
        return;
    }
    while (async->idle && async->taken < released) {
        uint64_t intended_ns = peer_due_ns(peer, async->taken++);
        caller_t *caller = async->idle;
        if (peer->options->has_no_command) {
            skip_next(caller, intended_ns);
        } else {
            async->idle = caller->next_idle;
            send_next(caller, intended_ns);
        }
    }
}

static void *run_loop(void *data)
{
    async_t *async = data;
    uv_run(&async->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void start(peer_t *peer)
{
    async_t *async = peer_allocate(1, sizeof *async);

    peer->state = async;
    async->peer = peer;
    async->callers = peer_allocate(peer->options->callers, sizeof *async->callers);
    if (uv_loop_init(&async->loop) < 0)
        peer_fail("no event loop");
    async->link = async_link_open(peer, &async->loop, on_reply);
    for (uint64_t i = 0; i < peer->options->callers; i++) {
        caller_t *caller = &async->callers[i];
        caller->async = async;
        if (peer->options->rate == 0) {
            send_next(caller, 0);
        } else {
            caller->next_idle = async->idle;
            async->idle = caller;
        }
    }
    async->taken = peer->options->rate != 0 ? peer_released(peer) : 0;
    if (peer->options->rate != 0)
        ticker_start(&async->ticker, &async->loop, on_tick, async);
    if (pthread_create(&async->thread, NULL, run_loop, async) != 0)
        peer_fail("a thread cannot be started");
}

static void stop(peer_t *peer)
{
    async_t *async = peer->state;

    pthread_join(async->thread, NULL);
    uv_loop_close(&async->loop);
    free(async->callers);
    free(async);
}

const peer_client_t peer_client_async = {"async", start, stop};
