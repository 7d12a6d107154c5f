/* SPDX-License-Identifier: MIT */
#include "route/cluster.h"

#include "base/time_us.h"
#include "net/clock.h"
#include "net/conn_set.h"
#include "route/cluster/state.h"
#include "route/figures.h"

static shoal__cluster_t *of(shoal__route_t *route)
{
    return (shoal__cluster_t *)route;
}

static const shoal__cluster_t *of_const(const shoal__route_t *route)
{
    return (const shoal__cluster_t *)route;
}

/* ---- the table ---- */

static shoal__request_t *reserve(shoal__route_t *route, unsigned slot, size_t bytes,
                                 size_t count, char **ret_bytes)
{
    shoal__cluster_t *cluster = of(route);

    shoal__cluster_lead(cluster, slot, &cluster->way);
    *ret_bytes = shoal__pipe_reserve(cluster->way.pipe, bytes, count);
    return *ret_bytes ? shoal__pipe_next(cluster->way.pipe) : NULL;
}

static shoal__request_t *push(shoal__route_t *route)
{
    shoal__cluster_t *cluster = of(route);
    shoal__pipe_t *pipe = cluster->way.pipe;

    shoal__pipe_pushed_here(pipe);
    if (cluster->way.conn) {
        shoal__conn_touch(cluster->way.conn);
    } else {
        cluster->is_touched = true;
        shoal__pipe_note_fresh(pipe, pipe->now_us);
    }
    return shoal__pipe_next(pipe);
}

static void refer(shoal__route_t *route, size_t bytes)
{
    shoal__pipe_refer(of(route)->way.pipe, bytes);
}

static void open_route(shoal__route_t *route, shoal__loop_t *loop)
{
    shoal__cluster_t *cluster = of(route);

    cluster->set.loop = loop->uv;
    shoal__keeper_open(&cluster->keeper, loop->uv);
    shoal__cluster_keep_up(cluster, true, shoal__clock_us());
}

static bool place(shoal__route_t *route, const shoal__mailbox_side_t *side,
                  uint64_t now_us)
{
    return shoal__cluster_place(of(route), side, now_us);
}

/* A server that is no node has none. */
static void ask_for_view(shoal__cluster_t *cluster, uint64_t now_us)
{
    if (cluster->route.found == SHOAL__FOUND_ONE_SERVER)
        shoal__topology_put_off(&cluster->topology.rule, now_us);
    else
        shoal__topology_turn(&cluster->topology, &cluster->set.random, now_us);
}

static uint64_t turn(shoal__route_t *route, uint64_t now_us)
{
    shoal__cluster_t *cluster = of(route);
    bool is_news = cluster->is_touched;
    uint64_t wake_us;

    cluster->is_touched = false;
    cluster->now_us = now_us;
    shoal__spreads_turn(cluster);
    shoal__keeper_turn(&cluster->keeper, now_us);
    /* Before anything is written. */
    shoal__handovers_turn(&cluster->handovers, now_us);
    shoal__cluster_heed(cluster, now_us);
    if (shoal__cluster_has_lanes(cluster))
        shoal__cluster_turn_lanes(cluster, now_us);
    is_news |= cluster->is_touched || cluster->leases.common.is_touched;
    shoal__cluster_keep_up(cluster, is_news, now_us);
    ask_for_view(cluster, now_us);
    shoal__cluster_learn(cluster, now_us);
    shoal__leases_heed_places(&cluster->leases);
    if (shoal__leases_are_due(&cluster->leases, now_us))
        shoal__leases_turn(&cluster->leases, now_us);
    wake_us = shoal__conn_set_turn(&cluster->set, now_us);
    shoal__cluster_written(cluster, now_us);
    if (cluster->is_touched || cluster->leases.common.is_touched)
        return now_us;
    wake_us = shoal__time_min(wake_us, cluster->leases.wake_us);
    wake_us = shoal__time_min(wake_us, shoal__keeper_next_wake_us(&cluster->keeper));
    wake_us =
        shoal__time_min(wake_us, shoal__handovers_next_wake_us(&cluster->handovers));
    wake_us = shoal__time_min(wake_us, shoal__topology_wake_us(&cluster->topology));
    if (shoal__cluster_has_lanes(cluster))
        wake_us = shoal__time_min(wake_us, shoal__cluster_lanes_us(cluster));
    return shoal__time_min(wake_us, shoal__cluster_upkeep_us(cluster));
}

