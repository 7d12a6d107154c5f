/* SPDX-License-Identifier: MIT */

/* Leases and blocking commands have connections of their own, to the node that owns the slot of
 * their keys.  A blocking command that is refused follows its slot: nothing was popped. */

#include "core/backoff.h"
#include "core/error_rule.h"
#include "resp/command_slot.h"
#include "route/cluster/state.h"

#define NAMED_US 2000000 /* so long a node that was named may take to be ready */
#define QUICK_HOPS 2     /* then it waits at each node */
#define PAUSE_US 10000
#define PAUSE_US_MAX 250000

static shoal__node_t *node_of(const shoal__conn_t *site)
{
    return SHOAL__LIST_ENTRY(site, shoal__node_t, conn);
}

/* ---- which node ---- */

/* A name may have become the alias of another node. */
static shoal__node_t *find_node(shoal__cluster_t *cluster, shoal_lease_t *lease)
{
    shoal__node_t *named = lease->named;
    unsigned owner;

    if (named && cluster->now_us < lease->named_until_us)
        return shoal__nodes_find(&cluster->nodes, named->host, named->endpoint.port,
                                 NULL);
    lease->named = NULL;
    lease->is_asked = false;
    if (lease->slot >= SHOAL__SLOTS)
        return shoal__cluster_keyless(cluster);
    owner = shoal__slot_map_owner(&cluster->map, lease->slot);
    return owner == SHOAL__SLOT_NOBODY ? NULL : shoal__cluster_node(cluster, owner);
}

static shoal__conn_t *find_site(void *route, shoal_lease_t *lease)
{
    shoal__cluster_t *cluster = route;
    shoal__node_t *node = find_node(cluster, lease);

    if (!node || shoal__cluster_doubts(node))
        return NULL;
    node->is_leased = true;
    cluster->is_touched |= !shoal__node_is_open(node);
    return shoal__node_is_ready(node) ? &node->conn : NULL;
}

static bool has_since(const void *route, const shoal_lease_t *lease,
                      const shoal__conn_t *site, uint64_t until_us)
{
    const shoal__cluster_t *cluster = route;
    const shoal__bulk_t *bulk = shoal__node_bulk(node_of(site));

    if (bulk && (shoal__pipe_has_since(&bulk->conn.pipe, until_us) ||
                 shoal__handovers_lane_has_since(&cluster->handovers, site, until_us)))
        return true;
    return (lease->slot < SHOAL__SLOTS &&
            (shoal__slot_map_word(&cluster->map, lease->slot) & SHOAL__SLOT_MOVES)) ||
           shoal__pipe_has_since(&site->pipe, until_us) ||
           (cluster->has_waiting_news &&
            shoal__pipe_has_since(&cluster->waiting, until_us));
}

/* ---- refusals ---- */

static void put_off(shoal__cluster_t *cluster, shoal_lease_t *lease, unsigned failures,
                    uint64_t now_us)
{
    shoal__backoff_t backoff = {PAUSE_US, PAUSE_US_MAX, failures};

    lease->again_us =
        now_us + shoal__backoff_next(&backoff, &cluster->set.random, PAUSE_US / 2);
}

/* MOVED or ASK.  False: it is followed no further. */
static bool follow(shoal__cluster_t *cluster, shoal__node_t *from, shoal_lease_t *lease,
                   const shoal__slot_redirect_t *named)
{
    uint64_t now_us = from->conn.pipe.now_us;
    shoal__node_t *to = shoal__cluster_named(cluster, from, named);

    if (lease->hops >= SHOAL__HANDOVER_HOPS_MAX || (!to && named->to.port != 0))
        return false;
    lease->named = to;
    lease->named_until_us = now_us + NAMED_US;
    lease->is_asked = to && named->is_ask;
    if (++lease->hops > QUICK_HOPS || to == from || !to)
        put_off(cluster, lease, lease->hops, now_us);
    if (!to) /* the next view will say */
        shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_URGENT, NULL, now_us);
    else if (!named->is_ask)
        shoal__cluster_hear_moved(cluster, from, named->slot, to, false);
    return true;
}

/* An error that names nobody.  A command that was asked goes to the owner of its slot. */
static bool wait_for_another(shoal__cluster_t *cluster, shoal__link_t *link,
                             const shoal__request_t *request, shoal__bytes_t error)
{
    const shoal__error_input_t input = {
        .text = error,
        .command_class = request->command_class,
        .is_once = (request->flags & SHOAL__REQUEST_ONCE) != 0};
    shoal__error_verdict_t verdict = shoal__error_rule(&input);
    shoal_lease_t *lease = link->lease;
    uint64_t now_us = link->conn.pipe.now_us;

    if (verdict == SHOAL__ERROR_SURFACE || link->conn.config->pipe.attempts_max <= 1)
        return false;
    lease->named = NULL;
    put_off(cluster, lease, lease->refusals++, now_us);
    if (verdict != SHOAL__ERROR_HOLD_ALONE)
        shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_URGENT, NULL, now_us);
    /* A server that was demoted closes the connection. */
    link->must_close |=
        verdict == SHOAL__ERROR_REDIAL_LEFT || verdict == SHOAL__ERROR_REDIAL_ROLE;
    return true;
}

static bool on_refused(void *route, shoal__link_t *link,
                       const shoal__request_t *request, shoal__bytes_t error)
{
    shoal__cluster_t *cluster = route;
    shoal__node_t *from = node_of(link->site);
    shoal__slot_redirect_t named;

    if (!shoal__redirect_read_slot(error, &named))
        return wait_for_another(cluster, link, request, error);
    if (named.slot != link->lease->slot || (request->flags & SHOAL__REQUEST_ONCE))
        return false;
    from->conn.pipe.now_us = link->conn.pipe.now_us;
    return follow(cluster, from, link->lease, &named);
}

/* ---- for the route ---- */

void shoal__cluster_init_leases(shoal__cluster_t *cluster)
{
    const shoal__leases_plan_t plan = {.config = &cluster->config,
                                       .sites = {.find = find_site,
                                                 .has_since = has_since,
                                                 .on_refused = on_refused,
                                                 .route = cluster},
                                       .set = &cluster->set,
                                       .home = &cluster->waiting,
                                       .first_id = SHOAL__NODES_MAX + 1,
                                       .hooks = &cluster->hooks,
                                       .owner = cluster->owner,
                                       .count = &cluster->route.counts->leases};

    shoal__leases_init(&cluster->leases, &plan);
}

void shoal__cluster_mark_leased(shoal__cluster_t *cluster, bool is_leased)
{
    const shoal__list_t *busy = &cluster->leases.busy;

    for (const shoal__list_t *at = busy->next; at != busy; at = at->next)
        node_of(SHOAL__LIST_ENTRY(at, const shoal__link_t, node)->site)->is_leased =
            is_leased;
}
