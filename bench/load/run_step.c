/* SPDX-License-Identifier: MIT */

/* Callers that come and go: one is always there, all the others only for a while, ten
 * times.  What counts is how long after they went the one that stays is as fast as it
 * was before they came.  All callers are callbacks on the client's own thread. */

#include "judge/step_slices.h"
#include "load/clock.h"
#include "load/shoal_load.h"

#include <math.h>
#include <stdlib.h>

#define STEPS 10u
#define SAMPLES_MAX 262144u

/* Of the measured time: the base alone, then for each step with and without others. */
#define BASE_PARTS 5u
#define HIGH_PARTS 1u
#define LOW_PARTS 3u
#define PARTS (BASE_PARTS + STEPS * (HIGH_PARTS + LOW_PARTS))

typedef enum step_stage {
    STAGE_WARMING,
    STAGE_BASE,
    STAGE_HIGH,
    STAGE_LOW,
    STAGE_OVER,
} step_stage_t;

typedef struct step_load step_load_t;

typedef struct step_caller {
    step_load_t *load;
    command_t *command;
    uint64_t submitted_ns; /* of the one that stays */
    bool is_away;
} step_caller_t;

/* All of it belongs to the loop thread while that runs. */
struct step_load {
    run_t *run;
    shoal_client_t *client;
    step_caller_t *callers; /* the first one stays */
    size_t callers_count;
    commands_t commands; /* one for each */
    step_stage_t stage;
    uint64_t stage_ns; /* when it began */
    uint64_t part_ns;
    step_sample_t *samples; /* of this stage */
    size_t samples_count;
    double base_ns;
    double settled_ms[STEPS];
    size_t steps;
};

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data);

static void submit(step_caller_t *caller)
{
    step_load_t *load = caller->load;

    command_next(caller->command, load->run->workload);
    caller->is_away = false;
    shoal_load_submit(load->run, load->client, caller->command, on_result, caller);
}

static void call_others(step_load_t *load)
{
    for (size_t i = 1; i < load->callers_count; i++) {
        if (load->callers[i].is_away)
            submit(&load->callers[i]);
    }
}

/* What the stage that ends has shown. */
static void conclude(step_load_t *load)
{
    if (load->stage == STAGE_BASE)
        load->base_ns = step_median_ns(load->samples, load->samples_count);
    if (load->stage == STAGE_LOW && load->steps < STEPS)
        load->settled_ms[load->steps++] =
            step_settled_ms(load->samples, load->samples_count, load->base_ns);
    load->samples_count = 0;
}

static step_stage_t stage_after(const step_load_t *load)
{
    static const step_stage_t next[] = {[STAGE_WARMING] = STAGE_BASE,
                                        [STAGE_BASE] = STAGE_HIGH,
                                        [STAGE_HIGH] = STAGE_LOW,
                                        [STAGE_LOW] = STAGE_HIGH};
    bool is_last = load->stage == STAGE_LOW && load->steps == STEPS;
    return is_last ? STAGE_OVER : next[load->stage];
}

/* Goes on to the next stage when this one's time is over. */
static void advance(step_load_t *load, uint64_t now_ns)
{
    static const uint64_t parts[] = {
        [STAGE_BASE] = BASE_PARTS, [STAGE_HIGH] = HIGH_PARTS, [STAGE_LOW] = LOW_PARTS};

    if (load->stage == STAGE_OVER)
        return;
    bool is_due = load->stage == STAGE_WARMING
                      ? run_phase(load->run) == RUN_MEASURING
                      : now_ns - load->stage_ns >= parts[load->stage] * load->part_ns;
    if (!is_due)
        return;
    conclude(load);
    load->stage = stage_after(load);
    load->stage_ns = now_ns;
    if (load->stage == STAGE_HIGH)
        call_others(load);
}

static void record(step_load_t *load, uint64_t now_ns, uint64_t latency_ns)
{
    if (load->stage != STAGE_BASE && load->stage != STAGE_LOW)
        return;
    histogram_record(load->run->latency, latency_ns);
    if (load->samples_count < SAMPLES_MAX)
        load->samples[load->samples_count++] =
            (step_sample_t){now_ns - load->stage_ns, latency_ns};
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    step_caller_t *caller = data;
    step_load_t *load = caller->load;
    run_t *run = load->run;

    (void)client;
    shoal_load_check(run, caller->command, result);
    run_count(run, 1);
    if (run_phase(run) == RUN_STOPPING)
        return;
    if (caller == load->callers) {
        uint64_t now_ns = clock_ns();
        record(load, now_ns, now_ns - caller->submitted_ns);
        advance(load, now_ns);
        caller->submitted_ns = clock_ns();
    } else if (load->stage != STAGE_HIGH) {
        caller->is_away = true;
        return;
    }
    submit(caller);
}

static int start(run_t *run)
{
    size_t count = run->options->callers;
    step_load_t *load = calloc(1, sizeof *load);
    run->load = load;
    if (load) {
        load->run = run;
        load->part_ns = run->options->duration_us * 1000 / PARTS;
        load->callers = calloc(count, sizeof *load->callers);
        load->samples = calloc(SAMPLES_MAX, sizeof *load->samples);
    }
    if (!load || !load->callers || !load->samples ||
        commands_init(&load->commands, run->workload, run->options->seed, count) < 0)
        return run_fail(run, "out of memory");
    for (; load->callers_count < count; load->callers_count++)
        load->callers[load->callers_count] =
            (step_caller_t){.load = load,
                            .command = &load->commands.list[load->callers_count],
                            .is_away = true};
    load->client = shoal_load_open(run);
    if (!load->client)
        return -1;
    load->callers[0].submitted_ns = clock_ns();
    submit(&load->callers[0]);
    return 0;
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const step_load_t *load = run->load;
    *ret_counters = (load_counters_t){0};
    shoal_load_add(load->client, ret_counters);
}

/* The loop thread is gone: leaves the results in the run. */
static void report(step_load_t *load)
{
    run_t *run = load->run;

    conclude(load);
    run->step_base_us = load->base_ns / 1e3;
    if (load->steps == 0)
        return;
    figures_sort(load->settled_ms, load->steps);
    run->step_settled_ms[0] = load->settled_ms[load->steps / 2];
    run->step_settled_ms[1] = load->settled_ms[load->steps - 1];
}

static void stop(run_t *run)
{
    step_load_t *load = run->load;
    if (!load)
        return;
    if (load->client) {
        shoal_client_close_and_wait(load->client, SHOAL_LOAD_DRAIN_US);
        shoal_client_release(load->client);
        report(load);
    }
    commands_release(&load->commands);
    free(load->samples);
    free(load->callers);
    free(load);
}

const load_kind_t load_step = {start, count, stop};
