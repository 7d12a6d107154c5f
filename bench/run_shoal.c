/* SPDX-License-Identifier: MIT */

/* Closed loops on the library: callers that are callbacks, on the client's own thread
 * or on a borrowed one, and callers that are threads in blocking calls. */

#include "clock.h"
#include "crew.h"
#include "pacer.h"
#include "shoal_load.h"

#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#define TIMED_ALL_MAX 64u /* callers up to which every command is timed */
#define TIMED_SHARE 8u    /* else one in so many */
#define DRAIN_US 1000000u

typedef struct callback_load callback_load_t;

/* One caller: sends a command when its former one was answered. */
typedef struct caller {
    callback_load_t *load;
    uint64_t submitted_ns; /* 0: this command is not timed */
    uint32_t untimed_left; /* until the next timed one */
    bool is_waiting;       /* for its result */
    command_t *command;
} caller_t;

struct callback_load {
    run_t *run;
    shoal_client_t *client;
    caller_t *callers;
    size_t callers_count;
    command_t *commands; /* one for all callers if it is fixed, else one for each */
    size_t commands_count;
    uint32_t untimed; /* commands between two timed ones */
    crew_t crew;      /* borrowed: the thread that steps */
    sem_t opened;     /* borrowed: there is a client, or there will be none */
};

static void submit_next(caller_t *caller, uint64_t now_ns);

static void record(caller_t *caller, uint64_t now_ns, run_phase_t phase)
{
    if (phase == RUN_MEASURING)
        histogram_record(caller->load->run->latency, now_ns - caller->submitted_ns);
}

/* The caller's next step, as short as it can be: this runs for every command. */
static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    caller_t *caller = data;
    run_t *run = caller->load->run;
    run_phase_t phase = run_phase(run);
    uint64_t now_ns = 0;

    (void)client;
    if (caller->submitted_ns != 0) {
        now_ns = clock_ns();
        record(caller, now_ns, phase);
    }
    shoal_load_check(run, caller->command, result);
    run_count(run, 1);
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
    caller->untimed_left = caller->load->untimed;
    caller->submitted_ns = now_ns != 0 ? now_ns : clock_ns();
}

static void submit(caller_t *caller, shoal_result_cb callback)
{
    callback_load_t *load = caller->load;
    const command_t *command = caller->command;

    int rc = shoal_client_submit(load->client, command->argc, command->argv,
                                 command->argvlen, callback, caller);
    if (rc != 0 && rc != SHOAL_ECLOSED)
        run_fail(load->run, "%s", shoal_strerror(rc));
}

static void submit_next(caller_t *caller, uint64_t now_ns)
{
    command_next(caller->command, caller->load->run->workload);
    start_clock(caller, now_ns);
    submit(caller, on_result);
}

static int make_commands(callback_load_t *load, size_t count)
{
    const run_t *run = load->run;

    load->commands = calloc(count, sizeof *load->commands);
    for (; load->commands && load->commands_count < count; load->commands_count++) {
        if (command_init(&load->commands[load->commands_count], run->workload,
                         run->options->seed + load->commands_count) < 0)
            return -1;
    }
    return load->commands ? 0 : -1;
}

static callback_load_t *make_load(run_t *run)
{
    size_t count = run->options->callers;
    size_t commands = run->workload->is_fixed ? 1 : count;
    callback_load_t *load = calloc(1, sizeof *load);
    run->load = load;
    if (load) {
        load->run = run;
        sem_init(&load->opened, 0, 0);
        load->callers = calloc(count, sizeof *load->callers);
    }
    if (!load || !load->callers || make_commands(load, commands) < 0) {
        run_fail(run, "out of memory");
        return NULL;
    }

    load->callers_count = count;
    load->untimed = count > TIMED_ALL_MAX ? TIMED_SHARE - 1 : 0;
    run->sampling = load->untimed + 1;
    for (size_t i = 0; i < count; i++) {
        load->callers[i] = (caller_t){
            .load = load,
            .untimed_left = (uint32_t)i % TIMED_SHARE & load->untimed,
            .command = &load->commands[i % commands],
        };
    }
    return load;
}

static void free_load(callback_load_t *load)
{
    for (size_t i = 0; i < load->commands_count; i++)
        command_release(&load->commands[i]);
    sem_destroy(&load->opened);
    free(load->commands);
    free(load->callers);
    free(load);
}

static int start_callback(run_t *run)
{
    callback_load_t *load = make_load(run);
    if (!load)
        return -1;
    load->client = shoal_load_open(run);
    if (!load->client)
        return -1;
    for (size_t i = 0; i < load->callers_count; i++)
        submit_next(&load->callers[i], 0);
    return 0;
}

static void count_callback(const run_t *run, load_counters_t *ret_counters)
{
    const callback_load_t *load = run->load;
    shoal_load_count(load->client, ret_counters);
}

static void stop_callback(run_t *run)
{
    callback_load_t *load = run->load;
    if (!load)
        return;
    if (load->client)
        shoal_client_close_and_wait(load->client, DRAIN_US);
    free_load(load);
}

const load_kind_t load_callback = {start_callback, count_callback, stop_callback};

static void on_lone_result(shoal_client_t *client, const shoal_result_t *result,
                           void *data)
{
    caller_t *caller = data;

    (void)client;
    shoal_load_check(caller->load->run, caller->command, result);
    caller->is_waiting = false;
}

static void step(callback_load_t *load)
{
    int rc = shoal_client_step(load->client, SHOAL_TIMEOUT_NEVER);
    if (rc != 0)
        run_fail(load->run, "%s", shoal_strerror(rc));
}

