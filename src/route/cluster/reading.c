/* SPDX-License-Identifier: MIT */

/* Reads at replicas: which replica of a shard takes them, and where they go if it does not.
 *
 * A read that went to a replica is marked (is_at_replica): it has no place among the commands
 * of its slot.  So it may go on to another replica, or to the owner, by itself.
 *
 * The connection of a replica says READONLY before it is read from.  A node that owned the
 * slots would not redirect such a connection after it has become a replica: so READWRITE goes
 * ahead of whatever is sent to it as to an owner. */

#include "base/time_us.h"
#include "core/pipe/pipe_move.h"
#include "resp/command_slot.h"
#include "route/cluster/log_slot.h"
#include "route/cluster/state.h"
#include <stdio.h>

/* A primary whose slots another node has taken becomes its replica, some time later. */
#define ROLES_US 1000000
#define ROLES_US_MAX 60000000

/* ---- which node ---- */

static shoal__replica_facts_t facts_of(const shoal__node_t *node)
{
    shoal__replica_facts_t facts = shoal__role_watch_facts(&node->watch);

    facts.is_ready = facts.is_ready && !node->is_silent &&
                     !shoal__places_are_short(&node->conn.set->places);
    return facts;
}

static bool is_usable(const shoal__node_t *node, uint64_t now_us)
{
    const shoal__replica_facts_t facts = facts_of(node);

    return node->role == SHOAL_NODE_REPLICA && node->slots == 0 &&
           shoal__replica_is_usable(&facts, now_us);
}

/* NULL: none is usable. */
static shoal__node_t *choose(shoal__cluster_t *cluster, shoal__readers_t *readers,
                             uint64_t now_us)
{
    const shoal__node_t *primary = SHOAL__LIST_ENTRY(readers, shoal__node_t, readers);
    bool is_primary_near = cluster->takes_near_primary &&
                           shoal__node_is_ready(primary) &&
                           shoal__role_watch_is_near(&primary->watch);
    shoal__replica_facts_t facts[SHOAL_REPLICAS_MAX];
    size_t at;

    for (unsigned i = 0; i < readers->count; i++)
        facts[i] = facts_of(shoal__cluster_node(cluster, readers->nodes[i]));
    at = shoal__replica_choose(&readers->choice, facts, readers->count, is_primary_near,
                               &cluster->set.random, now_us);
    readers->can_read = at != SHOAL__REPLICA_NONE;
    return at == SHOAL__REPLICA_NONE ? NULL
                                     : shoal__cluster_node(cluster, readers->nodes[at]);
}

static shoal__readers_t *readers_of(const shoal__cluster_t *cluster, unsigned slot)
{
    unsigned owner = slot < SHOAL__SLOTS ? shoal__slot_map_owner(&cluster->map, slot)
                                         : SHOAL__SLOT_NOBODY;

    return owner == SHOAL__SLOT_NOBODY ? NULL
                                       : &shoal__cluster_node(cluster, owner)->readers;
}

/* The first read of the shard. */
static void want(shoal__cluster_t *cluster, shoal__readers_t *readers, uint64_t now_us)
{
    readers->are_wanted = true;
    cluster->is_touched = true;
    if (cluster->has_readers)
        return;
    cluster->has_readers = true;
    shoal__cluster_list_readers(cluster, now_us);
    shoal__cluster_doubt_roles(cluster, now_us);
}

shoal__node_t *shoal__cluster_reader(shoal__cluster_t *cluster, unsigned slot,
                                     uint64_t now_us)
{
    shoal__readers_t *readers = readers_of(cluster, slot);

    if (!readers)
        return NULL;
    if (!readers->are_wanted)
        want(cluster, readers, now_us);
    if (readers->serial != cluster->sides) {
        readers->serial = cluster->sides;
        readers->chosen = choose(cluster, readers, now_us);
    }
    return readers->chosen;
}

void shoal__cluster_list_readers(shoal__cluster_t *cluster, uint64_t now_us)
{
    if (!cluster->has_readers)
        return;
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        shoal__readers_t *readers = &shoal__cluster_node(cluster, i)->readers;
        readers->count_before = readers->count;
        readers->count = 0;
    }
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        const shoal__node_t *node = shoal__cluster_node(cluster, i);
        shoal__readers_t *readers;
        if (node->role != SHOAL_NODE_REPLICA || !node->is_listed || node->slots > 0 ||
            node->primary == SHOAL__SLOT_NOBODY)
            continue;
        readers = &shoal__cluster_node(cluster, node->primary)->readers;
        if (readers->count < SHOAL_REPLICAS_MAX)
            readers->nodes[readers->count++] = (uint16_t)i;
    }
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        const shoal__readers_t *readers = &shoal__cluster_node(cluster, i)->readers;
        if (readers->are_wanted && readers->count < readers->count_before)
            shoal__cluster_doubt_roles(cluster, now_us); /* they may come back */
    }
}

void shoal__cluster_doubt_roles(shoal__cluster_t *cluster, uint64_t now_us)
{
    cluster->roles_pause_us = ROLES_US;
    cluster->roles_us = now_us + ROLES_US;
}

void shoal__cluster_look_at_roles(shoal__cluster_t *cluster, uint64_t now_us)
{
    if (now_us < shoal__cluster_roles_us(cluster))
        return;
    cluster->roles_pause_us *= 2;
    cluster->roles_us = cluster->roles_pause_us > ROLES_US_MAX
                            ? SHOAL__NEVER_US
                            : now_us + cluster->roles_pause_us;
    shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_SOON, NULL, now_us);
}

uint64_t shoal__cluster_roles_us(const shoal__cluster_t *cluster)
{
    return cluster->has_readers ? cluster->roles_us : SHOAL__NEVER_US;
}

