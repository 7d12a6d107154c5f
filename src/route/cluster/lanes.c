/* SPDX-License-Identifier: MIT */

/* Bulk lanes of nodes (bulk.h): which slots take them, and which lanes are open. */

#include "base/time_us.h"
#include "core/cluster/lane_life.h"
#include "core/pipe/pipe_lane.h"
#include "core/pipe/pipe_move.h"
#include "resp/command_slot.h"
#include "route/cluster/log_slot.h"
#include "route/cluster/state.h"
#include "route/doubts.h"
#include "route/homes.h"
#include <string.h>

#define RENEW_AGAIN_US 5000000
#define NO_MEMORY_DELAY_US 1000
/* So that the node's connection waits for a part of a large command, not for all of it. */
#define TURN_BYTES_MAX 131072

static shoal__node_t *node_of(const shoal__bulk_t *bulk)
{
    return bulk->conn.owner;
}

static bool are_twins(const shoal__node_t *node, const shoal__bulk_t *bulk)
{
    return shoal__home_has_process(&bulk->conn) &&
           shoal__home_has_process(&node->conn) &&
           shoal__home_is_same_process(&bulk->conn, &node->conn);
}

/* ---- there ---- */

/* Its next bulk command may find the lane open. */
static void want(shoal__cluster_t *cluster, shoal__node_t *node)
{
    shoal__bulk_t *bulk = shoal__node_bulk(node);

    if (!bulk)
        bulk = shoal__nodes_make_bulk(&cluster->nodes, node);
    if (!bulk)
        return;
    bulk->is_wanted = true;
    if (shoal__list_is_empty(&bulk->listed))
        shoal__list_append(&cluster->bulks.listed, &bulk->listed);
}

static bool is_command(const shoal__request_t *request)
{
    return (request->flags & (SHOAL__REQUEST_GONE | SHOAL__REQUEST_INTERNAL |
                              SHOAL__REQUEST_FENCE)) == 0;
}

/* Has the pipe a command whose key stands behind a large value, so that its slot cannot be seen?
 * Also among those that are held (core/pipe/pipe_hold.h). */
static bool hides_any(const shoal__cluster_t *cluster, const shoal__pipe_t *pipe)
{
    shoal__command_book_t *book = cluster->set.shared.overtaken.book;

    for (; pipe; pipe = pipe->pen) {
        const char *bytes = shoal__buffer_data(&pipe->log);
        if (pipe->referred_bytes == 0)
            continue;
        for (uint64_t at = pipe->ring.head; at != pipe->ring.tail; at++) {
            const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
            if (shoal__request_values(request) && is_command(request) &&
                shoal__log_slot(request, bytes, book) == SHOAL__SLOT_NONE)
                return true;
            bytes += request->bytes;
        }
    }
    return false;
}

/* A bit for each slot. */
typedef struct slot_set {
    uint8_t bits[SHOAL__SLOTS / 8];
} slot_set_t;

static bool has(const slot_set_t *slots, unsigned slot)
{
    return slots->bits[slot / 8] & 1u << slot % 8;
}

/* The slots of the commands in the pipe's registry, of one pass over it. */
static void read_slots(const shoal__cluster_t *cluster, const shoal__pipe_t *pipe,
                       slot_set_t *ret_slots)
{
    shoal__command_book_t *book = cluster->set.shared.overtaken.book;
    const char *bytes = shoal__buffer_data(&pipe->log);

    memset(ret_slots, 0, sizeof *ret_slots);
    for (uint64_t at = pipe->ring.head; at != pipe->ring.tail; at++) {
        const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
        unsigned slot = is_command(request) ? shoal__log_slot(request, bytes, book)
                                            : SHOAL__SLOT_NONE;
        if (slot < SHOAL__SLOTS)
            ret_slots->bits[slot / 8] |= (uint8_t)(1u << slot % 8);
        bytes += request->bytes;
    }
}

