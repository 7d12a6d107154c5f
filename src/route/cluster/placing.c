/* SPDX-License-Identifier: MIT */

/* Commands come from the mailbox, with their slots: each goes to the owner of its slot, or
 * where commands for this slot wait. */

#include "base/alloc.h"
#include "base/time_us.h"
#include "resp/command_slot.h"
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
    node = shoal__nodes_pick(&cluster->nodes, NULL, &cluster->set.random);
    if (!node || node->slots == 0)
        return NULL;
    cluster->keyless = node->index;
    return node;
}

/* ---- the way of one command ---- */

/* NULL: the owner of the slot is not known, or a hand-over is under way: *ret_pen. */
static shoal__node_t *node_of(shoal__cluster_t *cluster, unsigned slot,
                              shoal__pipe_t **ret_pen)
{
    shoal__node_t *node = NULL;
    unsigned word;

    *ret_pen = &cluster->waiting;
    if (cluster->has_waiting_news && shoal__cluster_has_waiting(cluster))
        return NULL; /* behind them */
    if (slot >= SHOAL__SLOTS)
        return shoal__cluster_keyless(cluster);
    word = shoal__slot_map_word(&cluster->map, slot);
    if (word & SHOAL__SLOT_MOVES)
        *ret_pen = shoal__handovers_pen(&cluster->handovers, slot);
    else if (word != SHOAL__SLOT_NOBODY)
        node = shoal__cluster_node(cluster, word);
    return node;
}

void shoal__cluster_lead(shoal__cluster_t *cluster, unsigned slot, shoal__way_t *ret)
{
    shoal__pipe_t *pen;
    shoal__node_t *node = node_of(cluster, slot, &pen);

    *ret = (shoal__way_t){node ? &node->conn.pipe : pen, node ? &node->conn : NULL};
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
        (shoal__share_t){.pipe = pipe, .conn = node ? &node->conn : NULL};
    if (node)
        node->share = at;
    return &shares->items[at];
}

/* From now on the side's slots are numbers of shares.  False: no memory. */
static bool divide(shoal__cluster_t *cluster, const shoal__mailbox_side_t *side)
{
    shoal__shares_t *shares = &cluster->shares;

    shares->count = 0;
    for (size_t i = 0; i < side->count; i++) {
        if (side->requests[i].flags & SHOAL__REQUEST_LEASED)
            continue;
        shoal__pipe_t *pen;
        shoal__node_t *node = node_of(cluster, side->slots[i], &pen);
        shoal__share_t *share = share_of(shares, node, pen);
        if (!share)
            return false;
        side->slots[i] = (uint16_t)(share - shares->items);
        share->commands++;
        share->bytes += side->requests[i].bytes;
    }
    for (unsigned i = 0; i < shares->count; i++) {
        shoal__share_t *share = &shares->items[i];
        share->at = shoal__pipe_reserve(share->pipe, share->bytes, share->commands);
        if (!share->at)
            return false;
    }
    return true;
}

static void push(shoal__share_t *share, const shoal__request_t *request,
                 const char *bytes, uint64_t now_us)
{
    memcpy(share->at, bytes, request->bytes);
    share->at += request->bytes;
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

bool shoal__cluster_place(shoal__cluster_t *cluster, const shoal__mailbox_side_t *side,
                          uint64_t now_us)
{
    shoal__shares_t *shares = &cluster->shares;
    const char *bytes = shoal__buffer_data(&side->bytes);

    if (!stage_leased(cluster, side) || !divide(cluster, side)) {
        shoal__leases_drop_staged(&cluster->leases);
        return false;
    }
    for (size_t i = 0; i < side->count; bytes += side->requests[i++].bytes) {
        shoal__request_t *request = &side->requests[i];
        if (request->flags & SHOAL__REQUEST_LEASED)
            continue;
        request->flags &= (uint16_t)~SHOAL__REQUEST_APART;
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
    if (side->has_apart)
        shoal__leases_admit(&cluster->leases);
    return true;
}
