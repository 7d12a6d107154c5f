/* SPDX-License-Identifier: MIT */
#include "load/large.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- on the library ---- */

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data);

/* The value stays where it is, so the library need not copy it. */
static void on_release(void *data)
{
    (void)data;
}

static void submit_next(large_caller_t *caller)
{
    const large_t *large = caller->large;
    const char *const words[] = {caller->is_reading ? "GET" : "SET", caller->key,
                                 large->value};
    const size_t bytes[] = {3, strlen(caller->key), large->bytes};
    const shoal_command_t command = {caller->is_reading ? 2 : 3, words, bytes};
    shoal_call_t call = SHOAL_CALL_INIT;

    call.on_release = on_release;
    int rc = shoal_client_submit_many(caller->client, &command, 1, &call, on_result,
                                      caller, NULL);
    if (rc != 0 && rc != SHOAL_ECLOSED)
        run_fail(large->run, "%s", shoal_strerror(rc));
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    large_caller_t *caller = data;
    run_t *run = caller->large->run;
    const shoal_reply_t *reply = shoal_result_reply(result);
    size_t bytes = 0;

    (void)client;
    if (!reply || shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        shoal_load_check_slowly(run, NULL, result, reply);
    else if (caller->is_reading &&
             (!shoal_reply_string(reply, &bytes) || bytes != caller->large->bytes))
        run_note_error(run, "wrong large value", 17);
    run_count_large(run);
    caller->is_reading = !caller->is_reading;
    if (run_phase(run) != RUN_STOPPING)
        submit_next(caller);
}

/* ---- on plain hiredis ---- */

static redisReply *call(const large_caller_t *caller)
{
    const large_t *large = caller->large;

    if (caller->is_reading)
        return redisCommand(caller->connection, "GET %s", caller->key);
    return redisCommand(caller->connection, "SET %s %b", caller->key, large->value,
                        large->bytes);
}

static void *work(void *member)
{
    large_caller_t *caller = member;
    run_t *run = caller->large->run;

    while (run_phase(run) != RUN_STOPPING) {
        redisReply *reply = call(caller);
        if (!reply) {
            run_fail(run, "%s", caller->connection->errstr);
            return NULL;
        }
        if (reply->type == REDIS_REPLY_ERROR)
            run_note_error(run, reply->str, reply->len);
        else if (caller->is_reading && reply->len != caller->large->bytes)
            run_note_error(run, "wrong large value", 17);
        freeReplyObject(reply);
        run_count_large(run);
        caller->is_reading = !caller->is_reading;
    }
    return NULL;
}

static int connect_all(large_t *large)
{
    char problem[128];

    for (size_t i = 0; i < LARGE_CALLERS; i++) {
        redisContext *connection =
            target_connect(&large->run->options->target, problem, sizeof problem);
        large->callers[i].connection = connection;
        if (!connection)
            return run_fail(large->run, "large values: %s", problem);
    }
    return crew_start(&large->crew, large->run, LARGE_CALLERS, work, large->callers,
                      sizeof *large->callers);
}

/* ---- either ---- */

int large_start(large_t *large, run_t *run, const shoal_clients_t *clients)
{
    *large = (large_t){.run = run, .bytes = run->options->large_bytes};
    if (large->bytes == 0)
        return 0;
    large->value = malloc(large->bytes);
    if (!large->value)
        return run_fail(run, "out of memory");
    memset(large->value, 'l', large->bytes);
    for (size_t i = 0; i < LARGE_CALLERS; i++) {
        large->callers[i].large = large;
        snprintf(large->callers[i].key, sizeof large->callers[i].key,
                 "shoal-bench:large:%zu", i);
    }
    if (!clients)
        return connect_all(large);
    for (size_t i = 0; i < LARGE_CALLERS; i++) {
        large->callers[i].client = clients->clients[i % clients->count];
        submit_next(&large->callers[i]);
    }
    return 0;
}

void large_stop(large_t *large)
{
    crew_join(&large->crew);
}

void large_release(large_t *large)
{
    for (size_t i = 0; i < LARGE_CALLERS; i++)
        if (large->callers[i].connection)
            redisFree(large->callers[i].connection);
    free(large->value);
    *large = (large_t){0};
}
