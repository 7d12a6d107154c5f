/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PEER_CALL_QUEUE_H
#define SHOAL_PEER_CALL_QUEUE_H

/*
 * The smart-batching collector that programs write by hand: threads in blocking calls
 * append to a list under a mutex, a worker takes over the whole list and sends it as
 * one pipeline.  Each caller waits for its own call.
 */

#include "peer.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

typedef struct call {
    struct call *next;
    sem_t done;
} call_t;

typedef struct call_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    call_t *first;
    call_t **last;
    bool is_closed;
    void (*wake)(void *data); /* NULL: the worker waits in call_queue_take() */
    void *data;
} call_queue_t;

void call_queue_init(call_queue_t *queue, void (*wake)(void *data), void *data);

/* Puts the call in and waits until its `done` is posted. */
void call_queue_call(call_queue_t *queue, call_t *call);

/* All that is queued; waits for it if the queue has no `wake`.  NULL: nothing, or the
 * queue was closed. */
call_t *call_queue_take(call_queue_t *queue);

/* No caller comes any more. */
void call_queue_close(call_queue_t *queue);
bool call_queue_is_closed(call_queue_t *queue);

/* The threads that call: each sends its next command when it has its reply, or, in an
 * open loop, when one is due. */
typedef struct callers callers_t;

callers_t *callers_start(peer_t *peer, call_queue_t *queue);
void callers_join(callers_t *callers);

#endif
