/* SPDX-License-Identifier: MIT */

/* A command goes to several nodes, to a certain one, or to the owners of several slots. */

#include "base/alloc.h"
#include "core/cluster/fan_rule.h"
#include "core/cluster/split_rule.h"
#include "route/cluster/state.h"
#include <shoal/errors.h>
#include <string.h>

/* ---- nodes ---- */

static unsigned route_of(const shoal__request_t *request)
{
    return request->extra ? request->extra->route : SHOAL_ROUTE_AUTO;
}

/* Of commands that were accepted before the client knew that it has a cluster. */
static int refusal_of(const shoal__request_t *request)
{
    return request->extra ? request->extra->refusal : 0;
}

shoal__node_t *shoal__spread_node(const shoal__cluster_t *cluster,
                                  const shoal__request_t *request)
{
    const char *name = route_of(request) == SHOAL_ROUTE_NODE && refusal_of(request) == 0
                           ? request->extra->route_node
                           : NULL;

    for (unsigned i = 0; name && i < shoal__nodes_count(&cluster->nodes); i++) {
        shoal__node_t *node = shoal__cluster_node(cluster, i);
        if (shoal__node_is_known(node) &&
            (strcmp(node->name, name) == 0 || strcmp(node->id, name) == 0))
            return node;
    }
    return NULL;
}

static bool is_target(const shoal__node_t *node, unsigned route)
{
    return node->slots > 0 || (route == SHOAL_ROUTE_NODES && node->is_listed);
}

/* ---- parts ---- */

/* Room for the parts, of which none is there. */
static shoal__spread_t *new_spread(shoal__cluster_t *cluster,
                                   const shoal__request_t *request,
                                   shoal__gather_policy_t policy, size_t parts)
{
    shoal__gather_t *gather = shoal__gather_new(policy, parts);
    shoal__spread_t *spread =
        gather ? shoal__arena_alloc(gather->arena,
                                    sizeof *spread + parts * sizeof *spread->parts)
               : NULL;

    if (!spread) {
        if (gather)
            shoal__arena_release(gather->arena);
        return NULL;
    }
    *spread =
        (shoal__spread_t){.cluster = cluster, .request = *request, .gather = gather};
    shoal__list_init(&spread->listed);
    return spread;
}

static const char *why_not(int status)
{
    switch (status) {
    case SHOAL_ECROSSSLOT:
        return "the server is a cluster, and the keys belong to several of its slots: "
               "give "
               "them a common {tag}";
    case SHOAL_EREFUSED:
        return "the server is a cluster, and the command concerns several of its "
               "nodes: say "
               "which of them get it (route), and do not keep it together with others";
    default:
        return "the cluster has no such node";
    }
}

/* It has one part, which nobody executes. */
static shoal__spread_t *new_failed(shoal__cluster_t *cluster,
                                   const shoal__request_t *request)
{
    shoal__spread_t *spread = new_spread(cluster, request, SHOAL__GATHER_BY_NODE, 1);
    const char *name = request->extra ? request->extra->route_node : NULL;
    int status = refusal_of(request) < 0 ? refusal_of(request) : SHOAL_ENOENT;
    const shoal_result_t result = {.status = status,
                                   .fate = SHOAL_FATE_NOT_EXECUTED,
                                   .detail = why_not(status),
                                   .node = name};

    if (!spread)
        return NULL;
    shoal__gather_take(spread->gather, 0, &result);
    return spread;
}

static void add_node(shoal__spread_t *spread, shoal__node_t *node, const char *bytes)
{
    size_t at = spread->parts_count++;

    spread->parts[at] = (shoal__spread_part_t){
        .node = node, .bytes = bytes, .bytes_count = spread->request.bytes};
    spread->gather->parts->items[at].node = node->name;
}

