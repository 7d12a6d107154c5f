/* SPDX-License-Identifier: MIT */

/* The beginning of a route to a cluster, and its memory. */

#include "base/alloc.h"
#include "net/conn_set.h"
#include "route/cluster.h"
#include "route/cluster/state.h"
#include <shoal/errors.h>

void shoal__cluster_free(shoal__route_t *route)
{
    shoal__cluster_t *cluster = (shoal__cluster_t *)route;

    shoal__leases_release(&cluster->leases);
    shoal__topology_release(&cluster->topology);
    shoal__handovers_release(&cluster->handovers);
    shoal__pipe_release(&cluster->waiting);
    shoal__nodes_release(&cluster->nodes);
    shoal__conn_set_release(&cluster->set);
    shoal__config_release(&cluster->config);
    shoal__keeper_release(&cluster->keeper);
    shoal__free(cluster->shares.items);
    shoal__mailbox_side_release(&cluster->again);
    shoal__book_release(&cluster->book);
    shoal__free(cluster->moves);
    shoal__free(cluster->bulks.noted);
    shoal__free(cluster);
}

/* Connections on their way at the same time: handshakes of TLS take the loop's time. */
#define DIALS_MAX 8
#define DIALS_TLS_MAX 4

/* 0 or SHOAL_ENOMEM. */
static int add_seeds(shoal__cluster_t *cluster, const shoal_options_t *options)
{
    for (unsigned i = 0; i < options->addresses_count; i++) {
        const shoal__option_address_t *address = &options->addresses[i];
        shoal__node_t *node =
            shoal__nodes_find(&cluster->nodes, address->host, address->port, NULL);
        if (!node)
            return SHOAL_ENOMEM;
        node->is_seed = true;
    }
    return 0;
}

static int init_nodes(shoal__cluster_t *cluster, const shoal_options_t *options)
{
    const shoal__node_plan_t plan = {.config = &cluster->config,
                                     .bulk_config = &cluster->bulks.config,
                                     .hooks = &shoal__cluster_hooks,
                                     .bulk_hooks = &shoal__cluster_lane_hooks,
                                     .map = &options->map,
                                     .origin = &cluster->target,
                                     .zone = shoal__options_zone(options),
                                     .set = &cluster->set,
                                     .owner = cluster};

    return shoal__nodes_init(&cluster->nodes, &plan);
}

static int init_waiting(shoal__cluster_t *cluster)
{
    const shoal__pipe_parts_t parts = {&cluster->config.pipe, &cluster->target,
                                       &cluster->set.shared};
    const shoal__pipe_hooks_t hooks = {.on_result = shoal__cluster_waiting_result,
                                       .on_overdue = shoal__cluster_why_waits};
    int rc = shoal__pipe_init(&cluster->waiting, &parts, &hooks, cluster);

    cluster->waiting.is_pen = true;
    return rc;
}

static void init_plain(shoal__cluster_t *cluster, const shoal_options_t *options,
                       const shoal__route_hooks_t *hooks, void *owner)
{
    bool is_sure = options->topology != SHOAL_TOPOLOGY_AUTO;

    cluster->route =
        (shoal__route_t){.ops = &shoal__cluster_ops,
                         .counts = hooks->counts,
                         .goes_by_slot = true,
                         .book = &cluster->book,
                         .places_all = shoal__options_use_replicas(options),
                         .found = is_sure ? SHOAL__FOUND_CLUSTER : SHOAL__FOUND_NOTHING,
                         .tls = cluster->config.dial.tls};
    cluster->takes_near_primary = options->read_from == SHOAL_READ_ZONE_OR_PRIMARY;
    cluster->hooks = *hooks;
    cluster->owner = owner;
    cluster->target = (shoal__target_t){.name = "the cluster"};
    /* Replies of several nodes come at the same time. */
    cluster->config.pipe.keeps_units = true;
    cluster->config.pipe.is_ordinary = false;
    cluster->config.pipe.flush.has_company = true;
    cluster->config.pipe.greeting.finds_mode = !is_sure;
    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        cluster->told[slot] = SHOAL__SLOT_NOBODY;
    shoal__slot_map_init(&cluster->map);
    shoal__list_init(&cluster->spreads);
    shoal__list_init(&cluster->spreads_due);
    shoal__buffer_init(&cluster->again.bytes);
    cluster->again.has_slots = true;
    shoal__handovers_init(&cluster->handovers, &cluster->set, &cluster->map);
    shoal__topology_init(&cluster->topology, &cluster->nodes);
    shoal__cluster_init_leases(cluster);
    shoal__cluster_init_lanes(cluster, options->has_bulk_lane);
}

int shoal__cluster_new(const shoal_options_t *options, uint64_t seed,
                       const shoal__route_hooks_t *hooks, void *owner,
                       shoal__route_t **ret_route)
{
    shoal__cluster_t *cluster = shoal__calloc(1, sizeof *cluster);
    int rc;

    if (!cluster)
        return SHOAL_ENOMEM;
    rc = shoal__config_read(options, &cluster->config);
    if (rc < 0)
        goto fail_config;
    init_plain(cluster, options, hooks, owner);
    rc = shoal__keeper_init(&cluster->keeper,
                            &(shoal__keeper_plan_t){options, &cluster->route,
                                                    &cluster->target, hooks, owner});
    if (rc < 0)
        goto fail_keeper;
    rc = shoal__conn_set_init(&cluster->set, seed, &hooks->counts->account);
    if (rc < 0)
        goto fail_set;
    cluster->set.shared.scripts = hooks->scripts;
    cluster->set.shared.overtaken.book = &cluster->book;
    cluster->set.places.max = options->connections_max;
    cluster->set.dialing_max = cluster->config.dial.tls ? DIALS_TLS_MAX : DIALS_MAX;
    rc = init_waiting(cluster);
    if (rc < 0)
        goto fail_waiting;
    rc = init_nodes(cluster, options);
    if (rc < 0)
        goto fail_nodes;
    rc = add_seeds(cluster, options);
    if (rc < 0)
        goto fail_seeds;
    *ret_route = &cluster->route;
    return 0;

fail_seeds:
    shoal__nodes_release(&cluster->nodes);
fail_nodes:
    shoal__pipe_release(&cluster->waiting);
fail_waiting:
    shoal__conn_set_release(&cluster->set);
fail_set:
    shoal__keeper_release(&cluster->keeper);
fail_keeper:
    shoal__config_release(&cluster->config);
fail_config:
    shoal__free(cluster);
    return rc;
}