/* Connections to nodes, bulk lanes among them. */
static unsigned conns_count(const shoal__cluster_t *cluster)
{
    return 2 * shoal__nodes_count(&cluster->nodes);
}

static bool is_open(const shoal__conn_t *conn)
{
    return conn && conn->state != SHOAL__CONN_IDLE && conn->state != SHOAL__CONN_CLOSED;
}

static void read_ahead(shoal__route_t *route)
{
    for (unsigned i = 0; i < conns_count(of(route)); i++) {
        shoal__conn_t *conn = shoal__nodes_conn(&of(route)->nodes, i);
        if (conn)
            shoal__conn_read_ahead(conn);
    }
    shoal__leases_read_ahead(&of(route)->leases);
}

/* Each part of a command has its ticket. */
static bool cancel_parts(shoal__cluster_t *cluster, uint64_t ticket, uint64_t now_us)
{
    if (!shoal__spreads_have(cluster, ticket))
        return false;
    for (unsigned i = 0; i < conns_count(cluster); i++) {
        shoal__conn_t *conn = shoal__nodes_conn(&cluster->nodes, i);
        while (conn && shoal__pipe_cancel(&conn->pipe, ticket, now_us))
            shoal__conn_touch(conn);
    }
    while (shoal__handovers_cancel(&cluster->handovers, ticket, now_us) ||
           shoal__pipe_cancel(&cluster->waiting, ticket, now_us))
        cluster->is_touched = true;
    return true;
}

static bool cancel(shoal__route_t *route, uint64_t ticket, uint64_t now_us)
{
    shoal__cluster_t *cluster = of(route);

    if (cancel_parts(cluster, ticket, now_us))
        return true;
    for (unsigned i = 0; i < conns_count(cluster); i++) {
        shoal__conn_t *conn = shoal__nodes_conn(&cluster->nodes, i);
        if (conn && shoal__pipe_cancel(&conn->pipe, ticket, now_us)) {
            shoal__conn_touch(conn);
            return true;
        }
    }
    cluster->is_touched = true;
    return shoal__handovers_cancel(&cluster->handovers, ticket, now_us) ||
           shoal__pipe_cancel(&cluster->waiting, ticket, now_us) ||
           shoal__leases_cancel(&cluster->leases, ticket, now_us);
}

static void end_lease(shoal__route_t *route, shoal_lease_t *lease)
{
    shoal__leases_end(&of(route)->leases, lease);
}

static void reconnect(shoal__route_t *route, uint64_t now_us)
{
    for (unsigned i = 0; i < conns_count(of(route)); i++) {
        shoal__conn_t *conn = shoal__nodes_conn(&of(route)->nodes, i);
        if (is_open(conn))
            shoal__conn_reconnect(conn, SHOAL__CONN_ASKED_FOR, now_us);
    }
    shoal__leases_reconnect(&of(route)->leases);
}

static void authenticate(shoal__route_t *route, shoal__secret_t *secret,
                         uint64_t now_us)
{
    shoal__keeper_take(&of(route)->keeper, secret);
    for (unsigned i = 0; i < conns_count(of(route)); i++) {
        shoal__conn_t *conn = shoal__nodes_conn(&of(route)->nodes, i);
        if (is_open(conn))
            shoal__conn_authenticate(conn, now_us);
    }
    shoal__leases_authenticate(&of(route)->leases, now_us);
}

/* ---- what others see ---- */