/* True: it is among the moves; its bulk commands are queued, and move with all others. */
static bool go_there(shoal__cluster_t *cluster, unsigned slot, shoal__slot_move_t *move)
{
    unsigned word = shoal__slot_map_word(&cluster->map, slot);
    shoal__node_t *node;
    shoal__bulk_t *bulk;

    if (word == SHOAL__SLOT_NOBODY)
        return false;
    node = shoal__cluster_node(cluster, word & SHOAL__SLOT_NOBODY);
    bulk = shoal__node_bulk(node);
    if (word & SHOAL__SLOT_LANE) {
        shoal__lane_slots_note(&bulk->slots, slot);
        return false;
    }
    if (!bulk || !shoal__bulk_is_open(bulk)) {
        want(cluster, node);
        return false;
    }
    if (!are_twins(node, bulk) || hides_any(cluster, &node->conn.pipe) ||
        !shoal__lane_slots_add(&bulk->slots, slot))
        return false;
    *move = (shoal__slot_move_t){.slot = slot,
                                 .from = &node->conn.pipe,
                                 .to = &bulk->conn.pipe,
                                 .from_conn = &node->conn,
                                 .to_conn = &bulk->conn};
    return true;
}

/* Slots whose hand-over is not over are looked at again. */
static void go_all(shoal__cluster_t *cluster, uint64_t now_us)
{
    shoal__bulks_t *bulks = &cluster->bulks;
    unsigned kept = 0;
    size_t count = 0;

    if (bulks->noted_count == 0 || !shoal__cluster_has_moves(cluster))
        return;
    for (unsigned i = 0; i < bulks->noted_count; i++) {
        unsigned slot = bulks->noted[i];
        if (shoal__slot_map_word(&cluster->map, slot) & SHOAL__SLOT_MOVES) {
            bulks->noted[kept++] = (uint16_t)slot;
            continue;
        }
        bulks->is_noted[slot / 8] &= (uint8_t) ~(1u << slot % 8);
        count += go_there(cluster, slot, &cluster->moves[count]);
    }
    bulks->noted_count = kept;
    shoal__handovers_begin(&cluster->handovers, cluster->moves, count, now_us);
    for (size_t i = 0; i < count; i++) {
        const shoal__slot_move_t *move = &cluster->moves[i];
        const shoal__node_t *node = move->to_conn->owner;
        if (!move->is_begun)
            shoal__lane_slots_remove(&shoal__node_bulk(node)->slots, move->slot);
    }
}

/* ---- and back ---- */

/* Nothing of it is there: what comes goes to the node's connection at once. */
static void return_at_once(shoal__cluster_t *cluster, shoal__bulk_t *bulk,
                           unsigned slot)
{
    shoal__slot_map_set_lane(&cluster->map, slot, false);
    shoal__lane_slots_remove(&bulk->slots, slot);
}

/* Slots whose bulk commands were answered.  A lane that was lost is greeted by now, which ends
 * the connection before: nothing of that runs any more. */
static void go_back(shoal__cluster_t *cluster, shoal__bulk_t *bulk, uint64_t now_us)
{
    shoal__node_t *node = node_of(bulk);
    shoal__pipe_t *pipe = &bulk->conn.pipe;
    slot_set_t there;
    bool is_read = false;
    uint64_t oldest_us;
    size_t count = 0;

    if (bulk->slots.count == 0 || !shoal__home_is_ready(&bulk->conn) ||
        !shoal__home_is_ready(&node->conn) || !shoal__cluster_has_moves(cluster))
        return;
    oldest_us = shoal__pipe_oldest_us(pipe);
    shoal__lane_slots_look(&bulk->slots, shoal__pipe_youngest_us(pipe));
    for (unsigned i = bulk->slots.count; i-- > 0;) {
        unsigned slot = bulk->slots.items[i].slot;
        if (!shoal__lane_slots_may_go_back(&bulk->slots, i, oldest_us))
            continue;
        if (!is_read && hides_any(cluster, pipe))
            break;
        if (!is_read)
            read_slots(cluster, pipe, &there);
        is_read = true;
        if (!has(&there, slot)) {
            return_at_once(cluster, bulk, slot);
            continue;
        }
        cluster->moves[count++] = (shoal__slot_move_t){.slot = slot,
                                                       .from = pipe,
                                                       .to = &node->conn.pipe,
                                                       .from_conn = &bulk->conn,
                                                       .to_conn = &node->conn};
        shoal__lane_slots_leave(&bulk->slots, slot);
    }
    shoal__handovers_begin(&cluster->handovers, cluster->moves, count, now_us);
    for (size_t i = 0; i < count; i++)
        if (!cluster->moves[i].is_begun)
            shoal__lane_slots_arrive(&bulk->slots, cluster->moves[i].slot);
}

/* ---- the lane ---- */

static bool is_empty(const shoal__cluster_t *cluster, const shoal__bulk_t *bulk)
{
    const shoal__pipe_t *pipe = &bulk->conn.pipe;

    return bulk->slots.count == 0 && pipe->ring.head == pipe->ring.tail &&
           shoal__pipe_held(pipe) == 0 &&
           !shoal__handovers_use(&cluster->handovers, pipe);
}

