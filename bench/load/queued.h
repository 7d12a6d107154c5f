/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_QUEUED_H
#define SHOAL_BENCH_LOAD_QUEUED_H

/*
 * The smart batching that programs write themselves: callers are threads, which append
 * their calls to a list under a mutex and sleep.  One worker thread takes the whole list,
 * sends it, and wakes each caller when its reply is there.  How it sends is the load's.
 */

#include "load/callers.h"

#include <pthread.h>
#include <semaphore.h>

typedef struct queued queued_t;

typedef struct queued_call {
    queued_t *queued;
    const command_t *command;
    redisReply *reply; /* valid once `answered` was posted; NULL: none came */
    sem_t answered;
    struct queued_call *next; /* in the list */
} queued_call_t;

struct queued {
    run_t *run;
    pthread_mutex_t lock; /* of the five below */
    pthread_cond_t filled;
    queued_call_t *first;
    queued_call_t **last;
    bool is_over;             /* no caller comes any more */
    bool is_lost;             /* the connection: callers that come get no reply */
    void (*wake)(void *data); /* NULL: the worker sleeps in queued_take() */
    void *data;               /* the load's, and the worker's */
    callers_t callers;
    queued_call_t *calls; /* one for each caller */
    size_t calls_count;
    crew_t worker;
};

/* Before everything else; queued_stop() is needed after it. */
void queued_init(queued_t *queued, run_t *run, void (*wake)(void *data), void *data);

/* Starts the worker, which runs work(data), and the callers.  Returns -1 after
 * run_fail(). */
int queued_start(queued_t *queued, void *(*work)(void *data));

/* All calls of the list, in the order in which they came.  Without `wake` it waits until
 * there is one; NULL then means that no caller comes any more. */
queued_call_t *queued_take(queued_t *queued);

/* Wakes the caller, which frees the reply.  Read call->next before. */
void queued_answer(queued_call_t *call, redisReply *reply);

/* The connection is lost: calls that are not in the list yet get no reply. */
void queued_lose(queued_t *queued);

/* True once no caller comes any more. */
bool queued_is_over(queued_t *queued);

/* The phase is RUN_STOPPING: ends the callers, then the worker. */
void queued_stop(queued_t *queued);

#endif
