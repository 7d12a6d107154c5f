/* SPDX-License-Identifier: MIT */

/* The two ways most programs use today, on plain hiredis: a pool, in which every
 * thread that waits occupies a connection, and pipelines that the program fills by
 * hand. */

#include "clock.h"
#include "pacer.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

typedef struct worker {
    run_t *run;
    pacer_t *pacer; /* NULL: closed loop */
    redisContext *connection;
    command_t *commands; /* as many as a pipeline holds */
    size_t commands_count;
} worker_t;

typedef struct crewed_load {
    worker_t *workers;
    size_t workers_count;
    crew_t crew;
    bool is_paced;
    pacer_t pacer;
} crewed_load_t;

static bool reply_is_good(const worker_t *worker, const command_t *command,
                          const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        run_note_error(worker->run, reply->str, reply->len);
        return false;
    }
    const workload_t *workload = worker->run->workload;
    if (workload->check == WORKLOAD_CHECK_ERRORS ||
        command_accepts(command, workload, reply->str, reply->len))
        return true;
    run_note_error(worker->run, "wrong reply", 11);
    return false;
}

static int worker_init(worker_t *worker, run_t *run, size_t commands, uint64_t seed)
{
    char problem[128];

    *worker = (worker_t){.run = run};
    worker->connection = target_connect(&run->options->target, problem, sizeof problem);
    if (!worker->connection) {
        run_fail(run, "connection %llu: %s", (unsigned long long)seed, problem);
        return -1;
    }
    worker->commands = calloc(commands, sizeof *worker->commands);
    while (worker->commands && worker->commands_count < commands &&
           command_init(&worker->commands[worker->commands_count], run->workload,
                        seed + worker->commands_count) == 0)
        worker->commands_count++;
    if (worker->commands_count < commands) {
        run_fail(run, "out of memory");
        return -1;
    }
    return 0;
}

static void worker_release(worker_t *worker)
{
    if (worker->connection)
        redisFree(worker->connection);
    for (size_t i = 0; i < worker->commands_count; i++)
        command_release(&worker->commands[i]);
    free(worker->commands);
}

static int start_workers(run_t *run, size_t workers, size_t commands,
                         void *(*work)(void *))
{
    crewed_load_t *load = calloc(1, sizeof *load);
    if (load)
        load->workers = calloc(workers, sizeof *load->workers);
    run->load = load;
    if (!load || !load->workers) {
        run_fail(run, "out of memory");
        return -1;
    }

    for (size_t i = 0; i < workers; i++) {
        load->workers_count++;
        if (worker_init(&load->workers[i], run, commands,
                        run->options->seed + i * commands) < 0)
            return -1;
    }
    if (run->options->rate != 0) {
        load->is_paced = true;
        for (size_t i = 0; i < workers; i++)
            load->workers[i].pacer = &load->pacer;
        if (pacer_start(&load->pacer, run, NULL, NULL) < 0)
            return -1;
    }
    if (crew_start(&load->crew, workers, work, load->workers, sizeof *load->workers) <
        0) {
        run_fail(run, "threads cannot be started");
        return -1;
    }
    return 0;
}

static void count_workers(const run_t *run, load_counters_t *ret_counters)
{
    const crewed_load_t *load = run->load;
    *ret_counters = (load_counters_t){0};
    if (load->is_paced)
        ret_counters->idle_cpu_ns = pacer_idle_cpu_ns(&load->pacer);
}

static void stop_workers(run_t *run)
{
    crewed_load_t *load = run->load;
    if (!load)
        return;
    if (load->is_paced)
        pacer_stop(&load->pacer, load->workers_count);
    crew_join(&load->crew);
    if (load->is_paced)
        pacer_release_memory(&load->pacer);
    for (size_t i = 0; i < load->workers_count; i++)
        worker_release(&load->workers[i]);
    free(load->workers);
    free(load);
}

/* Waits for the worker's next turn; false if the round is over. */
static bool await_turn(worker_t *worker, uint64_t *ret_intended_ns)
{
    if (worker->pacer)
        return pacer_take(worker->pacer, ret_intended_ns);
    *ret_intended_ns = clock_ns();
    return run_phase(worker->run) != RUN_STOPPING;
}

static void *work_pool(void *member)
{
    worker_t *worker = member;
    run_t *run = worker->run;
    command_t *command = worker->commands;
    uint64_t intended_ns;

    while (await_turn(worker, &intended_ns)) {
        uint64_t begin_ns = worker->pacer ? clock_ns() : intended_ns;
        command_next(command, run->workload);
        redisReply *reply = redisCommandArgv(worker->connection, (int)command->argc,
                                             command->argv, command->argvlen);
        uint64_t end_ns = clock_ns();
        if (!reply) {
            run_fail(run, "%s", worker->connection->errstr);
            break;
        }
        reply_is_good(worker, command, reply);
        freeReplyObject(reply);
        if (run_phase(run) == RUN_MEASURING) {
            histogram_record_shared(run->latency, end_ns - intended_ns);
            if (worker->pacer)
                histogram_record_shared(run->service, end_ns - begin_ns);
        }
        run_count_shared(run, 1);
    }
    return NULL;
}

static int start_pool(run_t *run)
{
    return start_workers(run, run->options->callers, 1, work_pool);
}

/* Sends the whole pipeline and takes its replies; false if the connection is lost. */
static bool round_trip(worker_t *worker)
{
    redisContext *connection = worker->connection;

    for (size_t i = 0; i < worker->commands_count; i++) {
        command_t *command = &worker->commands[i];
        command_next(command, worker->run->workload);
        if (redisAppendCommandArgv(connection, (int)command->argc, command->argv,
                                   command->argvlen) != REDIS_OK)
            return false;
    }
    for (size_t i = 0; i < worker->commands_count; i++) {
        void *reply = NULL;
        if (redisGetReply(connection, &reply) != REDIS_OK)
            return false;
        reply_is_good(worker, &worker->commands[i], reply);
        freeReplyObject(reply);
    }
    return true;
}

static void *work_explicit(void *member)
{
    worker_t *worker = member;
    run_t *run = worker->run;

    while (run_phase(run) != RUN_STOPPING) {
        uint64_t begin_ns = clock_ns();
        if (!round_trip(worker)) {
            run_fail(run, "%s", worker->connection->errstr);
            break;
        }
        if (run_phase(run) == RUN_MEASURING)
            histogram_record_shared(run->latency, clock_ns() - begin_ns);
        run_count_shared(run, worker->commands_count);
    }
    return NULL;
}

static int start_explicit(run_t *run)
{
    run->sampling = run->strategy->depth;
    return start_workers(run, run->options->threads, run->strategy->depth,
                         work_explicit);
}

const load_kind_t load_pool = {start_pool, count_workers, stop_workers};
const load_kind_t load_explicit = {start_explicit, count_workers, stop_workers};