void shoal__cluster_end_reading(shoal__node_t *node, uint64_t now_us)
{
    if (node->watch.is_readonly && shoal__node_is_open(node))
        shoal__role_watch_end_readonly(&node->watch, now_us);
}

/* ---- errors ---- */

/* Another replica, or NULL. */
static shoal__node_t *other_reader(shoal__cluster_t *cluster, const shoal__node_t *from,
                                   unsigned slot, uint64_t now_us)
{
    shoal__readers_t *readers = readers_of(cluster, slot);
    shoal__node_t *node = readers ? choose(cluster, readers, now_us) : NULL;

    return node == from ? NULL : node;
}

bool shoal__cluster_pass_on(shoal__node_t *from, const shoal__request_t *request,
                            const char *bytes, shoal__bytes_t error)
{
    shoal__cluster_t *cluster = from->owner;
    shoal__replica_verdict_t verdict = shoal__replica_on_error(error);
    uint64_t now_us = from->conn.pipe.now_us;
    unsigned slot = shoal__log_slot(request, bytes, &cluster->book);
    shoal__request_t again = *request;
    shoal__node_t *reader = NULL;
    shoal__way_t way;

    if (!request->is_at_replica || verdict == SHOAL__REPLICA_STANDARD)
        return false;
    again.attempts = (request->attempts + 1u) & SHOAL__REQUEST_ATTEMPTS_MAX;
    if (verdict == SHOAL__REPLICA_ELSEWHERE) {
        from->watch.refused_us = now_us;
        if (!shoal__replica_has_failed(again.attempts))
            reader = other_reader(cluster, from, slot, now_us);
    } else {
        shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_SOON, NULL, now_us);
    }
    if (reader)
        way = (shoal__way_t){&reader->conn.pipe, &reader->conn};
    else
        shoal__cluster_lead(cluster, slot, &way);
    again.is_at_replica = reader != NULL;
    if (way.pipe == &from->conn.pipe || /* it is the owner by now */
        shoal__pipe_adopt(way.pipe, &again, bytes, now_us) < 0)
        return false;
    if (way.conn)
        shoal__conn_touch(way.conn);
    else
        cluster->is_touched = true;
    return true;
}

/* ---- upkeep ---- */

bool shoal__cluster_reads_at(const shoal__cluster_t *cluster, const shoal__node_t *node)
{
    const shoal__node_t *primary;

    if (!cluster->has_readers || node->role != SHOAL_NODE_REPLICA || !node->is_listed ||
        node->primary == SHOAL__SLOT_NOBODY)
        return false;
    primary = shoal__cluster_node(cluster, node->primary);
    return primary->readers.are_wanted && primary->slots > 0;
}

/* READONLY waits until the node owes nothing: what it had as an owner, and what it holds of
 * that, must not find READONLY before it. */
static bool may_ask(const shoal__cluster_t *cluster, const shoal__node_t *node)
{
    return node->slots == 0 && shoal__cluster_reads_at(cluster, node) &&
           (node->watch.is_readonly || shoal__node_is_empty(node));
}

uint64_t shoal__cluster_ask_us(const shoal__node_t *node)
{
    return may_ask(node->owner, node) ? shoal__role_watch_wake_us(&node->watch)
                                      : SHOAL__NEVER_US;
}

static void tell_of_zone(shoal__cluster_t *cluster, shoal__node_t *node)
{
    char detail[SHOAL__TARGET_NAME_BYTES + 64];

    if (!node->watch.lacks_zone)
        return;
    node->watch.lacks_zone = false;
    if (cluster->has_told_zone)
        return;
    cluster->has_told_zone = true;
    snprintf(detail, sizeof detail, "%s does not say in which zone it is", node->name);
    shoal__cluster_tell(node, SHOAL_EVENT_ZONE_UNKNOWN, detail);
}

static bool is_read(void *data, const shoal__request_t *request, const char *bytes)
{
    (void)data, (void)bytes;
    return request->is_at_replica;
}

/* They are placed anew.  Without memory they stay: the next look tries again. */
static void leave(shoal__cluster_t *cluster, shoal__node_t *node, uint64_t now_us)
{
    shoal__pipe_t *pipe = &node->conn.pipe;

    if (shoal__pipe_queued(pipe) + shoal__pipe_held(pipe) == 0)
        return;
    if (shoal__pipe_move_held(pipe, &cluster->waiting, is_read, NULL, now_us) == 0)
        (void)shoal__pipe_move_queued(pipe, &cluster->waiting, is_read, NULL, now_us);
    cluster->has_waiting_news = true;
    shoal__conn_touch(&node->conn);
}

void shoal__cluster_look_at_reads(shoal__cluster_t *cluster, shoal__node_t *node,
                                  uint64_t now_us)
{
    if (!cluster->has_readers)
        return;
    tell_of_zone(cluster, node);
    if (node->slots > 0) {
        shoal__cluster_end_reading(node, now_us);
        if (cluster->takes_near_primary && node->readers.are_wanted)
            shoal__role_watch_ask_zone(&node->watch, now_us);
    } else if (may_ask(cluster, node))
        shoal__role_watch_ask(&node->watch, now_us);
    if (node->slots == 0 && !is_usable(node, now_us))
        leave(cluster, node, now_us);
}

bool shoal__cluster_owes_reads(const shoal__node_t *node)
{
    const shoal__request_ring_t *ring = &node->conn.pipe.ring;

    if (!node->is_silent || node->slots > 0)
        return false;
    for (uint64_t at = ring->head; at != ring->sent; at++)
        if (shoal__request_ring_at(ring, at)->is_at_replica)
            return true;
    return false;
}
