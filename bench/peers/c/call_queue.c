/* SPDX-License-Identifier: MIT */
#include "call_queue.h"

void call_queue_init(call_queue_t *queue, void (*wake)(void *data), void *data)
{
    *queue = (call_queue_t){.wake = wake, .data = data};
    queue->last = &queue->first;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, NULL);
}

void call_queue_call(call_queue_t *queue, call_t *call)
{
    call->next = NULL;
    pthread_mutex_lock(&queue->lock);
    bool was_empty = queue->first == NULL;
    *queue->last = call;
    queue->last = &call->next;
    pthread_mutex_unlock(&queue->lock);

    if (was_empty && queue->wake)
        queue->wake(queue->data);
    else if (was_empty)
        pthread_cond_signal(&queue->filled);
    while (sem_wait(&call->done) < 0) {
    }
}

call_t *call_queue_take(call_queue_t *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->wake && !queue->first && !queue->is_closed)
        pthread_cond_wait(&queue->filled, &queue->lock);
    call_t *first = queue->first;
    queue->first = NULL;
    queue->last = &queue->first;
    pthread_mutex_unlock(&queue->lock);
    return first;
}

void call_queue_close(call_queue_t *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_closed = true;
    pthread_mutex_unlock(&queue->lock);
    if (queue->wake)
        queue->wake(queue->data);
    else
        pthread_cond_signal(&queue->filled);
}

bool call_queue_is_closed(call_queue_t *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool is_closed = queue->is_closed;
    pthread_mutex_unlock(&queue->lock);
    return is_closed;
}
