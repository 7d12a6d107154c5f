/* SPDX-License-Identifier: MIT */
#include "load/queued.h"

#include <stdlib.h>

void queued_init(queued_t *queued, run_t *run, void (*wake)(void *data), void *data)
{
    *queued = (queued_t){.run = run, .wake = wake, .data = data};
    queued->last = &queued->first;
    pthread_mutex_init(&queued->lock, NULL);
    pthread_cond_init(&queued->filled, NULL);
}

static void wake_worker(queued_t *queued)
{
    if (queued->wake)
        queued->wake(queued->data);
    else
        pthread_cond_signal(&queued->filled);
}

/* Puts the caller's command into the list and waits for its reply; NULL: none came. */
static void *call(caller_t *caller)
{
    queued_call_t *call = caller->seat;
    queued_t *queued = call->queued;

    call->next = NULL;
    pthread_mutex_lock(&queued->lock);
    bool was_empty = queued->first == NULL;
    bool is_lost = queued->is_lost;
    if (!is_lost) {
        *queued->last = call;
        queued->last = &call->next;
    }
    pthread_mutex_unlock(&queued->lock);
    if (is_lost)
        return NULL;
    if (was_empty)
        wake_worker(queued);
    while (sem_wait(&call->answered) < 0) {
        /* a signal came in between */
    }
    return call->reply;
}

static void settle(caller_t *caller, void *reply)
{
    run_check_reply(caller->run, caller->commands.list, reply);
    freeReplyObject(reply);
}

static int make_calls(queued_t *queued)
{
    queued->calls = calloc(queued->callers.count, sizeof *queued->calls);
    if (!queued->calls)
        return run_fail(queued->run, "out of memory");
    for (; queued->calls_count < queued->callers.count; queued->calls_count++) {
        caller_t *caller = &queued->callers.list[queued->calls_count];
        queued_call_t *one = &queued->calls[queued->calls_count];
        *one = (queued_call_t){.queued = queued, .command = caller->commands.list};
        sem_init(&one->answered, 0, 0);
        caller->seat = one;
    }
    return 0;
}

int queued_start(queued_t *queued, void *(*work)(void *data))
{
    static const caller_way_t way = {call, settle};
    run_t *run = queued->run;

    if (callers_init(&queued->callers, run, &way, run->options->callers, 1) < 0 ||
        make_calls(queued) < 0 ||
        crew_start(&queued->worker, run, 1, work, queued->data, 0) < 0)
        return -1;
    return callers_start(&queued->callers);
}

queued_call_t *queued_take(queued_t *queued)
{
    pthread_mutex_lock(&queued->lock);
    while (!queued->wake && !queued->first && !queued->is_over)
        pthread_cond_wait(&queued->filled, &queued->lock);
    queued_call_t *first = queued->first;
    queued->first = NULL;
    queued->last = &queued->first;
    pthread_mutex_unlock(&queued->lock);
    return first;
}

void queued_answer(queued_call_t *call, redisReply *reply)
{
    call->reply = reply;
    sem_post(&call->answered);
}

void queued_lose(queued_t *queued)
{
    pthread_mutex_lock(&queued->lock);
    queued->is_lost = true;
    pthread_mutex_unlock(&queued->lock);
}

bool queued_is_over(queued_t *queued)
{
    pthread_mutex_lock(&queued->lock);
    bool is_over = queued->is_over;
    pthread_mutex_unlock(&queued->lock);
    return is_over;
}

void queued_stop(queued_t *queued)
{
    callers_join(&queued->callers);
    pthread_mutex_lock(&queued->lock);
    queued->is_over = true;
    pthread_mutex_unlock(&queued->lock);
    if (queued->worker.count > 0)
        wake_worker(queued);
    crew_join(&queued->worker);
    for (size_t i = 0; i < queued->calls_count; i++)
        sem_destroy(&queued->calls[i].answered);
    pthread_cond_destroy(&queued->filled);
    pthread_mutex_destroy(&queued->lock);
    callers_release(&queued->callers);
    free(queued->calls);
}
