/* SPDX-License-Identifier: MIT */
#include "load/shoal_load.h"

#include "load/large.h"
#include "load/pusher.h"

#include <shoal/cluster.h>
#include <shoal/sentinel.h>
#include <shoal/tls.h>
#include <stdlib.h>
#include <string.h>

#define READY_US 5000000u
#define ROOM_BYTES_MIN 67108864u
#define ROOM_BYTES_MAX 17179869184u /* the most that the library allows */

static int set_tls(shoal_options_t *options, const target_tls_t *tls)
{
    int rc = shoal_options_set_tls(options, true);

    if (rc == 0)
        rc = shoal_options_set_tls_ca_file(options, tls->ca_file);
    if (rc == 0)
        rc = shoal_options_set_tls_certificate(options, tls->cert_file, tls->key_file);
    return rc == 0 ? shoal_options_set_tls_server_name(options, tls->server_name) : rc;
}

static int set_sentinel(shoal_options_t *options, const target_t *target)
{
    int rc = shoal_options_set_sentinel(options, target->sentinel);

    if (rc == 0)
        rc = shoal_options_add_sentinel(options, target->sentinel_host,
                                        target->sentinel_port);
    return rc == 0 ? shoal_options_set_sentinel_tls(options, target->is_tls) : rc;
}

static int set_address(shoal_options_t *options, const target_t *target,
                       const strategy_t *strategy)
{
    int port = strategy->is_plain        ? target->plain_port
               : strategy->is_standalone ? target->standalone_port
                                         : target->port;
    int rc = shoal_options_set_address(options, target->host, port);

    if (rc == 0 && target->is_cluster && !strategy->is_standalone)
        rc = shoal_options_set_topology(options, SHOAL_TOPOLOGY_CLUSTER);
    return rc;
}

static int set_target(shoal_options_t *options, const target_t *target,
                      const strategy_t *strategy)
{
    int rc;

    if (target->sentinel)
        rc = set_sentinel(options, target);
    else if (target->socket_path)
        rc = shoal_options_set_unix_path(options, target->socket_path);
    else
        rc = set_address(options, target, strategy);
    if (rc == 0 && target->is_tls && !strategy->is_plain)
        rc = set_tls(options, &target->tls);
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
    int rc = shoal_options_set_flush(options, strategy->flush, us);

    if (rc == 0 && strategy->has_integrity)
        rc = shoal_options_set_integrity(options, strategy->integrity);
    if (rc == 0 && strategy->lane != STRATEGY_LANE_DEFAULT)
        rc = shoal_options_set_bulk_lane(options, strategy->lane == STRATEGY_LANE_ON);
    return rc;
}

/* Room for every caller, and for the commands' bytes. */
static int set_room(shoal_options_t *options, const run_t *run)
{
    uint64_t callers = run->options->callers;
    uint64_t bytes = (run->workload->bytes_len + 1024) * (callers + 65536) +
                     LARGE_CALLERS * (run->options->large_bytes + 1024);

    if (bytes < ROOM_BYTES_MIN)
        bytes = ROOM_BYTES_MIN;
    if (bytes > ROOM_BYTES_MAX)
        bytes = ROOM_BYTES_MAX;
    return shoal_options_set_outstanding_max(options, callers > 65536 ? callers : 65536,
                                             16384, bytes);
}

shoal_options_t *shoal_load_options(run_t *run)
{
    shoal_options_t *options = NULL;
    int rc = shoal_options_new(&options);

    if (rc == 0)
        rc = set_target(options, &run->options->target, run->strategy);
    if (rc == 0)
        rc = set_flush(options, run);
    if (rc == 0)
        rc = set_room(options, run);
    if (rc == 0 && run->strategy->homes > 1)
        rc = shoal_options_set_connections(options, (unsigned)run->strategy->homes);
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

    int rc = shoal_client_open(options, &client, NULL);
    shoal_options_free(options);
    if (rc == 0)
        rc = shoal_client_wait_ready(client, READY_US);
    if (rc == 0)
        return client;
    run_fail(run, "%s", shoal_strerror(rc));
    if (client)
        shoal_client_close_and_wait(client, 0);
    shoal_client_release(client);
    return NULL;
}

int shoal_load_open_all(run_t *run, shoal_clients_t *clients)
{
    size_t count = run->options->connections;

    *clients = (shoal_clients_t){.clients = calloc(count, sizeof *clients->clients)};
    if (!clients->clients)
        return run_fail(run, "out of memory");
    for (; clients->count < count; clients->count++) {
        clients->clients[clients->count] = shoal_load_open(run);
        if (!clients->clients[clients->count])
            return -1;
    }
    return 0;
}

void shoal_load_close_all(shoal_clients_t *clients)
{
    for (size_t i = 0; i < clients->count; i++) {
        shoal_client_close_and_wait(clients->clients[i], SHOAL_LOAD_DRAIN_US);
        shoal_client_release(clients->clients[i]);
    }
    free(clients->clients);
    *clients = (shoal_clients_t){0};
}

void shoal_load_add(shoal_client_t *client, load_counters_t *counters)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;

    if (!client || shoal_stats_get(client, &stats) != 0)
        return;
    counters->has_calls = true;
    counters->writes += stats.writes;
    counters->reads += stats.reads;
    counters->wakeups += stats.wakeups;
    counters->has_library = true;
    counters->caller_wakeups += stats.caller_wakeups;
    counters->direct_calls += stats.direct_calls;
    counters->handovers += stats.handovers;
    counters->allocations = shoal_allocations(); /* of the whole process */
    for (size_t i = 0; i < SHOAL_STATS_BATCH_BUCKETS; i++)
        counters->batch_histogram[i] += stats.batch_histogram[i];
    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++)
        counters->flush_reasons[i] += stats.flush_reasons[i];
}

void shoal_load_count_all(const shoal_clients_t *clients, load_counters_t *ret_counters)
{
    *ret_counters = (load_counters_t){0};
    for (size_t i = 0; i < clients->count; i++)
        shoal_load_add(clients->clients[i], ret_counters);
}

/* An element is the second part of the reply, behind the name of its list. */
uint64_t shoal_load_pushed_ns(const shoal_result_t *result)
{
    size_t bytes = 0;
    const shoal_reply_t *element = shoal_reply_at(shoal_result_reply(result), 1);
    const char *text = shoal_reply_string(element, &bytes);

    return text ? pusher_moment_ns(text, bytes) : 0;
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