/* The same command for several nodes. */
static shoal__spread_t *new_for_nodes(shoal__cluster_t *cluster,
                                      const shoal__request_t *request,
                                      const char *bytes, unsigned route,
                                      shoal__gather_policy_t policy)
{
    unsigned count = 0;
    shoal__spread_t *spread;

    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++)
        count += is_target(shoal__cluster_node(cluster, i), route);
    spread = new_spread(cluster, request, policy, count);
    if (!spread)
        return NULL;
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        shoal__node_t *node = shoal__cluster_node(cluster, i);
        if (is_target(node, route))
            add_node(spread, node, bytes);
    }
    spread->extra = shoal__extra_new(count, 0);
    if (!spread->extra) {
        shoal__spread_free(spread);
        return NULL;
    }
    spread->extra->route = SHOAL_ROUTE_NODE;
    return spread;
}

/* False: no memory. */
static bool set_places(shoal__gather_t *gather, const shoal__split_t *split)
{
    shoal__gather_place_t *places =
        shoal__arena_alloc(gather->arena, split->keys_count * sizeof *places);

    for (size_t i = 0; places && i < split->keys_count; i++)
        places[i] = split->keys[i].place;
    gather->places = places;
    gather->places_count = split->keys_count;
    return places != NULL;
}

/* False: no memory. */
static bool add_slots(shoal__spread_t *spread, shoal__split_t *split)
{
    shoal__gather_t *gather = spread->gather;
    char *bytes = shoal__arena_alloc(gather->arena, split->bytes);

    if (!bytes || !set_places(gather, split))
        return false;
    shoal__split_write(split, bytes);
    for (size_t i = 0; i < split->parts_count; i++) {
        const shoal__split_part_t *part = &split->parts[i];
        spread->parts[i] = (shoal__spread_part_t){
            .slot = part->slot, .bytes = bytes, .bytes_count = part->bytes};
        gather->parts->items[i].slot_1 = part->slot + 1;
        bytes += part->bytes;
    }
    spread->parts_count = split->parts_count;
    return true;
}

/* A command over keys of several slots: a part for each slot. */
static shoal__spread_t *new_for_slots(shoal__cluster_t *cluster,
                                      const shoal__request_t *request,
                                      const char *bytes)
{
    shoal__split_t *split = shoal__split_new((shoal__bytes_t){bytes, request->bytes});
    shoal__spread_t *spread =
        split ? new_spread(cluster, request, split->policy, split->parts_count) : NULL;

    if (spread && !add_slots(spread, split)) {
        shoal__spread_free(spread);
        spread = NULL;
    }
    shoal__split_free(split);
    return spread;
}

shoal__spread_t *shoal__spread_new(shoal__cluster_t *cluster,
                                   const shoal__request_t *request, const char *bytes)
{
    unsigned route = route_of(request);
    shoal__fan_t fan;

    if (refusal_of(request) < 0)
        return new_failed(cluster, request);
    if (route == SHOAL_ROUTE_PRIMARIES || route == SHOAL_ROUTE_NODES)
        return new_for_nodes(cluster, request, bytes, route, SHOAL__GATHER_BY_NODE);
    if (route == SHOAL_ROUTE_AUTO) {
        fan = shoal__fan_of_encoded((shoal__bytes_t){bytes, request->bytes});
        return shoal__fan_is_wide(&fan)
                   ? new_for_nodes(cluster, request, bytes, fan.route, fan.policy)
                   : new_for_slots(cluster, request, bytes);
    }
    return new_failed(cluster, request);
}

void shoal__spread_free(shoal__spread_t *spread)
{
    shoal__free(spread->extra);
    shoal__arena_release(spread->gather->arena);
}

static void on_part(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client, (void)result, (void)data; /* see shoal__spread_take() */
}

bool shoal__spread_is_part(const shoal__request_t *request)
{
    return request->on_result == on_part;
}

#define CALLERS_FLAGS                                                                  \
    (SHOAL__REQUEST_IDEMPOTENT | SHOAL__REQUEST_ONCE | SHOAL__REQUEST_URGENT)

