/* SPDX-License-Identifier: MIT */

/* Two kinds of users of the same clients: threads in blocking calls, and callbacks at a
 * rate beside them.  Each kind can be measured alone.  When the threads are alone, the
 * pacer of the callbacks runs as well and submits nothing, because it shares the CPU of
 * the threads where there are few. */

#include "load/arrivals.h"
#include "load/callers.h"

#include <stdlib.h>

#define BESIDE_SLOTS 1024u /* the most callbacks that can be under way */

typedef struct mixed_load {
    callers_t callers; /* none: count is 0 */
    shoal_clients_t clients;
    arrivals_t arrivals;
} mixed_load_t;

static int start_callers(mixed_load_t *load, run_t *run)
{
    if (callers_init(&load->callers, run, &sync_way, run->options->callers, 1) < 0)
        return -1;
    for (size_t i = 0; i < load->callers.count; i++)
        load->callers.list[i].seat = load->clients.clients[i % load->clients.count];
    return callers_start(&load->callers);
}

static int start(run_t *run)
{
    mixed_load_t *load = calloc(1, sizeof *load);
    bench_mode_t mode = run->strategy->mode;

    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    if (shoal_load_open_all(run, &load->clients) < 0 ||
        arrivals_start(&load->arrivals, run, mode == MODE_SYNC ? NULL : &load->clients,
                       true, BESIDE_SLOTS, run->options->beside_rate) < 0)
        return -1;
    return mode == MODE_CALLBACK ? 0 : start_callers(load, run);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const mixed_load_t *load = run->load;
    shoal_load_count_all(&load->clients, ret_counters);
    ret_counters->foreign_cpu_ns = pacer_idle_cpu_ns(&load->arrivals.pacer);
}

static void stop(run_t *run)
{
    mixed_load_t *load = run->load;
    if (!load)
        return;
    arrivals_stop(&load->arrivals);
    callers_join(&load->callers);
    shoal_load_close_all(&load->clients);
    arrivals_release(&load->arrivals);
    callers_release(&load->callers);
    free(load);
}

const load_kind_t load_mixed = {start, count, stop};
