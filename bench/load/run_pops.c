/* SPDX-License-Identifier: MIT */

/* The library's blocking commands, with callbacks: each caller waits for an element. */

#include "load/waiters.h"

#include <stdlib.h>

typedef struct pops_load {
    shoal_clients_t clients;
    waiters_t waiters;
} pops_load_t;

static int start(run_t *run)
{
    pops_load_t *load = calloc(1, sizeof *load);

    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    load->waiters = (waiters_t){.count = run->options->callers, .is_measured = true};
    if (shoal_load_open_all(run, &load->clients) < 0)
        return -1;
    return waiters_start(&load->waiters, run, &load->clients);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const pops_load_t *load = run->load;

    shoal_load_count_all(&load->clients, ret_counters);
    ret_counters->foreign_cpu_ns = pusher_cpu_ns(&load->waiters.pusher);
}

static void stop(run_t *run)
{
    pops_load_t *load = run->load;
    if (!load)
        return;
    waiters_stop(&load->waiters);
    shoal_load_close_all(&load->clients);
    waiters_release(&load->waiters);
    free(load);
}

const load_kind_t load_pops = {start, count, stop};
