/* SPDX-License-Identifier: MIT */

/* The library, from threads in blocking calls: each caller is one.  Its seat is its client,
 * or a lease of its own. */

#include "load/callers.h"
#include "load/shoal_load.h"

#include <stdlib.h>

typedef struct sync_load {
    callers_t callers;
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

static void *call_lease(caller_t *caller)
{
    const command_t *command = caller->commands.list;
    const shoal_command_t words = {command->argc, command->argv, command->argvlen};
    shoal_result_t *result = NULL;
    int rc = shoal_lease_call(caller->seat, &words, NULL, &result);

    if (rc != 0)
        run_fail(caller->run, "%s", shoal_strerror(rc));
    return result;
}

static void settle(caller_t *caller, void *reply)
{
    shoal_result_t *result = reply;

    if (caller->callers->is_popping)
        caller->since_ns = shoal_load_pushed_ns(result);
    shoal_load_check(caller->run, caller->commands.list, result);
    shoal_result_release(result);
}

const caller_way_t sync_way = {call, settle};
static const caller_way_t lease_way = {call_lease, settle};

static bool has_leases(const run_t *run)
{
    return run->strategy->mode == MODE_LEASE;
}

/* Gives a caller its seat.  Returns -1 after run_fail(). */
static int seat(run_t *run, caller_t *caller, shoal_client_t *client)
{
    shoal_lease_t *lease;

    caller->seat = client;
    if (!has_leases(run))
        return 0;
    int rc = shoal_lease_open(client, &lease);
    caller->seat = lease;
    return rc == 0 ? 0 : run_fail(run, "%s", shoal_strerror(rc));
}

static int start(run_t *run)
{
    sync_load_t *load = calloc(1, sizeof *load);

    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    if (callers_init(&load->callers, run, has_leases(run) ? &lease_way : &sync_way,
                     run->options->callers, 1) < 0 ||
        shoal_load_open_all(run, &load->clients) < 0)
        return -1;
    for (size_t i = 0; i < load->callers.count; i++) {
        if (seat(run, &load->callers.list[i],
                 load->clients.clients[i % load->clients.count]) < 0)
            return -1;
    }
    if (large_start(&load->callers.large, run, &load->clients) < 0)
        return -1;
    return callers_start(&load->callers);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const sync_load_t *load = run->load;

    shoal_load_count_all(&load->clients, ret_counters);
    ret_counters->foreign_cpu_ns = callers_foreign_cpu_ns(&load->callers);
}

static void stop(run_t *run)
{
    sync_load_t *load = run->load;
    if (!load)
        return;
    callers_join(&load->callers);
    for (size_t i = 0; has_leases(run) && i < load->callers.count; i++)
        shoal_lease_close(load->callers.list[i].seat);
    shoal_load_close_all(&load->clients);
    callers_release(&load->callers);
    free(load);
}

const load_kind_t load_sync = {start, count, stop};
