/* SPDX-License-Identifier: MIT */

/* The open loop on the library: commands at a rate, with as many slots as there are
 * callers.
 *
 * Beside it, as many callers as a client has connections for may wait for elements, and a
 * few may write and read large values. */

#include "load/arrivals.h"
#include "load/large.h"
#include "load/waiters.h"

#include <stdlib.h>

typedef struct paced_load {
    shoal_clients_t clients;
    arrivals_t arrivals;
    waiters_t waiters; /* none: count is 0 */
    large_t large;
} paced_load_t;

static int start(run_t *run)
{
    paced_load_t *load = calloc(1, sizeof *load);
    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    if (shoal_load_open_all(run, &load->clients) < 0)
        return -1;
    if (run->strategy->mode == MODE_BESIDE) {
        load->waiters.count = SHOAL_LEASE_CONNECTIONS_MAX * load->clients.count;
        if (waiters_start(&load->waiters, run, &load->clients) < 0)
            return -1;
    }
    if (large_start(&load->large, run, &load->clients) < 0)
        return -1;
    return arrivals_start(&load->arrivals, run, &load->clients, false,
                          run->options->callers, run->options->rate);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const paced_load_t *load = run->load;
    shoal_load_count_all(&load->clients, ret_counters);
    ret_counters->foreign_cpu_ns =
        pacer_idle_cpu_ns(&load->arrivals.pacer) + pusher_cpu_ns(&load->waiters.pusher);
}

static void stop(run_t *run)
{
    paced_load_t *load = run->load;
    if (!load)
        return;
    arrivals_stop(&load->arrivals);
    waiters_stop(&load->waiters);
    large_stop(&load->large);
    shoal_load_close_all(&load->clients);
    arrivals_release(&load->arrivals);
    waiters_release(&load->waiters);
    large_release(&load->large);
    free(load);
}

const load_kind_t load_callback_paced = {start, count, stop};
