/* SPDX-License-Identifier: MIT */
#include "load/arrivals.h"

#include "load/clock.h"

#include <stdlib.h>

static void record(const arrivals_t *arrivals, const arrival_slot_t *slot)
{
    run_t *run = arrivals->run;
    uint64_t now_ns = clock_ns();

    if (arrivals->is_beside) {
        histogram_record_shared(run->beside, now_ns - slot->due_ns);
    } else if (arrivals->is_shared) {
        histogram_record_shared(run->latency, now_ns - slot->due_ns);
        histogram_record_shared(run->service, now_ns - slot->submitted_ns);
    } else {
        histogram_record(run->latency, now_ns - slot->due_ns);
        histogram_record(run->service, now_ns - slot->submitted_ns);
    }
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    arrival_slot_t *slot = data;
    const arrivals_t *arrivals = slot->arrivals;
    run_t *run = arrivals->run;

    (void)client;
    if (run_phase(run) == RUN_MEASURING)
        record(arrivals, slot);
    shoal_load_check(run, slot->command, result);
    atomic_store_explicit(&slot->is_busy, false, memory_order_release);
    if (arrivals->is_beside)
        run_count_beside(run);
    else if (arrivals->is_shared)
        run_count_shared(run, 1);
    else
        run_count(run, 1);
}

/* The intended moment of a command has come. */
static bool release(void *data, uint64_t number)
{
    arrivals_t *arrivals = data;
    run_t *run = arrivals->run;
    arrival_slot_t *slot = &arrivals->slots[number % arrivals->slots_count];

    if (!slot->client)
        return true;
    if (atomic_load_explicit(&slot->is_busy, memory_order_relaxed) ||
        atomic_exchange_explicit(&slot->is_busy, true, memory_order_acquire))
        return false;

    command_next(slot->command, run->workload);
    slot->due_ns = pacer_due_ns(&arrivals->pacer, number);
    slot->submitted_ns = clock_ns();
    shoal_load_submit(run, slot->client, slot->command, on_result, slot);
    return true;
}

static int make_slots(arrivals_t *arrivals, const shoal_clients_t *clients,
                      size_t slots)
{
    run_t *run = arrivals->run;
    size_t commands = run->workload->is_fixed ? 1 : slots;

    arrivals->slots = calloc(slots, sizeof *arrivals->slots);
    if (!arrivals->slots || commands_init(&arrivals->commands, run->workload,
                                          run->options->seed, commands) < 0)
        return run_fail(run, "out of memory");
    arrivals->slots_count = slots;
    for (size_t i = 0; i < slots; i++) {
        arrivals->slots[i].arrivals = arrivals;
        if (clients)
            arrivals->slots[i].client = clients->clients[i % clients->count];
        arrivals->slots[i].command = &arrivals->commands.list[i % commands];
    }
    return 0;
}

int arrivals_start(arrivals_t *arrivals, run_t *run, const shoal_clients_t *clients,
                   bool is_beside, size_t slots, uint64_t rate)
{
    *arrivals = (arrivals_t){
        .run = run, .is_beside = is_beside, .is_shared = clients && clients->count > 1};
    if (make_slots(arrivals, clients, slots) < 0)
        return -1;
    arrivals->is_pacing = true;
    return pacer_start(&arrivals->pacer, run, rate, release, arrivals);
}

void arrivals_stop(arrivals_t *arrivals)
{
    if (arrivals->is_pacing)
        pacer_stop(&arrivals->pacer, 0);
}

void arrivals_release(arrivals_t *arrivals)
{
    if (arrivals->is_pacing)
        pacer_release_memory(&arrivals->pacer);
    commands_release(&arrivals->commands);
    free(arrivals->slots);
    *arrivals = (arrivals_t){0};
}