/* Could the node still run something of the lane that was lost, and will it say that it does so
 * no more (doubts.h)? */
static bool may_be_proved(const shoal__bulk_t *bulk)
{
    const shoal__former_t *former = &bulk->conn.pipe.greeting.former;
    const shoal__conn_t *conn = &node_of(bulk)->conn;

    for (unsigned i = 0; i < former->count; i++)
        if (former->entries[i].elsewhere != SHOAL__FORMER_IN_VAIN &&
            (!shoal__home_has_process(conn) ||
             shoal__former_may_be_on(former, i, conn->pipe.greeting.identity.process)))
            return true;
    return false;
}

/* Connections that come first lack a place, or leases wait for one. */
static bool is_place_wanted(const shoal__cluster_t *cluster)
{
    const shoal__places_t *places = &cluster->set.places;

    return shoal__places_are_short(places) ||
           (!shoal__places_have_room(places, false) &&
            !shoal__list_is_empty(&cluster->leases.line));
}

static shoal__lane_state_t state_of(const shoal__cluster_t *cluster,
                                    const shoal__bulk_t *bulk, uint64_t now_us)
{
    const shoal__node_t *node = node_of(bulk);
    bool have_process =
        shoal__home_has_process(&bulk->conn) && shoal__home_has_process(&node->conn);

    return (shoal__lane_state_t){
        .is_open = shoal__bulk_is_open(bulk),
        .is_ready = shoal__home_is_ready(&bulk->conn),
        .has_failed =
            bulk->conn.state == SHOAL__CONN_BACKOFF &&
            (bulk->conn.pipe.attempts_failed > 0 || !shoal__conn_may_dial(&bulk->conn)),
        .is_empty = is_empty(cluster, bulk),
        .is_wanted = bulk->is_wanted,
        .may_open = now_us >= bulk->again_us && shoal__home_has_process(&node->conn) &&
                    shoal__conn_may_dial(&bulk->conn),
        .is_owner = node->slots > 0,
        .is_short = is_place_wanted(cluster),
        .is_elsewhere =
            have_process && !shoal__home_is_same_process(&bulk->conn, &node->conn),
        .may_be_proved = may_be_proved(bulk),
        .idle_us = shoal__time_since(bulk->used_us, now_us)};
}

/* Room for all that the lane has, so that it leaves as a whole.  False: no memory. */
static bool make_room(const shoal__pipe_t *from, shoal__pipe_t *to)
{
    size_t bytes = shoal__buffer_bytes(&from->log);
    uint64_t count = shoal__request_ring_length(&from->ring);

    if (from->pen) {
        bytes += shoal__buffer_bytes(&from->pen->log);
        count += shoal__request_ring_length(&from->pen->ring);
    }
    return shoal__pipe_reserve(to, bytes, (size_t)count) != NULL;
}

/* It cannot be had for now.  None of its commands has left, and the node's connection has none
 * of the same slots. */
static void give_up(shoal__cluster_t *cluster, shoal__bulk_t *bulk, uint64_t now_us)
{
    shoal__node_t *node = node_of(bulk);
    shoal__pipe_t *from = &bulk->conn.pipe, *to = &node->conn.pipe;

    shoal__handovers_recall(&cluster->handovers, node, now_us);
    if (shoal__handovers_use(&cluster->handovers, from) || !make_room(from, to)) {
        cluster->bulks.again_us = now_us + NO_MEMORY_DELAY_US;
        return;
    }
    (void)shoal__pipe_move_held(from, to, NULL, NULL, now_us);
    (void)shoal__pipe_move_queued(from, to, NULL, NULL, now_us);
    while (bulk->slots.count > 0)
        return_at_once(cluster, bulk, bulk->slots.items->slot);
    bulk->again_us = bulk->conn.due_us;
    shoal__conn_close(&bulk->conn, now_us);
    shoal__leases_rouse(&cluster->leases);
    shoal__conn_touch(&bulk->conn);
    shoal__conn_touch(&node->conn);
}

