/* SPDX-License-Identifier: MIT */

/* Slots change their owner, because a redirect or a view says so: the map follows, and
 * hand-overs begin. */

#include "base/alloc.h"
#include "route/cluster/state.h"
#include <stdio.h>
#include <string.h>

static void count_slot(shoal__cluster_t *cluster, unsigned node, int by)
{
    if (node != SHOAL__SLOT_NOBODY)
        shoal__cluster_node(cluster, node)->slots += (unsigned)by;
}

/* Changes of the map that the hand-overs have to follow. */
typedef struct changes {
    shoal__cluster_t *cluster;
    size_t count;
    unsigned changed; /* slots that have another owner than before */
} changes_t;

bool shoal__cluster_has_moves(shoal__cluster_t *cluster)
{
    if (!cluster->moves)
        cluster->moves = shoal__malloc(SHOAL__SLOTS * sizeof *cluster->moves);
    return cluster->moves != NULL;
}

/* Where the commands of a slot are; `word`: of the map, without MOVES. */
static shoal__pipe_t *pipe_of(shoal__cluster_t *cluster, unsigned word,
                              shoal__conn_t **ret_conn)
{
    shoal__conn_t *conn = NULL;

    if (word & SHOAL__SLOT_LANE)
        conn =
            &shoal__node_bulk(shoal__cluster_node(cluster, word & SHOAL__SLOT_NOBODY))
                 ->conn;
    else if (word != SHOAL__SLOT_NOBODY)
        conn = &shoal__cluster_node(cluster, word)->conn;
    *ret_conn = conn;
    return conn ? &conn->pipe : &cluster->waiting;
}

/* The commands of a slot leave the bulk lane with it, or stay there after all. */
static void leave_lane(const shoal__slot_move_t *move)
{
    shoal__node_t *node = move->from_conn->owner;

    if (move->from_conn != &node->conn)
        shoal__lane_slots_remove(&shoal__node_bulk(node)->slots, move->slot);
}

/* Does a replica take slots of its primary?  The first one says it for all. */
static void note_heir(shoal__cluster_t *cluster, unsigned from, unsigned to)
{
    shoal__node_t *heir =
        to == SHOAL__SLOT_NOBODY ? NULL : shoal__cluster_node(cluster, to);

    if (!heir || heir->role != SHOAL_NODE_REPLICA || from == SHOAL__SLOT_NOBODY ||
        heir->primary != from)
        return;
    heir->heir_of = from;
    shoal__nodes_set_role(&cluster->nodes, heir, SHOAL_NODE_PRIMARY,
                          SHOAL__SLOT_NOBODY);
}

static void on_changed(void *data, unsigned slot, unsigned word, unsigned to)
{
    changes_t *changes = data;
    shoal__cluster_t *cluster = changes->cluster;
    shoal__slot_move_t *move = &cluster->moves[changes->count];
    unsigned from = word & SHOAL__SLOT_NOBODY;
    count_slot(cluster, from, -1);
    count_slot(cluster, to, 1);
    if (to != SHOAL__SLOT_NOBODY) /* before the first command for the slot */
        shoal__cluster_end_reading(shoal__cluster_node(cluster, to), cluster->now_us);
    changes->changed++;
    note_heir(cluster, from, to);
    if (from == SHOAL__SLOT_NOBODY)
        return; /* what waits goes on at once: shoal__cluster_keep_up() */
    *move = (shoal__slot_move_t){.slot = slot};
    move->from = pipe_of(cluster, word, &move->from_conn);
    move->to = pipe_of(cluster, to, &move->to_conn);
    changes->count++;
}

/* Without memory for a hand-over commands for the slot go on to the former owner, which
 * redirects them. */
static void undo(shoal__cluster_t *cluster, const shoal__slot_move_t *move)
{
    const shoal__node_t *node = move->from_conn->owner;
    unsigned now = shoal__slot_map_owner(&cluster->map, move->slot);

    count_slot(cluster, now, -1);
    count_slot(cluster, node->index, 1);
    shoal__slot_map_set(&cluster->map, move->slot, node->index);
    if (move->from_conn != &node->conn)
        shoal__slot_map_set_lane(&cluster->map, move->slot, true);
}

