/* SPDX-License-Identifier: MIT */

/* Closed loops on the library whose callers are callbacks: on the client's own thread or
 * on a borrowed one. */

#include "load/clock.h"
#include "load/crew.h"
#include "load/shoal_load.h"

#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#define TIMED_ALL_MAX 64u /* callers up to which every command is timed */
#define TIMED_SHARE 8u    /* else one in so many */

typedef struct callback_load callback_load_t;

/* A client and its share of the callers, which all live on one thread. */
typedef struct lane {
    callback_load_t *load;
    shoal_client_t *client;
    struct caller *callers;
    size_t callers_count;
} lane_t;

/* One caller: sends a command when its former one was answered. */
typedef struct caller {
    lane_t *lane;
    uint64_t submitted_ns; /* 0: this command is not timed */
    uint32_t untimed_left; /* until the next timed one */
    bool is_waiting;       /* for its result */
    command_t *command;
} caller_t;

struct callback_load {
    run_t *run;
    lane_t *lanes;
    size_t lanes_count;
    caller_t *callers;
    commands_t commands; /* one for all callers if it is fixed, else one for each */
    uint32_t untimed;    /* commands between two timed ones */
    crew_t crew;         /* borrowed: the threads that step */
    sem_t opened; /* borrowed: posted for each client, whether it opened or not */
};

static void submit_next(caller_t *caller, uint64_t now_ns);

/* One lane is the only one that counts; several share the counters. */
static void record(caller_t *caller, uint64_t now_ns, run_phase_t phase)
{
    const callback_load_t *load = caller->lane->load;
    if (phase != RUN_MEASURING)
        return;
    if (load->lanes_count == 1)
        histogram_record(load->run->latency, now_ns - caller->submitted_ns);
    else
        histogram_record_shared(load->run->latency, now_ns - caller->submitted_ns);
}

static void count_one(const callback_load_t *load)
{
    if (load->lanes_count == 1)
        run_count(load->run, 1);
    else
        run_count_shared(load->run, 1);
}

/* The caller's next step, as short as it can be: this runs for every command. */
static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    caller_t *caller = data;
    run_t *run = caller->lane->load->run;
    run_phase_t phase = run_phase(run);
    uint64_t now_ns = 0;

    (void)client;
    if (caller->submitted_ns != 0) {
        now_ns = clock_ns();
        record(caller, now_ns, phase);
    }
    shoal_load_check(run, caller->command, result);
    count_one(caller->lane->load);
    if (phase != RUN_STOPPING)
        submit_next(caller, now_ns);
}

/* Times the command now and then; `now_ns` may be 0 for unknown. */
static void start_clock(caller_t *caller, uint64_t now_ns)
{
    if (caller->untimed_left-- > 0) {
        caller->submitted_ns = 0;
        return;
    }
    caller->untimed_left = caller->lane->load->untimed;
    caller->submitted_ns = now_ns != 0 ? now_ns : clock_ns();
}

static void submit_next(caller_t *caller, uint64_t now_ns)
{
    command_next(caller->command, caller->lane->load->run->workload);
    start_clock(caller, now_ns);
    shoal_load_submit(caller->lane->load->run, caller->lane->client, caller->command,
                      on_result, caller);
}

static void submit_all(const lane_t *lane)
{
    for (size_t i = 0; i < lane->callers_count; i++)
        submit_next(&lane->callers[i], 0);
}

/* Deals the callers out to the lanes. */
static void fill_lanes(callback_load_t *load, size_t callers)
{
    size_t first = 0;

    for (size_t i = 0; i < load->lanes_count; i++) {
        lane_t *lane = &load->lanes[i];
        lane->load = load;
        lane->callers = &load->callers[first];
        lane->callers_count =
            callers / load->lanes_count + (i < callers % load->lanes_count);
        for (size_t k = 0; k < lane->callers_count; k++)
            lane->callers[k] = (caller_t){
                .lane = lane,
                .untimed_left = (uint32_t)k % TIMED_SHARE & load->untimed,
                .command = &load->commands.list[(first + k) % load->commands.count],
            };
        first += lane->callers_count;
    }
}

static callback_load_t *make_load(run_t *run)
{
    size_t callers = run->options->callers;
    size_t lanes = run->options->connections;
    callback_load_t *load = calloc(1, sizeof *load);
    run->load = load;
    if (load) {
        load->run = run;
        sem_init(&load->opened, 0, 0);
        load->callers = calloc(callers, sizeof *load->callers);
        load->lanes = calloc(lanes, sizeof *load->lanes);
    }
    if (!load || !load->callers || !load->lanes ||
        commands_init(&load->commands, run->workload, run->options->seed,
                      run->workload->is_fixed ? 1 : callers) < 0) {
        run_fail(run, "out of memory");
        return NULL;
    }

    load->lanes_count = lanes;
    load->untimed = callers > TIMED_ALL_MAX ? TIMED_SHARE - 1 : 0;
    run->sampling = load->untimed + 1;
    fill_lanes(load, callers);
    return load;
}

