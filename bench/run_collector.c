/* SPDX-License-Identifier: MIT */

/* The smart batching that programs write themselves, on plain hiredis: callers put what
 * they want behind a mutex and wait; one worker takes everything that is queued, sends it
 * as one pipeline, reads the replies, and wakes the callers. */

#include "clock.h"
#include "pacer.h"
#include "run.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct collector_load collector_load_t;

typedef struct collector_caller {
    collector_load_t *load;
    command_t command;
    redisReply *reply; /* valid once `answered` was posted */
    sem_t answered;
    struct collector_caller *next; /* in the queue */
} collector_caller_t;

struct collector_load {
    run_t *run;
    redisContext *connection;
    pthread_mutex_t lock; /* of the three below */
    pthread_cond_t filled;
    collector_caller_t *queue; /* the last one to come is the first */
    bool is_over;              /* nobody will come any more */
    bool is_lost;              /* the connection: callers that come get no reply */
    collector_caller_t *callers;
    size_t callers_count;
    crew_t crew;
    crew_t worker;
    bool is_paced;
    pacer_t pacer;
};

/* Puts the caller's command into the queue and waits for its reply; NULL: none came. */
static redisReply *call(collector_caller_t *caller)
{
    collector_load_t *load = caller->load;

    pthread_mutex_lock(&load->lock);
    bool was_empty = load->queue == NULL;
    bool is_lost = load->is_lost;
    if (!is_lost) {
        caller->next = load->queue;
        load->queue = caller;
        if (was_empty)
            pthread_cond_signal(&load->filled);
    }
    pthread_mutex_unlock(&load->lock);
    if (is_lost)
        return NULL;
    while (sem_wait(&caller->answered) < 0) {
        /* a signal came in between */
    }
    return caller->reply;
}

static void check(run_t *run, const command_t *command, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR)
        run_note_error(run, reply->str, reply->len);
    else if (!command_accepts(command, run->workload, reply->str, reply->len))
        run_note_error(run, "wrong reply", 11);
}

static bool await_turn(collector_load_t *load, uint64_t *ret_intended_ns)
{
    if (load->is_paced)
        return pacer_take(&load->pacer, ret_intended_ns);
    *ret_intended_ns = clock_ns();
    return run_phase(load->run) != RUN_STOPPING;
}

static void *work_caller(void *member)
{
    collector_caller_t *caller = member;
    collector_load_t *load = caller->load;
    run_t *run = load->run;
    uint64_t intended_ns;

    while (await_turn(load, &intended_ns)) {
        uint64_t begin_ns = load->is_paced ? clock_ns() : intended_ns;
        command_next(&caller->command, run->workload);
        redisReply *reply = call(caller);
        uint64_t end_ns = clock_ns();
        if (!reply)
            break;
        check(run, &caller->command, reply);
        freeReplyObject(reply);
        if (run_phase(run) == RUN_MEASURING) {
            histogram_record_shared(run->latency, end_ns - intended_ns);
            if (load->is_paced)
                histogram_record_shared(run->service, end_ns - begin_ns);
        }
        run_count_shared(run, 1);
    }
    return NULL;
}

/* Waits for callers; returns them in the order in which they came, NULL at the end. */
static collector_caller_t *take_queue(collector_load_t *load)
{
    collector_caller_t *ordered = NULL;

    pthread_mutex_lock(&load->lock);
    while (!load->queue && !load->is_over)
        pthread_cond_wait(&load->filled, &load->lock);
    collector_caller_t *caller = load->queue;
    load->queue = NULL;
    pthread_mutex_unlock(&load->lock);
    while (caller) {
        collector_caller_t *next = caller->next;
        caller->next = ordered;
        ordered = caller;
        caller = next;
    }
    return ordered;
}

/* One pipeline: all commands, one write, all replies. */
static void serve(collector_load_t *load, collector_caller_t *first)
{
    redisContext *connection = load->connection;
    collector_caller_t *next;

    for (collector_caller_t *caller = first; caller; caller = caller->next)
        redisAppendCommandArgv(connection, (int)caller->command.argc,
                               caller->command.argv, caller->command.argvlen);
    for (collector_caller_t *caller = first; caller; caller = next) {
        void *reply = NULL;
        next = caller->next; /* once awake the caller comes again */
        if (redisGetReply(connection, &reply) != REDIS_OK) {
            run_fail(load->run, "%s", connection->errstr);
            pthread_mutex_lock(&load->lock);
            load->is_lost = true;
            pthread_mutex_unlock(&load->lock);
            reply = NULL;
        }
        caller->reply = reply;
        sem_post(&caller->answered);
    }
}

static void *work_worker(void *member)
{
    collector_load_t *load = member;
    collector_caller_t *callers;

    while ((callers = take_queue(load)) != NULL)
        serve(load, callers);
    return NULL;
}

static int make_callers(collector_load_t *load, size_t count)
{
    const run_t *run = load->run;

    load->callers = calloc(count, sizeof *load->callers);
    for (; load->callers && load->callers_count < count; load->callers_count++) {
        collector_caller_t *caller = &load->callers[load->callers_count];
        caller->load = load;
        sem_init(&caller->answered, 0, 0);
        if (command_init(&caller->command, run->workload,
                         run->options->seed + load->callers_count) < 0) {
            sem_destroy(&caller->answered);
            return -1;
        }
    }
    return load->callers ? 0 : -1;
}

static int start(run_t *run)
{
    char problem[128];
    collector_load_t *load = calloc(1, sizeof *load);
    run->load = load;
    if (!load) {
        run_fail(run, "out of memory");
        return -1;
    }

    load->run = run;
    pthread_mutex_init(&load->lock, NULL);
    pthread_cond_init(&load->filled, NULL);
    load->connection = target_connect(&run->options->target, problem, sizeof problem);
    if (!load->connection) {
        run_fail(run, "%s", problem);
        return -1;
    }
    if (make_callers(load, run->options->callers) < 0) {
        run_fail(run, "out of memory");
        return -1;
    }
    if (run->options->rate != 0) {
        load->is_paced = true;
        if (pacer_start(&load->pacer, run, NULL, NULL) < 0)
            return -1;
    }
    if (crew_start(&load->worker, 1, work_worker, load, 0) < 0 ||
        crew_start(&load->crew, load->callers_count, work_caller, load->callers,
                   sizeof *load->callers) < 0) {
        run_fail(run, "threads cannot be started");
        return -1;
    }
    return 0;
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const collector_load_t *load = run->load;
    *ret_counters = (load_counters_t){0};
    if (load->is_paced)
        ret_counters->idle_cpu_ns = pacer_idle_cpu_ns(&load->pacer);
}

static void stop(run_t *run)
{
    collector_load_t *load = run->load;
    if (!load)
        return;
    if (load->is_paced)
        pacer_stop(&load->pacer, load->callers_count);
    crew_join(&load->crew);
    pthread_mutex_lock(&load->lock);
    load->is_over = true;
    pthread_cond_signal(&load->filled);
    pthread_mutex_unlock(&load->lock);
    crew_join(&load->worker);
    if (load->is_paced)
        pacer_release_memory(&load->pacer);
    if (load->connection)
        redisFree(load->connection);
    for (size_t i = 0; i < load->callers_count; i++) {
        sem_destroy(&load->callers[i].answered);
        command_release(&load->callers[i].command);
    }
    pthread_cond_destroy(&load->filled);
    pthread_mutex_destroy(&load->lock);
    free(load->callers);
    free(load);
}

const load_kind_t load_collector = {start, count, stop};
