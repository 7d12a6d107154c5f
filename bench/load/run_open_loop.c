/* SPDX-License-Identifier: MIT */

/* The open loop on the library: the pacer's threads submit, and results come as
 * callbacks on the clients' own threads.  Arrivals are dealt to the callers in turn; one
 * whose caller still waits for a reply waits, too, and its latency counts from its
 * intended moment.
 *
 * Beside it, as many callers as a client has connections for may wait for elements, and a
 * few may write and read large values. */

#include "load/clock.h"
#include "load/large.h"
#include "load/pacer.h"
#include "load/shoal_load.h"
#include "load/waiters.h"

#include <stdlib.h>

typedef struct paced_load paced_load_t;

/* A caller: takes every slots_count-th command. */
typedef struct slot {
    paced_load_t *load;
    shoal_client_t *client;
    uint64_t due_ns;
    uint64_t submitted_ns;
    command_t *command;
    atomic_bool is_busy;
} slot_t;

struct paced_load {
    run_t *run;
    shoal_clients_t clients;
    slot_t *slots;
    size_t slots_count;
    commands_t commands; /* one for all slots if it is fixed, else one for each */
    bool is_pacing;
    pacer_t pacer;
    waiters_t waiters; /* none: count is 0 */
    large_t large;
};

static void record(const paced_load_t *load, const slot_t *slot)
{
    run_t *run = load->run;
    uint64_t now_ns = clock_ns();

    if (load->clients.count == 1) {
        histogram_record(run->latency, now_ns - slot->due_ns);
        histogram_record(run->service, now_ns - slot->submitted_ns);
    } else {
        histogram_record_shared(run->latency, now_ns - slot->due_ns);
        histogram_record_shared(run->service, now_ns - slot->submitted_ns);
    }
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    slot_t *slot = data;
    const paced_load_t *load = slot->load;
    run_t *run = load->run;

    (void)client;
    if (run_phase(run) == RUN_MEASURING)
        record(load, slot);
    shoal_load_check(run, slot->command, result);
    atomic_store_explicit(&slot->is_busy, false, memory_order_release);
    if (load->clients.count == 1)
        run_count(run, 1);
    else
        run_count_shared(run, 1);
}

/* The intended moment of a command has come. */
static bool release(void *data, uint64_t number)
{
    paced_load_t *load = data;
    run_t *run = load->run;
    slot_t *slot = &load->slots[number % load->slots_count];

    if (atomic_load_explicit(&slot->is_busy, memory_order_relaxed) ||
        atomic_exchange_explicit(&slot->is_busy, true, memory_order_acquire))
        return false;

    command_next(slot->command, run->workload);
    slot->due_ns = pacer_due_ns(&load->pacer, number);
    slot->submitted_ns = clock_ns();
    shoal_load_submit(run, slot->client, slot->command, on_result, slot);
    return true;
}

static int make_slots(paced_load_t *load)
{
    run_t *run = load->run;
    size_t slots = run->options->callers;
    size_t commands = run->workload->is_fixed ? 1 : slots;

    load->slots = calloc(slots, sizeof *load->slots);
    if (!load->slots ||
        commands_init(&load->commands, run->workload, run->options->seed, commands) < 0)
        return -1;
    load->slots_count = slots;
    for (size_t i = 0; i < slots; i++) {
        load->slots[i].load = load;
        load->slots[i].command = &load->commands.list[i % commands];
    }
    return 0;
}

static int start(run_t *run)
{
    paced_load_t *load = calloc(1, sizeof *load);
    run->load = load;
    if (load)
        load->run = run;
    if (!load || make_slots(load) < 0)
        return run_fail(run, "out of memory");
    if (shoal_load_open_all(run, &load->clients) < 0)
        return -1;
    for (size_t i = 0; i < load->slots_count; i++)
        load->slots[i].client = load->clients.clients[i % load->clients.count];
    if (run->strategy->mode == MODE_BESIDE) {
        load->waiters.count = SHOAL_LEASE_CONNECTIONS_MAX * load->clients.count;
        if (waiters_start(&load->waiters, run, &load->clients) < 0)
            return -1;
    }
    if (large_start(&load->large, run, &load->clients) < 0)
        return -1;
    load->is_pacing = true;
    return pacer_start(&load->pacer, run, release, load);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const paced_load_t *load = run->load;
    shoal_load_count_all(&load->clients, ret_counters);
    ret_counters->foreign_cpu_ns =
        pacer_idle_cpu_ns(&load->pacer) + pusher_cpu_ns(&load->waiters.pusher);
}

static void stop(run_t *run)
{
    paced_load_t *load = run->load;
    if (!load)
        return;
    if (load->is_pacing)
        pacer_stop(&load->pacer, 0);
    waiters_stop(&load->waiters);
    large_stop(&load->large);
    shoal_load_close_all(&load->clients);
    if (load->is_pacing)
        pacer_release_memory(&load->pacer);
    waiters_release(&load->waiters);
    large_release(&load->large);
    commands_release(&load->commands);
    free(load->slots);
    free(load);
}

const load_kind_t load_callback_paced = {start, count, stop};