static void free_load(callback_load_t *load)
{
    commands_release(&load->commands);
    sem_destroy(&load->opened);
    free(load->callers);
    free(load->lanes);
    free(load);
}

static int start_callback(run_t *run)
{
    callback_load_t *load = make_load(run);
    if (!load)
        return -1;
    for (size_t i = 0; i < load->lanes_count; i++) {
        load->lanes[i].client = shoal_load_open(run);
        if (!load->lanes[i].client)
            return -1;
    }
    for (size_t i = 0; i < load->lanes_count; i++)
        submit_all(&load->lanes[i]);
    return 0;
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const callback_load_t *load = run->load;

    *ret_counters = (load_counters_t){0};
    for (size_t i = 0; i < load->lanes_count; i++)
        shoal_load_add(load->lanes[i].client, ret_counters);
}

static void stop_callback(run_t *run)
{
    callback_load_t *load = run->load;
    if (!load)
        return;
    for (size_t i = 0; i < load->lanes_count; i++) {
        if (load->lanes[i].client)
            shoal_client_close_and_wait(load->lanes[i].client, SHOAL_LOAD_DRAIN_US);
        shoal_client_release(load->lanes[i].client);
    }
    free_load(load);
}

const load_kind_t load_callback = {start_callback, count, stop_callback};

static void on_lone_result(shoal_client_t *client, const shoal_result_t *result,
                           void *data)
{
    caller_t *caller = data;

    (void)client;
    shoal_load_check(caller->lane->load->run, caller->command, result);
    caller->is_waiting = false;
}

static bool is_driving(const lane_t *lane)
{
    run_t *run = lane->load->run;
    return run_phase(run) != RUN_STOPPING && !atomic_load(&run->has_failed);
}

static void step(const lane_t *lane)
{
    int rc = shoal_client_step(lane->client, SHOAL_TIMEOUT_NEVER);
    if (rc != 0)
        run_fail(lane->load->run, "%s", shoal_strerror(rc));
}

/* One caller alone: submit, then step until the result came. */
static void drive_one(const lane_t *lane)
{
    run_t *run = lane->load->run;
    caller_t *caller = &lane->callers[0];

    while (is_driving(lane)) {
        command_next(caller->command, run->workload);
        caller->is_waiting = true;
        caller->submitted_ns = clock_ns();
        shoal_load_submit(run, lane->client, caller->command, on_lone_result, caller);
        while (caller->is_waiting && !atomic_load(&run->has_failed))
            step(lane);
        record(caller, clock_ns(), run_phase(run));
        count_one(lane->load);
    }
}

static void drive_many(const lane_t *lane)
{
    submit_all(lane);
    while (is_driving(lane))
        step(lane);
}

static void *work_borrowed(void *member)
{
    lane_t *lane = member;
    run_t *run = lane->load->run;
    const struct timespec pause = {.tv_nsec = 1000000};
    shoal_options_t *options = shoal_load_options(run);

    if (options) {
        int rc = shoal_client_open_borrowed(options, &lane->client, NULL);
        if (rc != 0)
            run_fail(run, "%s", shoal_strerror(rc));
    }
    shoal_options_free(options);
    sem_post(&lane->load->opened);
    if (!lane->client)
        return NULL;

    if (lane->callers_count == 1)
        drive_one(lane);
    else
        drive_many(lane);
    /* The coordinator may still be looking at the client's counters. */
    while (run_phase(run) != RUN_STOPPING)
        nanosleep(&pause, NULL);
    shoal_client_close_and_wait(lane->client, SHOAL_LOAD_DRAIN_US);
    shoal_client_release(lane->client);
    return NULL;
}

static int start_borrowed(run_t *run)
{
    callback_load_t *load = make_load(run);
    if (!load)
        return -1;
    if (crew_start(&load->crew, run, load->lanes_count, work_borrowed, load->lanes,
                   sizeof *load->lanes) < 0)
        return -1;
    for (size_t i = 0; i < load->lanes_count; i++) {
        while (sem_wait(&load->opened) < 0) {
            /* a signal came in between */
        }
    }
    return atomic_load(&run->has_failed) ? -1 : 0;
}

static void stop_borrowed(run_t *run)
{
    callback_load_t *load = run->load;
    if (!load)
        return;
    crew_join(&load->crew);
    free_load(load);
}

const load_kind_t load_borrowed = {start_borrowed, count, stop_borrowed};
