/* SPDX-License-Identifier: MIT */
#include "route/figures.h"

#include <stdio.h>

static void read_all(uint64_t *to, const shoal__counter_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = shoal__counter_get(&from[i]);
}

static void read_pipe(shoal_stats_t *to, const shoal__pipe_t *pipe)
{
    const shoal__pipe_stats_t *from = &pipe->stats;

    to->completed = shoal__counter_get(&from->completed);
    to->replies = shoal__counter_get(&from->replies);
    to->error_replies = shoal__counter_get(&from->error_replies);
    to->timeouts = shoal__counter_get(&from->timeouts);
    to->cancels = shoal__counter_get(&from->cancels);
    to->failures = shoal__counter_get(&from->failures);
    to->retries = shoal__counter_get(&from->retries);
    to->zombies_dropped = shoal__counter_get(&from->zombies_dropped);
    to->pushes = shoal__counter_get(&from->pushes);
    to->flushes = shoal__counter_get(&from->flushes);
    to->fences = shoal__counter_get(&from->fences);
    to->fences_unclear = shoal__counter_get(&from->fences_unclear);
    to->settled = shoal__counter_get(&from->settled);
    to->unsettled = shoal__counter_get(&from->unsettled);
    to->queued_now = shoal__counter_get(&from->queued_now);
    to->inflight_now = shoal__counter_get(&from->inflight_now);
    to->bytes_now = shoal__counter_get(&from->bytes_now);
    read_all(to->batch_histogram, from->batch_histogram, SHOAL_STATS_BATCH_BUCKETS);
    read_all(to->flush_reasons, from->flush_reasons, SHOAL_FLUSH_REASONS);
    to->holds = shoal__counter_get(&from->holds);
    to->probes = shoal__counter_get(&from->probes);
    to->trials = shoal__counter_get(&from->trials);
    to->callers_now = shoal__counter_get(&from->callers_now);
    to->is_open_now = shoal__counter_get(&from->is_open_now);
    to->gap_ns_now = shoal__counter_get(&from->gap_ns_now);
    to->rtt_us_now = shoal__counter_get(&from->rtt_us_now);
    to->late_us_now = shoal__counter_get(&from->late_us_now);
    to->bytes_copied = shoal__counter_get(&from->bytes_copied);
    to->reordered = shoal__counter_get(&from->reordered);
    to->moved = shoal__counter_get(&from->moved);
    to->asked = shoal__counter_get(&from->asked);
}

static void read_conn(shoal_stats_t *to, const shoal__conn_stats_t *from)
{
    to->writes = shoal__counter_get(&from->traffic.writes);
    to->reads = shoal__counter_get(&from->traffic.reads);
    to->bytes_out = shoal__counter_get(&from->traffic.bytes_out);
    to->bytes_in = shoal__counter_get(&from->traffic.bytes_in);
    to->connects = shoal__counter_get(&from->connects);
    to->losses = shoal__counter_get(&from->losses);
    to->attempts_failed = shoal__counter_get(&from->attempts_failed);
    to->desyncs = shoal__counter_get(&from->desyncs);
    to->redirects_refused = shoal__counter_get(&from->redirects_refused);
    to->tls_full = shoal__counter_get(&from->tls_full);
    to->tls_resumed = shoal__counter_get(&from->tls_resumed);
}

static shoal_connection_state_t state_of(const shoal__conn_t *conn)
{
    static const shoal_connection_state_t states[SHOAL__CONN_STATE_COUNT] = {
        [SHOAL__CONN_IDLE] = SHOAL_CONNECTION_IDLE,
        [SHOAL__CONN_DIALING] = SHOAL_CONNECTION_DIALING,
        [SHOAL__CONN_GREETING] = SHOAL_CONNECTION_GREETING,
        [SHOAL__CONN_READY] = SHOAL_CONNECTION_READY,
        [SHOAL__CONN_BACKOFF] = SHOAL_CONNECTION_WAITING,
        [SHOAL__CONN_CLOSED] = SHOAL_CONNECTION_CLOSED,
    };

    return states[atomic_load_explicit(&conn->stats.state, memory_order_acquire)];
}

static void read_info(shoal_connection_info_t *to, const shoal__conn_t *conn)
{
    const shoal__conn_stats_t *from = &conn->stats;

    to->connection = conn->id;
    to->state = state_of(conn); /* first */
    to->protocol = (int)shoal__counter_get(&from->protocol);
    to->server_id = shoal__counter_get(&from->server_id);
    to->epoch = shoal__counter_get(&from->epoch);
    snprintf(to->server, sizeof to->server, "%s",
             atomic_load_explicit(&conn->server, memory_order_acquire));
}

void shoal__figures_read(const shoal__conn_t *conn, shoal__route_member_t *ret_member)
{
    *ret_member = (shoal__route_member_t){.info = SHOAL_CONNECTION_INFO_INIT};
    read_info(&ret_member->info, conn);
    read_pipe(&ret_member->stats, &conn->pipe);
    read_conn(&ret_member->stats, &conn->stats);
}

shoal__snapshot_node_t shoal__figures_server(const shoal__conn_t *conn)
{
    shoal_connection_state_t state = state_of(conn);

    return (shoal__snapshot_node_t){
        .name = atomic_load_explicit(&conn->server, memory_order_acquire),
        .primary = SHOAL__SNAPSHOT_NONE,
        .state = state,
        .connection = conn->id,
        .is_listed = true,
        .is_down = state == SHOAL_CONNECTION_WAITING};
}

static void add_pen(const shoal__pipe_t *pen, shoal_stats_t *to)
{
    const shoal__pipe_stats_t *from = &pen->stats;

    to->completed += shoal__counter_get(&from->completed);
    to->timeouts += shoal__counter_get(&from->timeouts);
    to->cancels += shoal__counter_get(&from->cancels);
    to->failures += shoal__counter_get(&from->failures);
    to->queued_now += shoal__counter_get(&from->queued_now);
    to->bytes_now += shoal__counter_get(&from->bytes_now);
}

void shoal__figures_add_pen(const shoal__pipe_t *pen, shoal__route_member_t *member)
{
    add_pen(pen, &member->stats);
}

void shoal__figures_add_waiting(const shoal__pipe_t *pen, shoal_stats_t *to)
{
    add_pen(pen, to);
}

void shoal__figures_read_shared(const shoal__conn_set_t *set, shoal_stats_t *to)
{
    for (size_t stage = 0; stage < SHOAL_STAGES; stage++)
        read_all(to->latency[stage], set->shared.latencies.of[stage],
                 SHOAL_STATS_LATENCY_BUCKETS);
}