/* One caller alone: submit, then step until the result came. */
static void drive_one(callback_load_t *load)
{
    run_t *run = load->run;
    caller_t *caller = &load->callers[0];

    while (run_phase(run) != RUN_STOPPING && !atomic_load(&run->has_failed)) {
        command_next(caller->command, run->workload);
        caller->is_waiting = true;
        caller->submitted_ns = clock_ns();
        submit(caller, on_lone_result);
        while (caller->is_waiting && !atomic_load(&run->has_failed))
            step(load);
        record(caller, clock_ns(), run_phase(run));
        run_count(run, 1);
    }
}

static void drive_many(callback_load_t *load)
{
    run_t *run = load->run;

    for (size_t i = 0; i < load->callers_count; i++)
        submit_next(&load->callers[i], 0);
    while (run_phase(run) != RUN_STOPPING && !atomic_load(&run->has_failed))
        step(load);
}

static void *work_borrowed(void *member)
{
    callback_load_t *load = member;
    run_t *run = load->run;
    const struct timespec pause = {.tv_nsec = 1000000};
    shoal_options_t *options = shoal_load_options(run);

    if (options) {
        int rc = shoal_client_open_borrowed(options, &load->client);
        if (rc != 0)
            run_fail(run, "%s", shoal_strerror(rc));
    }
    shoal_options_free(options);
    sem_post(&load->opened);
    if (!load->client)
        return NULL;

    if (load->callers_count == 1)
        drive_one(load);
    else
        drive_many(load);
    /* The coordinator may still be looking at the client's counters. */
    while (run_phase(run) != RUN_STOPPING)
        nanosleep(&pause, NULL);
    shoal_client_close_and_wait(load->client, DRAIN_US);
    return NULL;
}

static int start_borrowed(run_t *run)
{
    callback_load_t *load = make_load(run);
    if (!load)
        return -1;
    if (crew_start(&load->crew, 1, work_borrowed, load, 0) < 0) {
        run_fail(run, "threads cannot be started");
        return -1;
    }
    while (sem_wait(&load->opened) < 0) {
        /* a signal came in between */
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

const load_kind_t load_borrowed = {start_borrowed, count_callback, stop_borrowed};

typedef struct sync_load sync_load_t;

typedef struct sync_caller {
    sync_load_t *load;
    command_t command;
} sync_caller_t;

struct sync_load {
    run_t *run;
    shoal_client_t *client;
    sync_caller_t *callers;
    size_t callers_count;
    crew_t crew;
    bool is_paced;
    pacer_t pacer;
};

/* Waits for the caller's next turn; false if the round is over. */
static bool await_turn(sync_load_t *load, uint64_t *ret_intended_ns)
{
    if (load->is_paced)
        return pacer_take(&load->pacer, ret_intended_ns);
    *ret_intended_ns = clock_ns();
    return run_phase(load->run) != RUN_STOPPING;
}

static void *work_sync(void *member)
{
    sync_caller_t *caller = member;
    sync_load_t *load = caller->load;
    run_t *run = load->run;
    command_t *command = &caller->command;
    uint64_t intended_ns;

    while (await_turn(load, &intended_ns)) {
        uint64_t begin_ns = load->is_paced ? clock_ns() : intended_ns;
        shoal_result_t *result = NULL;

        command_next(command, run->workload);
        int rc = shoal_client_call(load->client, command->argc, command->argv,
                                   command->argvlen, &result);
        uint64_t end_ns = clock_ns();
        if (rc != 0) {
            run_fail(run, "%s", shoal_strerror(rc));
            break;
        }
        shoal_load_check(run, command, result);
        shoal_result_release(result);
        if (run_phase(run) == RUN_MEASURING) {
            histogram_record_shared(run->latency, end_ns - intended_ns);
            if (load->is_paced)
                histogram_record_shared(run->service, end_ns - begin_ns);
        }
        run_count_shared(run, 1);
    }
    return NULL;
}

static int start_sync(run_t *run)
{
    size_t count = run->options->callers;
    sync_load_t *load = calloc(1, sizeof *load);
    run->load = load;
    if (load)
        load->callers = calloc(count, sizeof *load->callers);
    if (!load || !load->callers) {
        run_fail(run, "out of memory");
        return -1;
    }

    load->run = run;
    for (; load->callers_count < count; load->callers_count++) {
        sync_caller_t *caller = &load->callers[load->callers_count];
        caller->load = load;
        if (command_init(&caller->command, run->workload,
                         run->options->seed + load->callers_count) < 0) {
            run_fail(run, "out of memory");
            return -1;
        }
    }
    load->client = shoal_load_open(run);
    if (!load->client)
        return -1;
    load->is_paced = run->options->rate != 0;
    if (load->is_paced && pacer_start(&load->pacer, run, NULL, NULL) < 0)
        return -1;
    if (crew_start(&load->crew, count, work_sync, load->callers,
                   sizeof *load->callers) < 0) {
        run_fail(run, "threads cannot be started");
        return -1;
    }
    return 0;
}

static void count_sync(const run_t *run, load_counters_t *ret_counters)
{
    const sync_load_t *load = run->load;
    shoal_load_count(load->client, ret_counters);
    if (load->is_paced)
        ret_counters->idle_cpu_ns = pacer_idle_cpu_ns(&load->pacer);
}

static void stop_sync(run_t *run)
{
    sync_load_t *load = run->load;
    if (!load)
        return;
    if (load->is_paced)
        pacer_stop(&load->pacer, load->callers_count);
    crew_join(&load->crew);
    if (load->is_paced)
        pacer_release_memory(&load->pacer);
    if (load->client)
        shoal_client_close_and_wait(load->client, DRAIN_US);
    for (size_t i = 0; i < load->callers_count; i++)
        command_release(&load->callers[i].command);
    free(load->callers);
    free(load);
}

const load_kind_t load_sync = {start_sync, count_sync, stop_sync};
