/* SPDX-License-Identifier: MIT */

/* The library, from threads that run no code on the loop thread: each thread has its
 * share of the callers, takes results off a completion queue, and submits the next
 * commands of all callers that were answered at once. */

#include "load/clock.h"
#include "load/crew.h"
#include "load/shoal_load.h"

#include <stdlib.h>

#define TAKE_MAX 256u
#define PATIENCE_US 50000u /* between two looks at the phase */

typedef struct queue_load queue_load_t;

#define RING_FACTOR 4u
#define NO_CALLER UINT32_MAX

/* Commands are numbered, and each belongs to a caller.  Nodes of a cluster answer in an order
 * of their own: a number that is still under way is passed over by the ring. */
typedef struct queue_thread {
    queue_load_t *load;
    shoal_client_t *client;
    shoal_completions_t *completions;
    commands_t commands; /* one of each caller */
    uint64_t *submitted_ns;
    uint32_t *ring; /* the caller of number n, at n modulo ring_size, or NO_CALLER */
    uint32_t *idle; /* callers without a command, a stack */
    size_t ring_size;
    size_t idle_count;
    uint64_t next; /* number */
} queue_thread_t;

struct queue_load {
    run_t *run;
    shoal_clients_t clients;
    queue_thread_t *threads;
    size_t threads_count;
    crew_t crew;
};

static uint32_t *ring_at(const queue_thread_t *thread, uint64_t number)
{
    return &thread->ring[number % thread->ring_size];
}

/* Gives idle callers the next numbers, as far as those are free and there is room in the
 * batch.  Returns how many. */
static size_t fill(queue_thread_t *thread, shoal_command_t batch[TAKE_MAX])
{
    uint64_t now_ns = clock_ns();
    size_t count = 0;

    while (thread->idle_count > 0 && count < TAKE_MAX &&
           *ring_at(thread, thread->next + count) == NO_CALLER) {
        uint32_t caller = thread->idle[--thread->idle_count];
        command_t *command = &thread->commands.list[caller];
        command_next(command, thread->load->run->workload);
        thread->submitted_ns[caller] = now_ns;
        *ring_at(thread, thread->next + count) = caller;
        batch[count++] =
            (shoal_command_t){command->argc, command->argv, command->argvlen};
    }
    return count;
}

/* Commands of all idle callers. */
static bool submit(queue_thread_t *thread)
{
    shoal_command_t batch[TAKE_MAX];

    while (thread->idle_count > 0) {
        size_t count = fill(thread, batch);
        int rc = count == 0
                     ? 0
                     : shoal_completions_submit(thread->completions, thread->client,
                                                batch, count, NULL, thread->next, NULL);
        if (rc != 0) {
            run_fail(thread->load->run, "%s", shoal_strerror(rc));
            return false;
        }
        thread->next += count == 0 ? 1 : count;
    }
    return true;
}

static void settle(queue_thread_t *thread, const shoal_completion_t *batch,
                   size_t count)
{
    run_t *run = thread->load->run;
    bool is_measuring = run_phase(run) == RUN_MEASURING;
    uint64_t now_ns = clock_ns();

    for (size_t i = 0; i < count; i++) {
        uint32_t *place = ring_at(thread, batch[i].tag);
        uint32_t caller = *place;
        *place = NO_CALLER;
        thread->idle[thread->idle_count++] = caller;
        shoal_load_check(run, &thread->commands.list[caller], batch[i].result);
        if (is_measuring)
            histogram_record_shared(run->latency,
                                    now_ns - thread->submitted_ns[caller]);
    }
    run_count_shared(run, count);
}

static void *work(void *member)
{
    queue_thread_t *thread = member;
    run_t *run = thread->load->run;
    shoal_completion_t batch[TAKE_MAX];

    if (!submit(thread))
        return NULL;
    while (thread->idle_count < thread->commands.count &&
           !atomic_load(&run->has_failed)) {
        shoal_completions_wait(thread->completions, PATIENCE_US);
        size_t count;
        while ((count = shoal_completions_take(thread->completions, batch, TAKE_MAX)) >
               0) {
            settle(thread, batch, count);
            if (run_phase(run) != RUN_STOPPING && !submit(thread))
                return NULL;
        }
    }
    return NULL;
}

static int thread_init(queue_thread_t *thread, queue_load_t *load, size_t index)
{
    const run_t *run = load->run;
    size_t callers = run->options->callers;
    size_t threads = run->options->threads;
    size_t share = callers / threads + (index < callers % threads);

    thread->load = load;
    thread->client = load->clients.clients[index % load->clients.count];
    thread->ring_size = RING_FACTOR * share + 1;
    thread->submitted_ns = calloc(share + 1, sizeof *thread->submitted_ns);
    thread->ring = malloc(thread->ring_size * sizeof *thread->ring);
    thread->idle = malloc((share + 1) * sizeof *thread->idle);
    if (!thread->submitted_ns || !thread->ring || !thread->idle ||
        shoal_completions_new(share + 1, &thread->completions) != 0)
        return -1;
    for (size_t i = 0; i < thread->ring_size; i++)
        thread->ring[i] = NO_CALLER;
    for (size_t i = 0; i < share; i++)
        thread->idle[thread->idle_count++] = (uint32_t)i;
    return commands_init(&thread->commands, run->workload,
                         run->options->seed + index * callers, share);
}

static int start(run_t *run)
{
    size_t count = run->options->threads;
    queue_load_t *load = calloc(1, sizeof *load);
    run->load = load;
    if (load) {
        load->run = run;
        load->threads = calloc(count, sizeof *load->threads);
    }
    if (!load || !load->threads)
        return run_fail(run, "out of memory");
    if (shoal_load_open_all(run, &load->clients) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        load->threads_count++;
        if (thread_init(&load->threads[i], load, i) < 0)
            return run_fail(run, "out of memory or of descriptors");
    }
    return crew_start(&load->crew, run, count, work, load->threads,
                      sizeof *load->threads);
}

static void count_counters(const run_t *run, load_counters_t *ret_counters)
{
    const queue_load_t *load = run->load;
    shoal_load_count_all(&load->clients, ret_counters);
}

static void stop(run_t *run)
{
    queue_load_t *load = run->load;
    if (!load)
        return;
    crew_join(&load->crew);
    shoal_load_close_all(&load->clients);
    for (size_t i = 0; i < load->threads_count; i++) {
        queue_thread_t *thread = &load->threads[i];
        commands_release(&thread->commands);
        shoal_completions_free(thread->completions);
        free(thread->submitted_ns);
        free(thread->ring);
        free(thread->idle);
    }
    free(load->threads);
    free(load);
}

const load_kind_t load_queue = {start, count_counters, stop};
