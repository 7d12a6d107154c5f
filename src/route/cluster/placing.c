/* SPDX-License-Identifier: MIT */

/* Commands come from the mailbox, with their slots: each goes to the owner of its slot, or
 * where commands for this slot wait. */

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/pipe/pipe_move.h"
#include "resp/command_slot.h"
#include "route/cluster/log_slot.h"
#include "route/cluster/state.h"
#include <string.h>

shoal__node_t *shoal__cluster_keyless(shoal__cluster_t *cluster)
{
    unsigned count = shoal__nodes_count(&cluster->nodes);
    shoal__node_t *node = cluster->keyless < count
                              ? shoal__cluster_node(cluster, cluster->keyless)
                              : NULL;

    if (node && node->slots > 0 && shoal__node_is_ready(node))
        return node;
    node = shoal__nodes_pick(&cluster->nodes, NULL, false, &cluster->set.random);
    if (!node || node->slots == 0)
        return NULL;
    cluster->keyless = node->index;
    return node;
}

/* ---- the way of one command ---- */

/* Others wait, and will be placed anew: it goes behind them. */
static bool goes_behind(const shoal__cluster_t *cluster)
{
    return cluster->has_waiting_news && shoal__cluster_has_waiting(cluster);
}

/* The connection of the bulk lane whose pipe this is; NULL: it is a pen. */
static shoal__conn_t *lane_of(const shoal__pipe_t *pipe)
{
    return pipe->is_pen ? NULL : SHOAL__LIST_ENTRY(pipe, shoal__conn_t, pipe);
}

/* Where commands wait for a slot that nobody owns, or that is handed over; or the pipe of the bulk
 * lane that has them. */
static shoal__pipe_t *pipe_beside(shoal__cluster_t *cluster, unsigned slot,
                                  unsigned word)
{
    if (word & SHOAL__SLOT_MOVES)
        return shoal__handovers_pen(&cluster->handovers, slot);
    if (word & SHOAL__SLOT_LANE)
        return &shoal__node_bulk(
                    shoal__cluster_node(cluster, word & SHOAL__SLOT_NOBODY))
                    ->conn.pipe;
    return &cluster->waiting;
}

/* NULL: *ret_pipe gets it, which is no node's connection. */
static inline shoal__node_t *node_of(shoal__cluster_t *cluster, unsigned slot,
                                     shoal__pipe_t **ret_pipe)
{
    unsigned word;

    *ret_pipe = &cluster->waiting;
    if (goes_behind(cluster))
        return NULL;
    if (slot >= SHOAL__SLOTS)
        return shoal__cluster_keyless(cluster);
    word = shoal__slot_map_word(&cluster->map, slot);
    if (word < SHOAL__SLOT_NOBODY)
        return shoal__cluster_node(cluster, word);
    *ret_pipe = pipe_beside(cluster, slot, word);
    return NULL;
}

/* The same for a command: a replica, if one may have it, and can. */
static shoal__node_t *node_for(shoal__cluster_t *cluster,
                               const shoal__request_t *request, unsigned slot,
                               shoal__pipe_t **ret_pen, bool *ret_is_at_replica)
{
    shoal__node_t *reader = NULL;

    if (shoal__cluster_may_read(request))
        reader = shoal__cluster_reader(cluster, slot, cluster->now_us);
    *ret_is_at_replica = reader != NULL;
    if (!reader)
        return node_of(cluster, slot, ret_pen);
    cluster->side_reads += !(request->flags & SHOAL__REQUEST_RETRIED);
    return reader;
}

/* ... and the command knows it.  Most commands are for the owner. */
static shoal__node_t *lead(shoal__cluster_t *cluster, shoal__request_t *request,
                           unsigned slot, shoal__pipe_t **ret_pen)
{
    shoal__node_t *node;
    bool is_at_replica;

    if (!(request->flags & SHOAL__REQUEST_FOR_REPLICA) && !request->is_at_replica)
        return node_of(cluster, slot, ret_pen);
    node = node_for(cluster, request, slot, ret_pen, &is_at_replica);
    request->is_at_replica = is_at_replica;
    return node;
}

