/* SPDX-License-Identifier: MIT */

/* The two ways most programs use today, on plain hiredis: a pool, in which every
 * thread that waits occupies a connection, and pipelines that the program fills by
 * hand.  A caller's seat is its connection. */

#include "load/callers.h"

#include <stdlib.h>

static int start_callers(run_t *run, const caller_way_t *way, size_t count,
                         size_t commands_each)
{
    char problem[128];
    callers_t *callers = calloc(1, sizeof *callers);

    run->load = callers;
    if (!callers)
        return run_fail(run, "out of memory");
    if (callers_init(callers, run, way, count, commands_each) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        redisContext *connection =
            target_connect(&run->options->target, problem, sizeof problem);
        callers->list[i].seat = connection;
        if (!connection)
            return run_fail(run, "connection %zu: %s", i + 1, problem);
    }
    if (large_start(&callers->large, run, NULL) < 0)
        return -1;
    return callers_start(callers);
}

static void count_callers(const run_t *run, load_counters_t *ret_counters)
{
    *ret_counters =
        (load_counters_t){.foreign_cpu_ns = callers_foreign_cpu_ns(run->load)};
}

static void stop_callers(run_t *run)
{
    callers_t *callers = run->load;
    if (!callers)
        return;
    callers_join(callers);
    for (size_t i = 0; i < callers->count; i++) {
        if (callers->list[i].seat)
            redisFree(callers->list[i].seat);
    }
    callers_release(callers);
    free(callers);
}

static void *fail(caller_t *caller)
{
    const redisContext *connection = caller->seat;
    run_fail(caller->run, "%s", connection->errstr);
    return NULL;
}

static void *call_pool(caller_t *caller)
{
    const command_t *command = caller->commands.list;
    void *reply = redisCommandArgv(caller->seat, (int)command->argc, command->argv,
                                   command->argvlen);
    return reply ? reply : fail(caller);
}

static uint64_t pushed_ns(const redisReply *reply)
{
    return reply->elements == 2
               ? pusher_moment_ns(reply->element[1]->str, reply->element[1]->len)
               : 0;
}

static void settle_pool(caller_t *caller, void *reply)
{
    if (caller->callers->is_popping)
        caller->since_ns = pushed_ns(reply);
    run_check_reply(caller->run, caller->commands.list, reply);
    freeReplyObject(reply);
}

/* Sends the whole pipeline and takes its replies. */
static void *call_explicit(caller_t *caller)
{
    const commands_t *commands = &caller->commands;

    for (size_t i = 0; i < commands->count; i++) {
        const command_t *command = &commands->list[i];
        if (redisAppendCommandArgv(caller->seat, (int)command->argc, command->argv,
                                   command->argvlen) != REDIS_OK)
            return fail(caller);
    }
    for (size_t i = 0; i < commands->count; i++) {
        void *reply = NULL;
        if (redisGetReply(caller->seat, &reply) != REDIS_OK)
            return fail(caller);
        run_check_reply(caller->run, &commands->list[i], reply);
        freeReplyObject(reply);
    }
    return caller; /* anything but NULL */
}

static int start_pool(run_t *run)
{
    static const caller_way_t way = {call_pool, settle_pool};
    return start_callers(run, &way, run->options->callers, 1);
}

static int start_explicit(run_t *run)
{
    static const caller_way_t way = {call_explicit, NULL};
    run->sampling = run->strategy->depth;
    return start_callers(run, &way, run->options->threads, run->strategy->depth);
}

const load_kind_t load_pool = {start_pool, count_callers, stop_callers};
const load_kind_t load_explicit = {start_explicit, count_callers, stop_callers};