shoal__request_t shoal__spread_request(shoal__spread_t *spread, size_t part)
{
    shoal__request_t request = spread->request;

    request.on_result = on_part;
    request.data = spread;
    request.tag = part;
    request.extra = spread->extra;
    request.bytes = spread->parts[part].bytes_count;
    request.flags &= CALLERS_FLAGS;
    request.is_at_replica = spread->parts[part].is_at_replica;
    request.has_more = 0;
    return request;
}

void shoal__spread_enter(shoal__spread_t *spread)
{
    shoal__cluster_t *cluster = spread->cluster;
    bool is_due = spread->gather->left == 0;

    shoal__list_append(is_due ? &cluster->spreads_due : &cluster->spreads,
                       &spread->listed);
    cluster->is_touched = cluster->is_touched || is_due;
}

/* ---- results ---- */

/* A reply that is no error goes to the caller's sink, if there is one. */
static void feed_sink(const shoal__extra_t *extra, shoal_result_t *result)
{
    if (!extra || !extra->sink || extra->is_sink_shared || !result->reply ||
        result->reply->type == SHOAL_REPLY_ERROR)
        return;
    shoal__reply_to_sink(result->reply, extra->sink, extra->sink_data);
    result->reply = NULL;
}

/* A part has its result.  True: so have all. */
static bool take(shoal__spread_t *spread, uint64_t part, const shoal_result_t *result,
                 const char *node)
{
    shoal_result_t named = *result;

    named.node = node;
    return shoal__gather_take(spread->gather, (size_t)part, &named);
}

/* The result goes to the caller; or that of its one part to the spread of which this was a
 * part, for a node that is gone.  Returns that one, if it has all results then. */
static shoal__spread_t *pass_on(const shoal__spread_t *spread,
                                const shoal_result_t *result)
{
    const shoal__request_t *request = &spread->request;
    shoal__spread_t *whole = request->data;

    if (shoal__spread_is_part(request))
        return take(whole, request->tag, spread->gather->parts->items, NULL) ? whole
                                                                             : NULL;
    spread->cluster->hooks.on_result(spread->cluster->owner, request, result);
    return NULL;
}

static void finish(shoal__spread_t *spread)
{
    while (spread) {
        shoal__spread_t *whole;
        shoal__arena_t *arena = spread->gather->arena;
        shoal__extra_t *extra = spread->request.extra;
        shoal_result_t result;
        shoal__list_remove(&spread->listed);
        /* What pipes counted, beyond the caller's command; without a part it wraps, as the
         * sum does. */
        shoal__counter_add(&spread->cluster->surplus,
                           (uint64_t)spread->parts_count - 1);
        shoal__gather_result(spread->gather, &result);
        result.tag = spread->request.tag;
        result.ticket = spread->request.ticket;
        feed_sink(extra, &result);
        shoal__extra_drop(extra);
        whole = pass_on(spread, &result);
        shoal__arena_release(arena);
        spread = whole;
    }
}

void shoal__spread_take(const shoal__request_t *request, const shoal_result_t *result,
                        const char *node)
{
    if (take(request->data, request->tag, result, node))
        finish(request->data);
}

void shoal__spreads_turn(shoal__cluster_t *cluster)
{
    shoal__list_t due;

    /* Callbacks may add others: those are for the next turn. */
    shoal__list_move(&cluster->spreads_due, &due);
    while (!shoal__list_is_empty(&due))
        finish(SHOAL__LIST_ENTRY(due.next, shoal__spread_t, listed));
}

bool shoal__spreads_have(const shoal__cluster_t *cluster, uint64_t ticket)
{
    const shoal__list_t *spreads = &cluster->spreads;

    for (const shoal__list_t *at = spreads->next; at != spreads; at = at->next)
        if (SHOAL__LIST_ENTRY(at, shoal__spread_t, listed)->request.ticket == ticket)
            return true;
    return false;
}
