/* SPDX-License-Identifier: MIT */
#include "call_queue.h"
#include "ticker.h"

#include <stdlib.h>

#define STACK_BYTES 65536

struct callers {
    peer_t *peer;
    call_queue_t *queue;
    pthread_t *threads;
    pthread_t generator;
    sem_t due;      /* open loop: released and not yet taken */
    uint64_t first; /* open loop: commands due before it are skipped */
    _Atomic uint64_t taken;
};

/* Waits for the caller's next turn; false if the measurement is over. */
static bool await_turn(callers_t *callers, uint64_t *ret_intended_ns)
{
    peer_t *peer = callers->peer;

    *ret_intended_ns = 0;
    if (peer->options->rate != 0) {
        while (sem_wait(&callers->due) < 0) {
        }
        *ret_intended_ns = peer_due_ns(peer, atomic_fetch_add(&callers->taken, 1));
    }
    return peer_phase(peer) != PEER_STOPPING;
}

static void *work(void *data)
{
    callers_t *callers = data;
    peer_t *peer = callers->peer;
    call_t call = {0};
    peer_shot_t shot;
    uint64_t intended_ns;

    sem_init(&call.done, 0, 0);
    for (uint64_t count = 0; await_turn(callers, &intended_ns); count++) {
        peer_begin(peer, &shot, count, intended_ns);
        if (!peer->options->has_no_command)
            call_queue_call(callers->queue, &call);
        peer_end(peer, &shot);
    }
    sem_destroy(&call.done);
    return NULL;
}

/* Releases the commands of an open loop at their intended moments. */
static void *generate(void *data)
{
    callers_t *callers = data;
    peer_t *peer = callers->peer;
    uint64_t released = callers->first;

    while (peer_phase(peer) != PEER_STOPPING) {
        ticker_wait();
        for (uint64_t now = peer_released(peer); released < now; released++)
            sem_post(&callers->due);
    }
    for (uint64_t i = 0; i < peer->options->callers; i++)
        sem_post(&callers->due);
    return NULL;
}

callers_t *callers_start(peer_t *peer, call_queue_t *queue)
{
    callers_t *callers = peer_allocate(1, sizeof *callers);
    pthread_attr_t attributes;
    bool is_started = true;

    callers->peer = peer;
    callers->queue = queue;
    callers->first = peer->options->rate != 0 ? peer_released(peer) : 0;
    callers->taken = callers->first;
    callers->threads = peer_allocate(peer->options->callers, sizeof *callers->threads);
    sem_init(&callers->due, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (uint64_t i = 0; is_started && i < peer->options->callers; i++)
        is_started =
            pthread_create(&callers->threads[i], &attributes, work, callers) == 0;
    pthread_attr_destroy(&attributes);
    if (is_started && peer->options->rate != 0)
        is_started = pthread_create(&callers->generator, NULL, generate, callers) == 0;
    if (!is_started)
        peer_fail("a thread cannot be started");
    return callers;
}

void callers_join(callers_t *callers)
{
    const peer_options_t *options = callers->peer->options;

    if (options->rate != 0)
        pthread_join(callers->generator, NULL);
    for (uint64_t i = 0; i < options->callers; i++)
        pthread_join(callers->threads[i], NULL);
    sem_destroy(&callers->due);
    free(callers->threads);
    free(callers);
}