static void begin(changes_t *changes, uint64_t now_us)
{
    shoal__cluster_t *cluster = changes->cluster;

    shoal__handovers_begin(&cluster->handovers, cluster->moves, changes->count, now_us);
    for (size_t i = 0; i < changes->count; i++)
        if (cluster->moves[i].is_begun) {
            leave_lane(&cluster->moves[i]);
        } else {
            undo(cluster, &cluster->moves[i]);
            changes->changed--;
        }
    cluster->map_changes += changes->changed > 0;
    cluster->is_touched = cluster->has_waiting_news = true;
    shoal__leases_rouse(&cluster->leases);
    shoal__cluster_count(cluster);
    shoal__cluster_list_readers(cluster, now_us);
    if (changes->changed > 0)
        shoal__cluster_doubt_roles(cluster, now_us);
}

void shoal__cluster_disown(shoal__cluster_t *cluster, const shoal__node_t *node,
                           uint64_t now_us)
{
    changes_t changes = {.cluster = cluster};

    if (node->slots == 0 || !shoal__cluster_has_moves(cluster))
        return;
    shoal__handovers_recall(&cluster->handovers, node, now_us);
    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        if (shoal__slot_map_is_at(&cluster->map, slot, node->index)) {
            unsigned word = shoal__slot_map_word(&cluster->map, slot);
            shoal__slot_map_set(&cluster->map, slot, SHOAL__SLOT_NOBODY);
            on_changed(&changes, slot, word, SHOAL__SLOT_NOBODY);
        }
    begin(&changes, now_us);
}

/* A replica has taken slots of its primary. */
static void tell_heirs(const shoal__cluster_t *cluster)
{
    char detail[3 * SHOAL__TARGET_NAME_BYTES];

    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        shoal__node_t *node = shoal__cluster_node(cluster, i);
        if (node->heir_of == SHOAL__SLOT_NOBODY)
            continue;
        snprintf(detail, sizeof detail, "%s has taken slots of its primary %s",
                 node->name, shoal__cluster_node(cluster, node->heir_of)->name);
        node->heir_of = SHOAL__SLOT_NOBODY;
        shoal__cluster_tell(node, SHOAL_EVENT_FAILOVER, detail);
    }
}

static void tell(const shoal__cluster_t *cluster, const shoal__node_t *by,
                 unsigned changed)
{
    char detail[2 * SHOAL__TARGET_NAME_BYTES];

    if (changed == 0)
        return;
    snprintf(detail, sizeof detail, "%u slot%s other owners now, %s says", changed,
             changed == 1 ? " has" : "s have", by->name);
    shoal__cluster_tell(by, SHOAL_EVENT_MAP_CHANGED, detail);
    tell_heirs(cluster);
}

/* ---- redirects ---- */

static void heed_redirects(shoal__cluster_t *cluster, uint64_t now_us)
{
    changes_t changes = {.cluster = cluster};
    unsigned from = SHOAL__SLOT_NOBODY;

    if (cluster->told_count == 0 || !shoal__cluster_has_moves(cluster))
        return;
    for (unsigned i = 0; i < cluster->told_count; i++) {
        unsigned slot = cluster->told_slots[i], to = cluster->told[slot];
        unsigned word = shoal__slot_map_word(&cluster->map, slot);
        cluster->told[slot] = SHOAL__SLOT_NOBODY;
        if (!shoal__slot_map_patch(&cluster->map, slot, to, now_us))
            continue;
        from = word & SHOAL__SLOT_NOBODY; /* there is one: it said so */
        on_changed(&changes, slot, word, to);
    }
    cluster->told_count = 0;
    begin(&changes, now_us);
    if (from != SHOAL__SLOT_NOBODY)
        tell(cluster, shoal__cluster_node(cluster, from), changes.changed);
}

/* ---- views ---- */

/* Is the node that answered the one that named this node, perhaps by another address? */
static bool is_namer(const shoal__cluster_t *cluster, const shoal__node_t *node,
                     const shoal__view_t *view)
{
    const shoal__node_t *namer = shoal__cluster_node(cluster, node->named_by);

    return namer == cluster->topology.asked ||
           (view->self[0] && strcmp(namer->id, view->self) == 0);
}

