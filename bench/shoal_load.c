/* SPDX-License-Identifier: MIT */
#include "shoal_load.h"

#include <string.h>

#define READY_US 5000000u

static int set_target(shoal_options_t *options, const target_t *target)
{
    int rc = target->socket_path
                 ? shoal_options_set_unix_path(options, target->socket_path)
                 : shoal_options_set_address(options, target->host, target->port);

    if (rc == 0 && target->password)
        rc = shoal_options_set_auth(options, target->user, target->password);
    if (rc == 0)
        rc = shoal_options_set_database(options, target->database);
    if (rc == 0)
        rc = shoal_options_set_protocol(options, target->resp);
    return rc;
}

static int set_flush(shoal_options_t *options, const run_t *run)
{
    const strategy_t *strategy = run->strategy;
    uint64_t us = strategy->flush == SHOAL_FLUSH_AUTO ? run->options->budget_us
                                                      : strategy->pause_us;
    return shoal_options_set_flush(options, strategy->flush, us);
}

/* Room for every caller, and for the commands' bytes. */
static int set_room(shoal_options_t *options, const run_t *run)
{
    uint64_t callers = run->options->callers;
    uint64_t bytes = (run->workload->bytes_len + 1024) * (callers + 65536);

    return shoal_options_set_outstanding_max(options, callers > 65536 ? callers : 65536,
                                             16384,
                                             bytes > 67108864 ? bytes : 67108864);
}

shoal_options_t *shoal_load_options(run_t *run)
{
    shoal_options_t *options = NULL;
    int rc = shoal_options_new(&options);

    if (rc == 0)
        rc = set_target(options, &run->options->target);
    if (rc == 0)
        rc = set_flush(options, run);
    if (rc == 0)
        rc = set_room(options, run);
    if (rc == 0)
        return options;
    run_fail(run, "%s", shoal_strerror(rc));
    shoal_options_free(options);
    return NULL;
}

shoal_client_t *shoal_load_open(run_t *run)
{
    shoal_client_t *client = NULL;
    shoal_options_t *options = shoal_load_options(run);
    if (!options)
        return NULL;

    int rc = shoal_client_open(options, &client);
    shoal_options_free(options);
    if (rc == 0)
        rc = shoal_client_wait_ready(client, READY_US);
    if (rc == 0)
        return client;
    run_fail(run, "%s", shoal_strerror(rc));
    if (client)
        shoal_client_close_and_wait(client, 0);
    return NULL;
}

void shoal_load_count(shoal_client_t *client, load_counters_t *ret_counters)
{
    shoal_stats_t stats;

    *ret_counters = (load_counters_t){0};
    if (!client || shoal_stats_get(client, &stats, sizeof stats) != 0)
        return;
    ret_counters->has_calls = true;
    ret_counters->writes = stats.writes;
    ret_counters->reads = stats.reads;
    ret_counters->wakeups = stats.wakeups;
    ret_counters->has_library = true;
    ret_counters->allocations = shoal_allocations();
    memcpy(ret_counters->batch_histogram, stats.batch_histogram,
           sizeof stats.batch_histogram);
    memcpy(ret_counters->flush_reasons, stats.flush_reasons,
           sizeof stats.flush_reasons);
}

void shoal_load_check_slowly(run_t *run, const command_t *command,
                             const shoal_result_t *result, const shoal_reply_t *reply)
{
    size_t bytes = 0;

    if (!reply) {
        const char *detail = shoal_result_detail(result);
        const char *text =
            *detail != '\0' ? detail : shoal_strerror(shoal_result_status(result));
        run_note_error(run, text, strlen(text));
        return;
    }
    const char *text = shoal_reply_string(reply, &bytes);
    if (shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        run_note_error(run, text, bytes);
    else if (!command_accepts(command, run->workload, text, bytes))
        run_note_error(run, "wrong reply", 11);
}