static void look_at(shoal__cluster_t *cluster, shoal__bulk_t *bulk, uint64_t now_us)
{
    shoal__lane_state_t state;

    go_back(cluster, bulk, now_us);
    if (!is_empty(cluster, bulk) || !shoal__home_is_ready(&bulk->conn))
        bulk->used_us = now_us;
    state = state_of(cluster, bulk, now_us);
    bulk->is_wanted = false;
    switch (shoal__lane_deed(&state)) {
    case SHOAL__LANE_REST:
        break;
    case SHOAL__LANE_OPEN:
        shoal__conn_open(&bulk->conn);
        break;
    case SHOAL__LANE_GIVE_UP:
        give_up(cluster, bulk, now_us);
        break;
    case SHOAL__LANE_RENEW:
        if (now_us < bulk->renew_us)
            break;
        bulk->renew_us = now_us + RENEW_AGAIN_US;
        shoal__conn_reconnect(&bulk->conn,
                              "renewed, because the node's other connection leads to "
                              "another server process",
                              now_us);
        break;
    case SHOAL__LANE_CLOSE:
        shoal__conn_close(&bulk->conn, now_us);
        shoal__leases_rouse(&cluster->leases); /* they may get its place */
        break;
    }
}

/* Commands of the loop thread have to be looked at, too, while replies are known to be large. */
static void look_for_heavy(shoal__cluster_t *cluster, uint64_t now_us)
{
    shoal__pipe_shared_t *shared = &cluster->set.shared;

    cluster->route.must_place = !shoal__heavy_is_empty(&shared->heavy, now_us);
    shared->wants_bulk = cluster->route.must_place;
}

void shoal__cluster_turn_lanes(shoal__cluster_t *cluster, uint64_t now_us)
{
    shoal__bulks_t *bulks = &cluster->bulks;
    shoal__list_t *at;

    if (cluster->set.shared.wants_bulk)
        look_for_heavy(cluster, now_us);
    bulks->again_us = SHOAL__NEVER_US;
    go_all(cluster, now_us);
    for (at = bulks->listed.next; at != &bulks->listed;) {
        shoal__bulk_t *bulk = SHOAL__LIST_ENTRY(at, shoal__bulk_t, listed);
        at = at->next;
        if (shoal__doubts_exist(&cluster->set))
            shoal__doubts_ask(&node_of(bulk)->conn, now_us);
        look_at(cluster, bulk, now_us);
        if (!shoal__bulk_is_open(bulk))
            shoal__list_remove(&bulk->listed);
    }
}

/* When the lane is to be looked at, if nothing happens to it. */
static uint64_t wake_us(const shoal__cluster_t *cluster, const shoal__bulk_t *bulk)
{
    if (!shoal__home_is_ready(&bulk->conn))
        return SHOAL__NEVER_US;
    if (is_empty(cluster, bulk))
        return is_place_wanted(cluster)
                   ? 0
                   : shoal__time_after(bulk->used_us, SHOAL__LANE_IDLE_US);
    return are_twins(node_of(bulk), bulk) || bulk->renew_us == 0 ? SHOAL__NEVER_US
                                                                 : bulk->renew_us;
}

uint64_t shoal__cluster_lanes_us(const shoal__cluster_t *cluster)
{
    const shoal__bulks_t *bulks = &cluster->bulks;
    uint64_t at_us = bulks->again_us;

    for (const shoal__list_t *at = bulks->listed.next; at != &bulks->listed;
         at = at->next)
        at_us = shoal__time_min(
            at_us,
            wake_us(cluster, SHOAL__LIST_ENTRY(at, const shoal__bulk_t, listed)));
    return at_us;
}

bool shoal__cluster_lanes_are_idle(const shoal__cluster_t *cluster)
{
    const shoal__bulks_t *bulks = &cluster->bulks;

    if (bulks->noted_count > 0)
        return false;
    for (const shoal__list_t *at = bulks->listed.next; at != &bulks->listed;
         at = at->next) {
        const shoal__bulk_t *bulk = SHOAL__LIST_ENTRY(at, const shoal__bulk_t, listed);
        if (bulk->conn.state != SHOAL__CONN_READY || !is_empty(cluster, bulk) ||
            shoal__conn_is_renewed(&bulk->conn))
            return false;
    }
    return true;
}

/* ---- the beginning ---- */

void shoal__cluster_init_lanes(shoal__cluster_t *cluster, bool is_allowed)
{
    shoal__bulks_t *bulks = &cluster->bulks;

    bulks->is_allowed = is_allowed;
    bulks->again_us = SHOAL__NEVER_US;
    bulks->config = cluster->config;
    /* Nothing is gained by gathering what is large. */
    bulks->config.pipe.flush.mode = SHOAL_FLUSH_OFF;
    bulks->config.turn_bytes_max = TURN_BYTES_MAX;
    shoal__list_init(&bulks->listed);
}