/* An owner is a primary, whatever an old view says. */
static void list_role(shoal__cluster_t *cluster, shoal__node_t *node, unsigned primary)
{
    bool is_replica = primary != SHOAL__SLOT_NOBODY && node->slots == 0;

    shoal__nodes_set_role(&cluster->nodes, node,
                          is_replica ? SHOAL_NODE_REPLICA : SHOAL_NODE_PRIMARY,
                          is_replica ? primary : SHOAL__SLOT_NOBODY);
}

/* One that owned slots, and the view does not have it: whatever it is, it is no primary that is
 * known. */
static void unlist_role(shoal__cluster_t *cluster, shoal__node_t *node)
{
    if (node->role == SHOAL_NODE_PRIMARY && node->slots == 0)
        shoal__nodes_set_role(&cluster->nodes, node, SHOAL_NODE_UNKNOWN,
                              SHOAL__SLOT_NOBODY);
}

/* From now on the client uses the nodes that the view lists.  But a node that was named by a
 * redirect of the very node that answered is used only if no other node can be asked. */
static void list(shoal__cluster_t *cluster, const shoal__view_t *view)
{
    const shoal__node_t *by = cluster->topology.asked;
    bool is_alone =
        !shoal__nodes_pick(&cluster->nodes, by, false, &cluster->set.random);

    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        shoal__node_t *node = shoal__cluster_node(cluster, i);
        bool is_doubtful =
            node->named_us > 0 && is_namer(cluster, node, view) && !is_alone;
        node->has_failed = view->has_failed[i];
        if (is_doubtful)
            continue;
        shoal__nodes_list(&cluster->nodes, node, view->ids[i][0] ? view->ids[i] : NULL);
        if (!node->is_listed) {
            unlist_role(cluster, node);
            continue;
        }
        list_role(cluster, node, view->primaries[i]);
        if (node->named_us > 0 && !shoal__node_is_open(node))
            node->conn.pipe.detail[0] = '\0'; /* it is doubted no longer */
        cluster->map_changes += node->named_us > 0 && node->slots > 0;
        node->named_us = 0;
    }
}

static void merge(shoal__cluster_t *cluster, uint64_t now_us)
{
    shoal__topology_t *topology = &cluster->topology;
    const shoal__view_t *view = topology->view;
    changes_t changes = {.cluster = cluster};
    shoal__slot_merged_t merged = {.is_refused = true};
    bool is_known;

    if (!shoal__cluster_has_moves(cluster)) {
        shoal__topology_merged(topology, false, false);
        return;
    }
    is_known = cluster->map.owned == 0 ||
               shoal__topology_believes(view->knows_us, cluster->foreign_us, now_us);
    if (is_known && cluster->map.owned > 0 && !view->knows_us)
        shoal__slot_map_forget_epochs(&cluster->map);
    if (is_known)
        cluster->foreign_us = 0;
    else if (cluster->foreign_us == 0)
        cluster->foreign_us = now_us;
    if (is_known)
        merged = shoal__slot_map_merge(&cluster->map, &view->slots, view->epochs,
                                       on_changed, &changes);
    if (!merged.is_refused)
        list(cluster, view);
    begin(&changes, now_us);
    tell(cluster, topology->asked, changes.changed);
    shoal__topology_merged(topology, merged.is_refused, changes.changed > 0);
    if (!merged.is_refused)
        shoal__topology_note_lack(&topology->rule, view->lacks_nodes,
                                  shoal__nodes_count(&cluster->nodes), now_us,
                                  &cluster->set.random);
    /* Another node may confirm it; a hand-over will be over soon. */
    if (merged.doubtful > 0 || merged.held > 0 || merged.is_refused)
        shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_URGENT, NULL, now_us);
}

void shoal__cluster_heed(shoal__cluster_t *cluster, uint64_t now_us)
{
    /* What is on its way to a lane, or back, would keep the slot from changing its owner. */
    if (cluster->told_count > 0 || cluster->topology.is_view_ready)
        shoal__handovers_recall(&cluster->handovers, NULL, now_us);
    heed_redirects(cluster, now_us);
    if (cluster->topology.is_view_ready)
        merge(cluster, now_us);
}
