/* SPDX-License-Identifier: MIT */

/* The library, from threads that run no code on the loop thread: each thread has its
 * share of the callers, takes results off a completion queue, and submits the next
 * commands of all callers that were answered at once. */

#include "load/clock.h"
#include "load/crew.h"
#include "load/shoal_load.h"

#include <assert.h>
#include <stdlib.h>

#define TAKE_MAX 256u
#define PATIENCE_US 50000u /* between two looks at the phase */

typedef struct queue_load queue_load_t;

/* Commands are numbered; number n is in slot n modulo commands.count: there is a slot for
 * each caller. */
typedef struct queue_thread {
    queue_load_t *load;
    shoal_client_t *client;
    shoal_completions_t *completions;
    commands_t commands; /* one per slot */
    uint64_t *submitted_ns;
    uint64_t next;
    uint64_t outstanding;
} queue_thread_t;

struct queue_load {
    run_t *run;
    shoal_clients_t clients;
    queue_thread_t *threads;
    size_t threads_count;
    crew_t crew;
};

static bool submit(queue_thread_t *thread, size_t count)
{
    shoal_command_t batch[TAKE_MAX];
    run_t *run = thread->load->run;
    uint64_t now_ns = clock_ns();

    for (size_t i = 0; i < count; i++) {
        size_t slot = (thread->next + i) % thread->commands.count;
        command_t *command = &thread->commands.list[slot];
        command_next(command, run->workload);
        thread->submitted_ns[slot] = now_ns;
        batch[i] = (shoal_command_t){command->argc, command->argv, command->argvlen};
    }
    int rc = shoal_completions_submit(thread->completions, thread->client, batch, count,
                                      NULL, thread->next, NULL);
    if (rc != 0) {
        run_fail(run, "%s", shoal_strerror(rc));
        return false;
    }
    thread->next += count;
    thread->outstanding += count;
    return true;
}

static void settle(queue_thread_t *thread, const shoal_completion_t *batch,
                   size_t count)
{
    run_t *run = thread->load->run;
    bool is_measuring = run_phase(run) == RUN_MEASURING;
    uint64_t now_ns = clock_ns();

    assert(thread->commands.count > 0); /* else nothing was submitted */
    for (size_t i = 0; i < count; i++) {
        size_t slot = batch[i].tag % thread->commands.count;
        shoal_load_check(run, &thread->commands.list[slot], batch[i].result);
        if (is_measuring)
            histogram_record_shared(run->latency, now_ns - thread->submitted_ns[slot]);
    }
    thread->outstanding -= count;
    run_count_shared(run, count);
}

static void *work(void *member)
{
    queue_thread_t *thread = member;
    run_t *run = thread->load->run;
    shoal_completion_t batch[TAKE_MAX];

    for (size_t left = thread->commands.count; left > 0;) {
        size_t count = left < TAKE_MAX ? left : TAKE_MAX;
        if (!submit(thread, count))
            return NULL;
        left -= count;
    }
    while (thread->outstanding > 0 && !atomic_load(&run->has_failed)) {
        shoal_completions_wait(thread->completions, PATIENCE_US);
        size_t count;
        while ((count = shoal_completions_take(thread->completions, batch, TAKE_MAX)) >
               0) {
            settle(thread, batch, count);
            if (run_phase(run) != RUN_STOPPING && !submit(thread, count))
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
    thread->submitted_ns = calloc(share + 1, sizeof *thread->submitted_ns);
    if (!thread->submitted_ns ||
        shoal_completions_new(share + 1, &thread->completions) != 0)
        return -1;
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
    }
    free(load->threads);
    free(load);
}

const load_kind_t load_queue = {start, count_counters, stop};
