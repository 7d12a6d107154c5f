/* SPDX-License-Identifier: MIT */

/* redis-plus-plus: threads share one client, which has a connection for each of them in
 * its pool. */

#include "load/callers.h"
#include "redispp/redispp.h"

#include <stdlib.h>

typedef struct redispp_load {
    callers_t callers; /* the seat of each is the client */
    redispp_t *client;
} redispp_load_t;

static void *call(caller_t *caller)
{
    const command_t *command = caller->commands.list;
    char problem[128];
    void *reply = redispp_call(caller->seat, command->argc, command->argv,
                               command->argvlen, problem, sizeof problem);

    if (!reply)
        run_fail(caller->run, "%s", problem);
    return reply;
}

static void settle(caller_t *caller, void *reply)
{
    run_t *run = caller->run;
    size_t bytes;
    int is_error;
    const char *text = redispp_text(reply, &bytes, &is_error);

    if (is_error)
        run_note_error(run, text, bytes);
    else if (!command_accepts(caller->commands.list, run->workload, text, bytes))
        run_note_error(run, "wrong reply", 11);
    redispp_free(reply);
}

static int start(run_t *run)
{
    static const caller_way_t way = {call, settle};
    const target_t *target = &run->options->target;
    const redispp_address_t address = {
        target->host, target->port,     target->socket_path,
        target->user, target->password, target->database,
    };
    char problem[128];
    redispp_load_t *load = calloc(1, sizeof *load);

    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    load->client =
        redispp_open(&address, run->options->callers, problem, sizeof problem);
    if (!load->client)
        return run_fail(run, "%s", problem);
    if (callers_init(&load->callers, run, &way, run->options->callers, 1) < 0)
        return -1;
    for (size_t i = 0; i < load->callers.count; i++)
        load->callers.list[i].seat = load->client;
    return callers_start(&load->callers);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const redispp_load_t *load = run->load;
    *ret_counters =
        (load_counters_t){.foreign_cpu_ns = callers_foreign_cpu_ns(&load->callers)};
}

static void stop(run_t *run)
{
    redispp_load_t *load = run->load;
    if (!load)
        return;
    callers_join(&load->callers);
    callers_release(&load->callers);
    if (load->client)
        redispp_close(load->client);
    free(load);
}

const load_kind_t load_redispp = {start, count, stop};