void shoal__cluster_lead(shoal__cluster_t *cluster, unsigned slot, shoal__way_t *ret)
{
    shoal__pipe_t *pen;
    shoal__node_t *node = node_of(cluster, slot, &pen);

    *ret = (shoal__way_t){node ? &node->conn.pipe : pen,
                          node ? &node->conn : lane_of(pen)};
}

/* ---- all commands of a side ---- */

static bool make_room(shoal__shares_t *shares)
{
    unsigned room = shares->room ? shares->room * 2 : 16;
    void *items;

    if (shares->count < shares->room)
        return true;
    items = shoal__realloc(shares->items, room * sizeof *shares->items);
    if (!items)
        return false;
    shares->items = items;
    shares->room = room;
    return true;
}

/* Is it this one's share, and was it taken for this side? */
static bool is_share_of(const shoal__shares_t *shares, unsigned at,
                        const shoal__pipe_t *pipe)
{
    return at < shares->count && shares->items[at].pipe == pipe;
}

/* NULL: no memory. */
static shoal__share_t *share_of(shoal__shares_t *shares, shoal__node_t *node,
                                shoal__pipe_t *pen)
{
    shoal__pipe_t *pipe = node ? &node->conn.pipe : pen;
    unsigned at = 0;

    if (node)
        at = node->share;
    else
        while (at < shares->count && shares->items[at].pipe != pen)
            at++;
    if (is_share_of(shares, at, pipe))
        return &shares->items[at];
    if (!make_room(shares))
        return NULL;
    at = shares->count++;
    shares->items[at] =
        (shoal__share_t){.pipe = pipe, .conn = node ? &node->conn : lane_of(pipe)};
    if (node)
        node->share = at;
    return &shares->items[at];
}

#define NO_SHARE 0xFFFFu /* the command has parts, each of which has one */

/* Its number.  NO_SHARE: no memory. */
static unsigned give(shoal__shares_t *shares, shoal__node_t *node, shoal__pipe_t *pen,
                     size_t bytes)
{
    shoal__share_t *share = share_of(shares, node, pen);

    if (!share)
        return NO_SHARE;
    share->commands++;
    share->bytes += bytes;
    return (unsigned)(share - shares->items);
}

/* Each part of a command goes its own way.  False: no memory. */
static bool divide_parts(shoal__cluster_t *cluster, const shoal__request_t *request,
                         const char *bytes, shoal__list_t *spreads)
{
    shoal__spread_t *spread = shoal__spread_new(cluster, request, bytes);

    if (!spread)
        return false;
    shoal__list_append(spreads, &spread->listed);
    for (size_t i = 0; i < spread->parts_count; i++) {
        shoal__spread_part_t *part = &spread->parts[i];
        shoal__pipe_t *pen = NULL;
        shoal__cluster_note_part(cluster, part);
        shoal__node_t *node = part->node ? part->node
                                         : node_for(cluster, request, part->slot, &pen,
                                                    &part->is_at_replica);
        part->share = give(&cluster->shares, node, pen, part->bytes_count);
        if (part->share == NO_SHARE)
            return false;
    }
    return true;
}

/* A command for certain nodes.  Before anything is known of the cluster it waits. */
static bool divide_spread(shoal__cluster_t *cluster, shoal__request_t *request,
                          const char *bytes, shoal__list_t *spreads,
                          uint16_t *ret_share)
{
    bool waits = goes_behind(cluster) || shoal__cluster_is_in_doubt(cluster);
    shoal__node_t *node = waits ? NULL : shoal__spread_node(cluster, request);

    waits = waits || (!node && cluster->map.owned == 0);
    *ret_share = NO_SHARE;
    if (!waits && !node)
        return divide_parts(cluster, request, bytes, spreads);
    *ret_share =
        (uint16_t)give(&cluster->shares, node, &cluster->waiting, request->bytes);
    return *ret_share != NO_SHARE;
}

