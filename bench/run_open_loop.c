/* SPDX-License-Identifier: MIT */

/* The open loop on the library: the pacer's threads submit, and results come as
 * callbacks on the client's own thread. */

#include "clock.h"
#include "pacer.h"
#include "shoal_load.h"

#include <stdlib.h>

#define SLOTS 16384u /* outstanding at most; a power of two */
#define DRAIN_US 1000000u

typedef struct paced_load paced_load_t;

/* Command k is in slot k modulo SLOTS. */
typedef struct slot {
    paced_load_t *load;
    uint64_t due_ns;
    uint64_t submitted_ns;
    command_t *command;
    atomic_bool is_busy;
} slot_t;

struct paced_load {
    run_t *run;
    shoal_client_t *client;
    slot_t *slots;
    command_t *commands; /* one for all slots if it is fixed, else one for each */
    size_t commands_count;
    bool is_pacing;
    pacer_t pacer;
};

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    slot_t *slot = data;
    run_t *run = slot->load->run;

    (void)client;
    if (run_phase(run) == RUN_MEASURING) {
        uint64_t now_ns = clock_ns();
        histogram_record(run->latency, now_ns - slot->due_ns);
        histogram_record(run->service, now_ns - slot->submitted_ns);
    }
    shoal_load_check(run, slot->command, result);
    atomic_store_explicit(&slot->is_busy, false, memory_order_release);
    run_count(run, 1);
}

/* The intended moment of a command has come. */
static void release(void *data, uint64_t number)
{
    const struct timespec pause = {.tv_nsec = 50000};
    paced_load_t *load = data;
    run_t *run = load->run;
    slot_t *slot = &load->slots[number % SLOTS];

    while (atomic_load_explicit(&slot->is_busy, memory_order_acquire)) {
        if (run_phase(run) == RUN_STOPPING)
            return;
        nanosleep(&pause, NULL);
    }

    command_t *command = slot->command;
    command_next(command, run->workload);
    slot->due_ns = pacer_due_ns(&load->pacer, number);
    slot->submitted_ns = clock_ns();
    atomic_store_explicit(&slot->is_busy, true, memory_order_relaxed);
    int rc = shoal_client_submit(load->client, command->argc, command->argv,
                                 command->argvlen, on_result, slot);
    if (rc != 0)
        run_fail(run, "%s", shoal_strerror(rc));
}

static int make_slots(paced_load_t *load)
{
    run_t *run = load->run;
    size_t count = run->workload->is_fixed ? 1 : SLOTS;

    load->slots = calloc(SLOTS, sizeof *load->slots);
    load->commands = calloc(count, sizeof *load->commands);
    if (!load->slots || !load->commands)
        return -1;
    for (; load->commands_count < count; load->commands_count++) {
        if (command_init(&load->commands[load->commands_count], run->workload,
                         run->options->seed + load->commands_count) < 0)
            return -1;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        load->slots[i].load = load;
        load->slots[i].command = &load->commands[i % count];
    }
    return 0;
}

static int start(run_t *run)
{
    paced_load_t *load = calloc(1, sizeof *load);
    run->load = load;
    if (load)
        load->run = run;
    if (!load || make_slots(load) < 0) {
        run_fail(run, "out of memory");
        return -1;
    }
    load->client = shoal_load_open(run);
    if (!load->client)
        return -1;
    load->is_pacing = true;
    return pacer_start(&load->pacer, run, release, load);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const paced_load_t *load = run->load;
    shoal_load_count(load->client, ret_counters);
    ret_counters->idle_cpu_ns = pacer_idle_cpu_ns(&load->pacer);
}

static void stop(run_t *run)
{
    paced_load_t *load = run->load;
    if (!load)
        return;
    if (load->is_pacing) {
        pacer_stop(&load->pacer, 0);
        pacer_release_memory(&load->pacer);
    }
    if (load->client)
        shoal_client_close_and_wait(load->client, DRAIN_US);
    for (size_t i = 0; i < load->commands_count; i++)
        command_release(&load->commands[i]);
    free(load->commands);
    free(load->slots);
    free(load);
}

const load_kind_t load_callback_paced = {start, count, stop};
