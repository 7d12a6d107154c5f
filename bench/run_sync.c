/* SPDX-License-Identifier: MIT */

/* The library, from threads in blocking calls: each caller is one. */

#include "clock.h"
#include "crew.h"
#include "pacer.h"
#include "shoal_load.h"

#include <stdlib.h>

typedef struct sync_load sync_load_t;

typedef struct sync_caller {
    sync_load_t *load;
    shoal_client_t *client;
    command_t command;
} sync_caller_t;

struct sync_load {
    run_t *run;
    shoal_clients_t clients;
    sync_caller_t *callers;
    size_t callers_count;
    crew_t crew;
    bool is_paced;
    pacer_t pacer;
};

/* Waits for the caller's next turn; false if the round is over. */
static bool await_turn(sync_load_t *load, uint64_t *ret_intended_ns)
{
    if (load->is_paced)
        return pacer_take(&load->pacer, ret_intended_ns);
    *ret_intended_ns = clock_ns();
    return run_phase(load->run) != RUN_STOPPING;
}

static void *work_sync(void *member)
{
    sync_caller_t *caller = member;
    sync_load_t *load = caller->load;
    run_t *run = load->run;
    command_t *command = &caller->command;
    uint64_t intended_ns;

    while (await_turn(load, &intended_ns)) {
        uint64_t begin_ns = load->is_paced ? clock_ns() : intended_ns;
        shoal_result_t *result = NULL;

        command_next(command, run->workload);
        int rc = shoal_client_call(caller->client, command->argc, command->argv,
                                   command->argvlen, &result);
        uint64_t end_ns = clock_ns();
        if (rc != 0) {
            run_fail(run, "%s", shoal_strerror(rc));
            break;
        }
        shoal_load_check(run, command, result);
        shoal_result_release(result);
        if (run_phase(run) == RUN_MEASURING) {
            histogram_record_shared(run->latency, end_ns - intended_ns);
            if (load->is_paced)
                histogram_record_shared(run->service, end_ns - begin_ns);
        }
        run_count_shared(run, 1);
    }
    return NULL;
}

static int start(run_t *run)
{
    size_t count = run->options->callers;
    sync_load_t *load = calloc(1, sizeof *load);
    run->load = load;
    if (load)
        load->callers = calloc(count, sizeof *load->callers);
    if (!load || !load->callers) {
        run_fail(run, "out of memory");
        return -1;
    }

    load->run = run;
    for (; load->callers_count < count; load->callers_count++) {
        sync_caller_t *caller = &load->callers[load->callers_count];
        caller->load = load;
        if (command_init(&caller->command, run->workload,
                         run->options->seed + load->callers_count) < 0) {
            run_fail(run, "out of memory");
            return -1;
        }
    }
    if (shoal_load_open_all(run, &load->clients) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        load->callers[i].client = load->clients.clients[i % load->clients.count];
    load->is_paced = run->options->rate != 0;
    if (load->is_paced && pacer_start(&load->pacer, run, NULL, NULL) < 0)
        return -1;
    if (crew_start(&load->crew, count, work_sync, load->callers,
                   sizeof *load->callers) < 0) {
        run_fail(run, "threads cannot be started");
        return -1;
    }
    return 0;
}

static void count_counters(const run_t *run, load_counters_t *ret_counters)
{
    const sync_load_t *load = run->load;
    shoal_load_count_all(&load->clients, ret_counters);
    if (load->is_paced)
        ret_counters->idle_cpu_ns = pacer_idle_cpu_ns(&load->pacer);
}

static void stop(run_t *run)
{
    sync_load_t *load = run->load;
    if (!load)
        return;
    if (load->is_paced)
        pacer_stop(&load->pacer, load->callers_count);
    crew_join(&load->crew);
    if (load->is_paced)
        pacer_release_memory(&load->pacer);
    shoal_load_close_all(&load->clients);
    for (size_t i = 0; i < load->callers_count; i++)
        command_release(&load->callers[i].command);
    free(load->callers);
    free(load);
}

const load_kind_t load_sync = {start, count_counters, stop};
