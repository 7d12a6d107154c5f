/* SPDX-License-Identifier: MIT */

/* The smart batching that programs write themselves, on plain hiredis: the worker sends
 * all calls of the queue as one pipeline, reads the replies, and wakes the callers. */

#include "load/queued.h"

#include <stdlib.h>

typedef struct collector_load {
    run_t *run;
    redisContext *connection;
    queued_t queued;
} collector_load_t;

/* One pipeline: all commands, one write, all replies. */
static void serve(collector_load_t *load, queued_call_t *first)
{
    redisContext *connection = load->connection;
    queued_call_t *next;

    for (queued_call_t *call = first; call; call = call->next)
        redisAppendCommandArgv(connection, (int)call->command->argc,
                               call->command->argv, call->command->argvlen);
    for (queued_call_t *call = first; call; call = next) {
        void *reply = NULL;
        next = call->next; /* once awake the caller comes again */
        if (redisGetReply(connection, &reply) != REDIS_OK) {
            run_fail(load->run, "%s", connection->errstr);
            queued_lose(&load->queued);
            reply = NULL;
        }
        queued_answer(call, reply);
    }
}

static void *work(void *data)
{
    collector_load_t *load = data;
    queued_call_t *calls;

    while ((calls = queued_take(&load->queued)) != NULL)
        serve(load, calls);
    return NULL;
}

static int start(run_t *run)
{
    char problem[128];
    collector_load_t *load = calloc(1, sizeof *load);

    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    load->run = run;
    queued_init(&load->queued, run, NULL, load);
    load->connection = target_connect(&run->options->target, problem, sizeof problem);
    if (!load->connection)
        return run_fail(run, "%s", problem);
    return queued_start(&load->queued, work);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const collector_load_t *load = run->load;
    *ret_counters = (load_counters_t){
        .foreign_cpu_ns = callers_foreign_cpu_ns(&load->queued.callers)};
}

static void stop(run_t *run)
{
    collector_load_t *load = run->load;
    if (!load)
        return;
    queued_stop(&load->queued);
    if (load->connection)
        redisFree(load->connection);
    free(load);
}

const load_kind_t load_collector = {start, count, stop};