static bool reserve_shares(shoal__shares_t *shares)
{
    for (unsigned i = 0; i < shares->count; i++) {
        shoal__share_t *share = &shares->items[i];
        share->at = shoal__pipe_reserve(share->pipe, share->bytes, share->commands);
        if (!share->at)
            return false;
    }
    return true;
}

/* From now on the side's slots are numbers of shares.  False: no memory. */
static bool divide(shoal__cluster_t *cluster, const shoal__mailbox_side_t *side,
                   shoal__list_t *spreads)
{
    const char *bytes = shoal__buffer_data(&side->bytes);

    cluster->shares.count = 0;
    cluster->sides++;
    cluster->side_reads = 0;
    for (size_t i = 0; i < side->count; bytes += side->requests[i++].bytes) {
        shoal__request_t *request = &side->requests[i];
        unsigned slot = side->slots[i];
        shoal__pipe_t *pen = NULL;
        shoal__node_t *node;
        if (request->flags & SHOAL__REQUEST_LEASED)
            continue;
        if (slot == SHOAL__SLOT_SPREAD) {
            if (!divide_spread(cluster, request, bytes, spreads, &side->slots[i]))
                return false;
            continue;
        }
        node = lead(cluster, request, slot, &pen);
        side->slots[i] = (uint16_t)give(&cluster->shares, node, pen, request->bytes);
        if (side->slots[i] == NO_SHARE)
            return false;
    }
    return reserve_shares(&cluster->shares);
}

static void drop_spreads(shoal__list_t *spreads)
{
    while (!shoal__list_is_empty(spreads)) {
        shoal__spread_t *spread =
            SHOAL__LIST_ENTRY(spreads->next, shoal__spread_t, listed);
        shoal__list_remove(&spread->listed);
        shoal__spread_free(spread);
    }
}

/* One that was placed before was counted then. */
static void push(shoal__share_t *share, const shoal__request_t *request,
                 const char *bytes, uint64_t now_us)
{
    memcpy(share->at, bytes, request->bytes);
    share->at += request->bytes;
    if (!(request->flags & SHOAL__REQUEST_RETRIED))
        shoal__stage_times_count(&share->pipe->times, SHOAL_STAGE_QUEUED,
                                 shoal__time_since(request->submitted_us, now_us), 1);
    shoal__pipe_push(share->pipe, request);
}

static bool stage_leased(shoal__cluster_t *cluster, const shoal__mailbox_side_t *side)
{
    const char *bytes = shoal__buffer_data(&side->bytes);

    for (size_t i = 0; side->has_apart && i < side->count;
         bytes += side->requests[i++].bytes)
        if (side->requests[i].flags & SHOAL__REQUEST_LEASED &&
            !shoal__leases_stage(&cluster->leases, &side->requests[i], bytes,
                                 side->slots[i]))
            return false;
    return true;
}

static void push_parts(shoal__cluster_t *cluster, shoal__list_t *spreads,
                       uint64_t now_us)
{
    shoal__spread_t *spread;

    if (shoal__list_is_empty(spreads))
        return;
    spread = SHOAL__LIST_ENTRY(spreads->next, shoal__spread_t, listed);
    shoal__list_remove(&spread->listed);
    for (size_t i = 0; i < spread->parts_count; i++) {
        const shoal__spread_part_t *part = &spread->parts[i];
        const shoal__request_t request = shoal__spread_request(spread, i);
        push(&cluster->shares.items[part->share], &request, part->bytes, now_us);
    }
    shoal__spread_enter(spread);
}