static bool are_idle(const shoal__cluster_t *cluster)
{
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        const shoal__node_t *node = shoal__cluster_node(cluster, i);
        if (!shoal__node_is_empty(node) || shoal__conn_is_renewed(&node->conn))
            return false;
    }
    return true;
}

/* The least of those that are ready; 1 is the least that there is. */
static uint64_t wake_after(const shoal__cluster_t *cluster)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; least > 1 && i < shoal__nodes_count(&cluster->nodes); i++) {
        const shoal__node_t *node = shoal__cluster_node(cluster, i);
        if ((node->slots > 0 || node->watch.is_readonly) && shoal__node_is_ready(node))
            least = shoal__time_min(least, shoal__pipe_wake_after(&node->conn.pipe));
    }
    return least == UINT64_MAX ? 1 : least;
}

/* Every turn asks: all nodes are looked at only while nothing is under way. */
static void view(const shoal__route_t *route, shoal__route_view_t *ret_view)
{
    const shoal__cluster_t *cluster = of_const(route);
    const shoal__pipe_t *waiting = &cluster->waiting;

    *ret_view = (shoal__route_view_t){
        .is_ready = cluster->map.owned > 0 && cluster->unready == 0,
        .is_idle = waiting->ring.head == waiting->ring.tail &&
                   shoal__list_is_empty(&cluster->spreads_due) &&
                   shoal__handovers_are_idle(&cluster->handovers) &&
                   shoal__leases_are_idle(&cluster->leases) &&
                   shoal__keeper_is_calm(&cluster->keeper) &&
                   shoal__cluster_lanes_are_idle(cluster) && are_idle(cluster),
        .wake_after = wake_after(cluster),
        .rtt_us = cluster->rtt_us};
}

static bool may_share(const shoal__route_t *route)
{
    (void)route;
    return false;
}

static uint64_t next_wake_us(const shoal__route_t *route)
{
    const shoal__cluster_t *cluster = of_const(route);
    uint64_t wake_us =
        shoal__time_min(shoal__keeper_next_wake_us(&cluster->keeper),
                        shoal__handovers_next_wake_us(&cluster->handovers));

    if (cluster->is_touched)
        return 0;
    wake_us = shoal__time_min(wake_us, shoal__leases_next_wake_us(&cluster->leases));
    wake_us = shoal__time_min(wake_us, shoal__topology_wake_us(&cluster->topology));
    wake_us = shoal__time_min(wake_us, shoal__cluster_lanes_us(cluster));
    wake_us = shoal__time_min(wake_us, shoal__cluster_upkeep_us(cluster));
    for (unsigned i = 0; i < conns_count(cluster); i++) {
        const shoal__conn_t *conn = shoal__nodes_conn(&cluster->nodes, i);
        if (conn)
            wake_us = shoal__time_min(wake_us, shoal__pipe_next_wake_us(&conn->pipe));
    }
    return wake_us;
}

static void publish(shoal__route_t *route)
{
    shoal__conn_set_count(&of(route)->set, &of(route)->waiting);
    shoal__handovers_publish(&of(route)->handovers);
    shoal__conn_set_publish(&of(route)->set);
    shoal__cluster_publish_stuck(of(route));
}

static bool is_stuck(const shoal__route_t *route, unsigned slot, bool is_read)
{
    return shoal__cluster_is_stuck(of_const(route), slot, is_read);
}

static void shared_figures(const shoal__route_t *route, shoal_stats_t *ret_stats)
{
    shoal__cluster_t *cluster = (shoal__cluster_t *)route;

    shoal__figures_read_shared(&cluster->set, ret_stats);
    shoal__figures_add_waiting(&cluster->waiting, ret_stats);
    shoal__leases_read(&cluster->leases, ret_stats);
    ret_stats->queued_now += shoal__counter_get(&cluster->handovers.queued_now);
    ret_stats->bytes_now += shoal__counter_get(&cluster->handovers.bytes_now);
    ret_stats->views_asked = shoal__counter_get(&cluster->topology.asked_count);
    ret_stats->views_refused = shoal__counter_get(&cluster->topology.refused);
    ret_stats->completed -= shoal__counter_get(&cluster->surplus);
    ret_stats->replica_reads = shoal__counter_get(&cluster->replica_reads);
    shoal__nodes_lock(&cluster->nodes);
    ret_stats->bulk = shoal__nodes_bulk_commands(&cluster->nodes);
    shoal__nodes_unlock(&cluster->nodes);
}

