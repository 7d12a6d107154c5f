/* SPDX-License-Identifier: MIT */

/* The smart batching that programs write themselves, on plain hiredis: callers put what
 * they want behind a mutex and wait; one worker takes everything that is queued, sends it
 * as one pipeline, reads the replies, and wakes the callers. */

#include "load/callers.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct collector_load collector_load_t;

typedef struct seat {
    collector_load_t *load;
    const command_t *command;
    redisReply *reply; /* valid once `answered` was posted */
    sem_t answered;
    struct seat *next; /* in the queue */
} seat_t;

struct collector_load {
    run_t *run;
    redisContext *connection;
    pthread_mutex_t lock; /* of the four below */
    pthread_cond_t filled;
    seat_t *queue; /* the last one to come is the first */
    bool is_over;  /* no caller comes any more */
    bool is_lost;  /* the connection: callers that come get no reply */
    callers_t callers;
    seat_t *seats; /* one for each caller */
    size_t seats_count;
    crew_t worker;
};

/* Puts the caller's command into the queue and waits for its reply; NULL: none came. */
static void *call(caller_t *caller)
{
    seat_t *seat = caller->seat;
    collector_load_t *load = seat->load;

    pthread_mutex_lock(&load->lock);
    bool was_empty = load->queue == NULL;
    bool is_lost = load->is_lost;
    if (!is_lost) {
        seat->next = load->queue;
        load->queue = seat;
        if (was_empty)
            pthread_cond_signal(&load->filled);
    }
    pthread_mutex_unlock(&load->lock);
    if (is_lost)
        return NULL;
    while (sem_wait(&seat->answered) < 0) {
        /* a signal came in between */
    }
    return seat->reply;
}

static void settle(caller_t *caller, void *reply)
{
    run_check_reply(caller->run, caller->commands.list, reply);
    freeReplyObject(reply);
}

/* Waits for callers; returns them in the order in which they came, NULL at the end. */
static seat_t *take_queue(collector_load_t *load)
{
    seat_t *ordered = NULL;

    pthread_mutex_lock(&load->lock);
    while (!load->queue && !load->is_over)
        pthread_cond_wait(&load->filled, &load->lock);
    seat_t *seat = load->queue;
    load->queue = NULL;
    pthread_mutex_unlock(&load->lock);
    while (seat) {
        seat_t *next = seat->next;
        seat->next = ordered;
        ordered = seat;
        seat = next;
    }
    return ordered;
}

/* One pipeline: all commands, one write, all replies. */
static void serve(collector_load_t *load, seat_t *first)
{
    redisContext *connection = load->connection;
    seat_t *next;

    for (seat_t *seat = first; seat; seat = seat->next)
        redisAppendCommandArgv(connection, (int)seat->command->argc,
                               seat->command->argv, seat->command->argvlen);
    for (seat_t *seat = first; seat; seat = next) {
        void *reply = NULL;
        next = seat->next; /* once awake the caller comes again */
        if (redisGetReply(connection, &reply) != REDIS_OK) {
            run_fail(load->run, "%s", connection->errstr);
            pthread_mutex_lock(&load->lock);
            load->is_lost = true;
            pthread_mutex_unlock(&load->lock);
            reply = NULL;
        }
        seat->reply = reply;
        sem_post(&seat->answered);
    }
}

static void *work(void *member)
{
    collector_load_t *load = member;
    seat_t *seats;

    while ((seats = take_queue(load)) != NULL)
        serve(load, seats);
    return NULL;
}

static int make_seats(collector_load_t *load)
{
    load->seats = calloc(load->callers.count, sizeof *load->seats);
    if (!load->seats)
        return run_fail(load->run, "out of memory");
    for (; load->seats_count < load->callers.count; load->seats_count++) {
        caller_t *caller = &load->callers.list[load->seats_count];
        seat_t *seat = &load->seats[load->seats_count];
        *seat = (seat_t){.load = load, .command = caller->commands.list};
        sem_init(&seat->answered, 0, 0);
        caller->seat = seat;
    }
    return 0;
}

static int start(run_t *run)
{
    static const caller_way_t way = {call, settle};
    char problem[128];
    collector_load_t *load = calloc(1, sizeof *load);

    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    load->run = run;
    pthread_mutex_init(&load->lock, NULL);
    pthread_cond_init(&load->filled, NULL);
    load->connection = target_connect(&run->options->target, problem, sizeof problem);
    if (!load->connection)
        return run_fail(run, "%s", problem);
    if (callers_init(&load->callers, run, &way, run->options->callers, 1) < 0 ||
        make_seats(load) < 0 || crew_start(&load->worker, run, 1, work, load, 0) < 0)
        return -1;
    return callers_start(&load->callers);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const collector_load_t *load = run->load;
    *ret_counters =
        (load_counters_t){.foreign_cpu_ns = callers_foreign_cpu_ns(&load->callers)};
}

static void stop(run_t *run)
{
    collector_load_t *load = run->load;
    if (!load)
        return;
    callers_join(&load->callers);
    pthread_mutex_lock(&load->lock);
    load->is_over = true;
    pthread_cond_signal(&load->filled);
    pthread_mutex_unlock(&load->lock);
    crew_join(&load->worker);
    if (load->connection)
        redisFree(load->connection);
    for (size_t i = 0; i < load->seats_count; i++)
        sem_destroy(&load->seats[i].answered);
    pthread_cond_destroy(&load->filled);
    pthread_mutex_destroy(&load->lock);
    callers_release(&load->callers);
    free(load->seats);
    free(load);
}

const load_kind_t load_collector = {start, count, stop};