bool shoal__cluster_place(shoal__cluster_t *cluster, const shoal__mailbox_side_t *side,
                          uint64_t now_us)
{
    shoal__shares_t *shares = &cluster->shares;
    const char *bytes = shoal__buffer_data(&side->bytes);
    shoal__list_t spreads;

    cluster->now_us = now_us;
    if (side->has_apart || cluster->route.must_place)
        shoal__cluster_note_bulk(cluster, side, now_us);
    shoal__list_init(&spreads);
    if (!stage_leased(cluster, side) || !divide(cluster, side, &spreads)) {
        shoal__leases_drop_staged(&cluster->leases);
        drop_spreads(&spreads);
        return false;
    }
    for (size_t i = 0; i < side->count; bytes += side->requests[i++].bytes) {
        shoal__request_t *request = &side->requests[i];
        if (request->flags & SHOAL__REQUEST_LEASED)
            continue;
        if (!(request->flags & SHOAL__REQUEST_RETRIED))
            request->flags &=
                (uint16_t) ~(SHOAL__REQUEST_APART | SHOAL__REQUEST_FOR_REPLICA);
        if (side->slots[i] == NO_SHARE)
            push_parts(cluster, &spreads, now_us);
        else
            push(&shares->items[side->slots[i]], request, bytes, now_us);
    }
    for (unsigned i = 0; i < shares->count; i++) {
        shoal__share_t *share = &shares->items[i];
        shoal__stage_times_taken(&share->pipe->times, share->commands, now_us);
        if (share->conn)
            shoal__conn_touch(share->conn);
        else
            cluster->is_touched = true;
    }
    if (cluster->side_reads > 0)
        shoal__counter_add(&cluster->replica_reads, cluster->side_reads);
    if (side->has_apart)
        shoal__leases_admit(&cluster->leases);
    return true;
}

/* ---- once more ---- */

/* The parts of a unit, like MULTI, go where its keys do. */
static void keep_units_together(shoal__mailbox_side_t *side)
{
    for (size_t i = 0; i < side->count; i++) {
        unsigned slot = side->slots[i];
        size_t first = i;
        if (!(side->requests[i].flags & SHOAL__REQUEST_UNIT))
            continue;
        while (!(side->requests[i].flags & SHOAL__REQUEST_UNIT_LAST)) {
            i++;
            if (slot == SHOAL__SLOT_NONE)
                slot = side->slots[i];
        }
        while (first <= i)
            side->slots[first++] = (uint16_t)slot;
    }
}

/* False: no memory. */
static bool copy_waiting(shoal__cluster_t *cluster, uint64_t count)
{
    shoal__pipe_t *waiting = &cluster->waiting;
    shoal__mailbox_side_t *side = &cluster->again;
    const char *bytes = shoal__buffer_data(&waiting->log);
    size_t left = shoal__buffer_bytes(&waiting->log);
    char *at = shoal__mailbox_side_reserve(side, left, count);

    if (!at)
        return false;
    memcpy(at, bytes, left);
    for (uint64_t i = 0; i < count; i++) {
        shoal__request_t request =
            *shoal__request_ring_at(&waiting->ring, waiting->ring.head + i);
        request.flags |= SHOAL__REQUEST_RETRIED;
        shoal__mailbox_side_note_slot(side,
                                      shoal__log_slot(&request, bytes, &cluster->book));
        shoal__mailbox_side_push(side, &request);
        bytes += request.bytes;
    }
    keep_units_together(side);
    return true;
}

bool shoal__cluster_place_waiting(shoal__cluster_t *cluster, shoal__route_t *route,
                                  uint64_t now_us)
{
    shoal__pipe_t *waiting = &cluster->waiting;
    bool is_placed;
    uint64_t count;

    shoal__pipe_sweep(waiting);
    count = shoal__request_ring_length(&waiting->ring);
    cluster->has_waiting_news = false; /* they are not behind themselves */
    is_placed = copy_waiting(cluster, count) &&
                route->ops->place(route, &cluster->again, now_us);
    shoal__mailbox_side_clear(&cluster->again);
    cluster->has_waiting_news = !is_placed;
    if (is_placed)
        shoal__pipe_drop_moved(waiting, count, now_us);
    return is_placed;
}