static void each(const shoal__route_t *route, shoal__route_visit_fn visit, void *data)
{
    shoal__cluster_t *cluster = (shoal__cluster_t *)route;

    /* Leases lead to nodes: the names of these are read, too. */
    shoal__nodes_lock(&cluster->nodes);
    shoal__nodes_each(&cluster->nodes, visit, data);
    shoal__leases_each(&cluster->leases, visit, data);
    shoal__nodes_unlock(&cluster->nodes);
}

static int describe(const shoal__route_t *route, shoal_topology_snapshot_t *snapshot)
{
    shoal__cluster_t *cluster = (shoal__cluster_t *)route;

    shoal__snapshot_set_kind(snapshot, SHOAL_TOPOLOGY_CLUSTER);
    return shoal__nodes_describe(&cluster->nodes, &cluster->map, snapshot);
}

/* ---- the end ---- */

static bool bequeath(shoal__route_t *route, shoal__route_t *heir, uint64_t now_us)
{
    shoal__cluster_t *cluster = of(route);

    if (shoal__cluster_has_waiting(cluster) &&
        !shoal__cluster_place_waiting(cluster, heir, now_us))
        return false;
    shoal__leases_bequeath(&cluster->leases, heir->leases);
    shoal__keeper_inherit(heir->keeper, &cluster->keeper);
    return true;
}

/* A redirect may have given commands to a node whose connection was closed. */
static void close_conn(shoal__cluster_t *cluster, shoal__conn_t *conn, uint64_t now_us)
{
    const shoal__request_ring_t *ring = &conn->pipe.ring;

    shoal__conn_close(conn, now_us);
    if (ring->head == ring->tail && shoal__pipe_held(&conn->pipe) == 0)
        return;
    shoal__pipe_abandon(&conn->pipe, now_us);
    shoal__conn_set_count(&cluster->set, &conn->pipe);
}

static void shut(shoal__route_t *route, uint64_t now_us)
{
    shoal__cluster_t *cluster = of(route);

    shoal__leases_shut(&cluster->leases, now_us);
    shoal__handovers_abandon(&cluster->handovers, now_us);
    shoal__pipe_abandon(&cluster->waiting, now_us);
    for (unsigned i = 0; i < conns_count(cluster); i++) {
        shoal__conn_t *conn = shoal__nodes_conn(&cluster->nodes, i);
        if (conn)
            close_conn(cluster, conn, now_us);
    }
    shoal__spreads_turn(cluster);
    shoal__keeper_shut(&cluster->keeper);
}

static void forget(shoal__route_t *route)
{
    for (unsigned i = 0; i < conns_count(of(route)); i++) {
        shoal__conn_t *conn = shoal__nodes_conn(&of(route)->nodes, i);
        if (conn)
            shoal__conn_forget(conn);
    }
    shoal__leases_forget(&of(route)->leases);
    shoal__keeper_forget(&of(route)->keeper);
}

const shoal__route_ops_t shoal__cluster_ops = {
    .open = open_route,
    .reserve = reserve,
    .push = push,
    .refer = refer,
    .place = place,
    .turn = turn,
    .read_ahead = read_ahead,
    .cancel = cancel,
    .end_lease = end_lease,
    .authenticate = authenticate,
    .reconnect = reconnect,
    .view = view,
    .may_share = may_share,
    .next_wake_us = next_wake_us,
    .publish = publish,
    .is_stuck = is_stuck,
    .shared_figures = shared_figures,
    .each = each,
    .describe = describe,
    .bequeath = bequeath,
    .shut = shut,
    .forget = forget,
    .free = shoal__cluster_free,
};
