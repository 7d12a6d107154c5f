/* SPDX-License-Identifier: MIT */

/* The library, from threads in blocking calls: each caller is one. */

#include "load/callers.h"
#include "load/shoal_load.h"

#include <stdlib.h>

typedef struct sync_load {
    callers_t callers; /* a client is their seat */
    shoal_clients_t clients;
} sync_load_t;

static void *call(caller_t *caller)
{
    const command_t *command = caller->commands.list;
    shoal_result_t *result = NULL;
    int rc = shoal_client_call(caller->seat, command->argc, command->argv,
                               command->argvlen, &result);

    if (rc != 0)
        run_fail(caller->run, "%s", shoal_strerror(rc));
    return result;
}

static void settle(caller_t *caller, void *reply)
{
    shoal_result_t *result = reply;

    shoal_load_check(caller->run, caller->commands.list, result);
    shoal_result_release(result);
}

static const caller_way_t way = {call, settle};

static int start(run_t *run)
{
    sync_load_t *load = calloc(1, sizeof *load);

    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    if (callers_init(&load->callers, run, &way, run->options->callers, 1) < 0 ||
        shoal_load_open_all(run, &load->clients) < 0)
        return -1;
    for (size_t i = 0; i < load->callers.count; i++)
        load->callers.list[i].seat = load->clients.clients[i % load->clients.count];
    return callers_start(&load->callers);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const sync_load_t *load = run->load;

    shoal_load_count_all(&load->clients, ret_counters);
    ret_counters->idle_cpu_ns = callers_idle_cpu_ns(&load->callers);
}

static void stop(run_t *run)
{
    sync_load_t *load = run->load;
    if (!load)
        return;
    callers_join(&load->callers);
    shoal_load_close_all(&load->clients);
    callers_release(&load->callers);
    free(load);
}

const load_kind_t load_sync = {start, count, stop};
