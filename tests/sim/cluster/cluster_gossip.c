/* SPDX-License-Identifier: MIT */

/* What the nodes believe of each other, and how slots and roles change: as servers do it
 * (cluster_legacy.c of Valkey), but for the messages' form. */

#include "sim/cluster/cluster_world.h"
#include <string.h>

#define PAUSE_US_MAX 200000

static unsigned any_node(cluster_world_t *world)
{
    return sim_dice_below(&world->dice, CLUSTER_NODES);
}

/* Any that is like that, or else any. */
static unsigned any_node_that(cluster_world_t *world,
                              bool (*is_wanted)(const cluster_node_t *))
{
    unsigned first = any_node(world);

    for (unsigned i = 0; i < CLUSTER_NODES; i++)
        if (is_wanted(&world->nodes[(first + i) % CLUSTER_NODES]))
            return (first + i) % CLUSTER_NODES;
    return first;
}

static bool is_in_trouble(const cluster_node_t *node)
{
    return node->is_paused || node->troubles % 2 > 0;
}

static bool may_talk(const cluster_node_t *node)
{
    return node->is_up && !node->is_stopped && !node->is_apart;
}

static bool is_primary(const cluster_node_t *node)
{
    return node->primary_of[node->index] == node->index;
}

static bool is_owner(const cluster_node_t *node, unsigned block)
{
    return is_primary(node) && node->owner[block] == node->index;
}

static unsigned blocks_of(const cluster_node_t *node)
{
    unsigned count = 0;

    for (unsigned block = 0; block < CLUSTER_BLOCKS; block++)
        count += is_owner(node, block);
    return count;
}

/* Does the block go from this node to another, or come to it? */
static bool is_moving(const cluster_node_t *node)
{
    for (unsigned block = 0; block < CLUSTER_BLOCKS; block++)
        if (node->migrates_to[block] != CLUSTER_NOBODY ||
            node->imports_from[block] != CLUSTER_NOBODY)
            return true;
    return false;
}

static void copy_data(cluster_node_t *to, const cluster_node_t *from)
{
    memcpy(to->has_key, from->has_key, sizeof to->has_key);
    memcpy(to->last, from->last, sizeof to->last);
}

static void copy_key(cluster_node_t *to, const cluster_node_t *from, unsigned block,
                     unsigned key)
{
    to->has_key[block][key] = from->has_key[block][key];
    for (unsigned thread = 0; thread < CLUSTER_THREADS; thread++)
        to->last[thread][block][key] = from->last[thread][block][key];
}

void cluster_gossip_begin(cluster_world_t *world)
{
    unsigned primaries = CLUSTER_NODES / 2;

    world->epoch = primaries;
    for (unsigned i = 0; i < CLUSTER_NODES; i++) {
        cluster_node_t *node = &world->nodes[i];
        *node = (cluster_node_t){.index = i, .is_up = true};
        for (unsigned j = 0; j < CLUSTER_NODES; j++) {
            node->primary_of[j] = (uint8_t)(j % primaries);
            node->epoch[j] = j < primaries ? j + 1 : 0;
        }
        for (unsigned block = 0; block < CLUSTER_BLOCKS; block++) {
            node->owner[block] = (uint8_t)(block % primaries);
            node->migrates_to[block] = node->imports_from[block] = CLUSTER_NOBODY;
            for (unsigned key = 0; key < CLUSTER_KEYS; key++)
                node->has_key[block][key] = block % primaries == i % primaries;
        }
    }
}

/* ---- gossip ---- */

/* It has lost its last slot: it becomes a replica of the node that took it. */
static void step_down(cluster_world_t *world, cluster_node_t *node, unsigned primary)
{
    node->primary_of[node->index] = (uint8_t)primary;
    node->is_paused = false;
    for (unsigned block = 0; block < CLUSTER_BLOCKS; block++)
        node->migrates_to[block] = node->imports_from[block] = CLUSTER_NOBODY;
    copy_data(node, &world->nodes[primary]);
    cluster_world_note(world, "demoted", node->index, primary);
}

static bool takes_over(const cluster_node_t *node, unsigned block, unsigned from,
                       uint64_t epoch)
{
    unsigned owner = node->owner[block];

    return owner != from && node->imports_from[block] == CLUSTER_NOBODY &&
           (owner == CLUSTER_NOBODY || node->is_unclaimed[block] ||
            node->epoch[owner] < epoch);
}

/* `to` hears what `from` says of itself. */
void cluster_gossip_learn(cluster_world_t *world, unsigned to, unsigned from)
{
    cluster_node_t *node = &world->nodes[to];
    const cluster_node_t *other = &world->nodes[from];
    bool was_owner = blocks_of(node) > 0;

    if (to == from)
        return;
    if (other->epoch[from] > node->epoch[from])
        node->epoch[from] = other->epoch[from];
    node->primary_of[from] = other->primary_of[from];
    for (unsigned block = 0; block < CLUSTER_BLOCKS; block++) {
        if (node->owner[block] == from)
            node->is_unclaimed[block] = !is_owner(other, block);
        if (!is_owner(other, block) ||
            !takes_over(node, block, from, other->epoch[from]))
            continue;
        node->owner[block] = (uint8_t)from;
        node->is_unclaimed[block] = false;
        node->migrates_to[block] = CLUSTER_NOBODY;
    }
    if (was_owner && blocks_of(node) == 0)
        step_down(world, node, from);
}

/* `from` also hears, if it claims what another node with a higher epoch has. */
static void correct(cluster_world_t *world, unsigned to, unsigned from)
{
    const cluster_node_t *node = &world->nodes[to];
    const cluster_node_t *other = &world->nodes[from];

    for (unsigned block = 0; block < CLUSTER_BLOCKS; block++) {
        unsigned owner = node->owner[block];
        if (is_owner(other, block) && owner != CLUSTER_NOBODY && owner != from &&
            !node->is_unclaimed[block] && node->epoch[owner] > other->epoch[from])
            cluster_gossip_learn(world, from, owner);
    }
}

void cluster_gossip_spread(cluster_world_t *world)
{
    unsigned to = any_node(world), from = any_node(world);

    if (to == from || !may_talk(&world->nodes[to]) || !may_talk(&world->nodes[from]))
        return;
    cluster_gossip_learn(world, to, from);
    correct(world, to, from);
}

/* ---- slots move ---- */

static unsigned owner_of(const cluster_world_t *world, unsigned block)
{
    unsigned node = 0;

    while (node + 1 < CLUSTER_NODES && !is_owner(&world->nodes[node], block))
        node++;
    return node;
}

/* A block begins to move, key by key. */
void cluster_gossip_migrate(cluster_world_t *world)
{
    unsigned block = sim_dice_below(&world->dice, CLUSTER_BLOCKS);
    unsigned from = owner_of(world, block), to = any_node_that(world, is_primary);
    cluster_node_t *source = &world->nodes[from], *target = &world->nodes[to];

    if (from == to || !is_owner(source, block) || !may_talk(source) ||
        !may_talk(target) || !is_primary(target) || source->is_paused ||
        target->is_paused || blocks_of(source) < 2 || is_moving(source) ||
        is_moving(target) || target->owner[block] != from)
        return;
    if (!world->rates.has_ask) { /* as a whole */
        for (unsigned key = 0; key < CLUSTER_KEYS; key++)
            copy_key(target, source, block, key);
        memset(source->has_key[block], 0, sizeof source->has_key[block]);
        target->epoch[to] = ++world->epoch;
        target->owner[block] = (uint8_t)to;
        target->is_unclaimed[block] = false;
        cluster_gossip_learn(world, from, to);
        world->sights.atomic++;
        cluster_world_note(world, "atomic", block, to);
        return;
    }
    target->imports_from[block] = (uint8_t)from;
    memset(target->has_key[block], 0, sizeof target->has_key[block]);
    source->migrates_to[block] = (uint8_t)to;
    world->sights.migrations++;
    cluster_world_note(world, "migrate", block, to);
}

static void finish(cluster_world_t *world, cluster_node_t *source, unsigned block)
{
    cluster_node_t *target = &world->nodes[source->migrates_to[block]];

    if (target->imports_from[block] == source->index && is_primary(target)) {
        target->imports_from[block] = CLUSTER_NOBODY;
        target->epoch[target->index] = ++world->epoch;
        target->owner[block] = (uint8_t)target->index;
        target->is_unclaimed[block] = false;
        return; /* the source hears it the next time, or by gossip */
    }
    source->migrates_to[block] = CLUSTER_NOBODY;
    if (!is_owner(target, block)) /* it has lost its role meanwhile */
        return;
    source->owner[block] = (uint8_t)target->index;
    source->epoch[target->index] = target->epoch[target->index];
}

/* Keys of one block go, one by one; behind the last one the slot has another owner. */
void cluster_gossip_move_keys(cluster_world_t *world)
{
    cluster_node_t *source = &world->nodes[any_node_that(world, is_moving)];
    bool is_complete = true;

    for (unsigned block = 0; block < CLUSTER_BLOCKS; block++) {
        unsigned to = source->migrates_to[block];
        if (to == CLUSTER_NOBODY || !may_talk(source) || source->is_paused ||
            !may_talk(&world->nodes[to]))
            continue;
        for (unsigned key = 0; key < CLUSTER_KEYS; key++) {
            if (source->has_key[block][key] && sim_dice_hits(&world->dice, 400)) {
                copy_key(&world->nodes[to], source, block, key);
                source->has_key[block][key] = false;
                world->sights.keys++;
            }
            is_complete = is_complete && !source->has_key[block][key];
        }
        if (is_complete)
            finish(world, source, block);
        return;
    }
}

/* ---- roles ---- */

static cluster_node_t *replica_of(cluster_world_t *world, unsigned primary)
{
    for (unsigned i = 0; i < CLUSTER_NODES; i++) {
        cluster_node_t *node = &world->nodes[i];
        if (i != primary && node->primary_of[i] == primary && may_talk(node) &&
            !is_moving(node))
            return node;
    }
    return NULL;
}

/* A replica takes the place of its primary: while that one waits for it, or by force. */
void cluster_gossip_failover(cluster_world_t *world, bool is_forced)
{
    cluster_node_t *primary = &world->nodes[any_node_that(world, is_primary)];
    cluster_node_t *replica = replica_of(world, primary->index);

    if (!replica || blocks_of(primary) == 0 || is_moving(primary) ||
        (!is_forced && (!may_talk(primary) || primary->is_paused)))
        return;
    if (!is_forced) {
        copy_data(replica, primary);
        primary->is_paused = true;
        primary->paused_us = world->now_us;
    }
    for (unsigned block = 0; block < CLUSTER_BLOCKS; block++)
        if (is_owner(primary, block)) {
            replica->owner[block] = (uint8_t)replica->index;
            replica->is_unclaimed[block] = false;
        }
    replica->epoch[replica->index] = ++world->epoch;
    replica->primary_of[replica->index] = (uint8_t)replica->index;
    world->sights.forced += is_forced;
    world->sights.planned += !is_forced;
    cluster_world_note(world, is_forced ? "forced" : "planned", primary->index,
                       replica->index);
}

/* A planned failover ends when the former primary hears of the next one. */
static void resume(cluster_world_t *world, cluster_node_t *node)
{
    if (!node->is_paused)
        return;
    for (unsigned i = 0; i < CLUSTER_NODES; i++)
        if (may_talk(&world->nodes[i]))
            cluster_gossip_learn(world, node->index, i);
    node->is_paused = false;
}

void cluster_gossip_resume(cluster_world_t *world)
{
    for (unsigned i = 0; i < CLUSTER_NODES; i++)
        if (world->now_us > world->nodes[i].paused_us + PAUSE_US_MAX)
            resume(world, &world->nodes[i]);
}

void cluster_gossip_replicate(cluster_world_t *world)
{
    const cluster_node_t *primary = &world->nodes[any_node_that(world, is_primary)];

    for (unsigned i = 0; is_primary(primary) && i < CLUSTER_NODES; i++) {
        cluster_node_t *replica = &world->nodes[i];
        if (i != primary->index && replica->primary_of[i] == primary->index &&
            may_talk(replica) && may_talk(primary))
            copy_data(replica, primary);
    }
}

/* ---- trouble ---- */

/* An odd number of them: one is under way. */
static void begin_trouble(cluster_node_t *node)
{
    node->troubles += node->troubles % 2 == 0;
}

void cluster_gossip_kill(cluster_world_t *world)
{
    cluster_node_t *node = &world->nodes[any_node(world)];

    if (!node->is_up || is_moving(node))
        return;
    begin_trouble(node);
    node->is_up = node->is_paused = false;
    node->kills++;
    for (unsigned i = 0; i < CLUSTER_LINKS; i++)
        if (world->links[i].is_used && world->links[i].node == node->index) {
            world->sights.losses += world->links[i].is_open;
            cluster_net_lose(&world->links[i]);
        }
    world->sights.kills++;
    cluster_world_note(world, "kill", node->index, 0);
}

void cluster_gossip_stop(cluster_world_t *world)
{
    cluster_node_t *node = &world->nodes[any_node(world)];

    begin_trouble(node);
    node->is_stopped = true;
    world->sights.stops++;
    cluster_world_note(world, "stop", node->index, 0);
}

void cluster_gossip_cut(cluster_world_t *world)
{
    cluster_node_t *node = &world->nodes[any_node(world)];

    begin_trouble(node);
    if (sim_dice_hits(&world->dice, 512))
        node->is_cut = true;
    else
        node->is_apart = true;
    world->sights.cuts++;
    cluster_world_note(world, "cut", node->index, node->is_apart);
}

/* A node that comes back hears the others before it serves, if it was killed: its data are
 * gone. */
static void heal(cluster_world_t *world, cluster_node_t *node)
{
    bool was_up = node->is_up;

    node->troubles += node->troubles % 2;
    node->is_up = true;
    node->is_stopped = node->is_cut = node->is_apart = false;
    if (was_up)
        return;
    memset(node->last, 0, sizeof node->last);
    for (unsigned i = 0; i < CLUSTER_NODES; i++)
        if (may_talk(&world->nodes[i]))
            cluster_gossip_learn(world, node->index, i);
}

void cluster_gossip_heal(cluster_world_t *world)
{
    cluster_node_t *node = &world->nodes[any_node_that(world, is_in_trouble)];

    resume(world, node);
    heal(world, node);
    cluster_world_note(world, "heal", node->index, 0);
}

void cluster_gossip_settle(cluster_world_t *world)
{
    for (unsigned i = 0; i < CLUSTER_NODES; i++) {
        heal(world, &world->nodes[i]);
        world->nodes[i].loading_until_us = 0;
    }
    for (unsigned i = 0; i < CLUSTER_NODES; i++)
        for (unsigned block = 0; block < CLUSTER_BLOCKS; block++) {
            cluster_node_t *source = &world->nodes[i];
            unsigned to = source->migrates_to[block];
            if (to == CLUSTER_NOBODY)
                continue;
            for (unsigned key = 0; key < CLUSTER_KEYS; key++)
                if (source->has_key[block][key]) {
                    copy_key(&world->nodes[to], source, block, key);
                    source->has_key[block][key] = false;
                }
            finish(world, source, block);
            if (source->migrates_to[block] != CLUSTER_NOBODY)
                finish(world, source, block);
        }
    for (unsigned i = 0; i < CLUSTER_NODES; i++)
        for (unsigned block = 0; block < CLUSTER_BLOCKS; block++)
            world->nodes[i].imports_from[block] = CLUSTER_NOBODY;
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < CLUSTER_NODES * CLUSTER_NODES; i++) {
            cluster_gossip_learn(world, i / CLUSTER_NODES, i % CLUSTER_NODES);
            correct(world, i / CLUSTER_NODES, i % CLUSTER_NODES);
        }
    for (unsigned i = 0; i < CLUSTER_NODES; i++)
        world->nodes[i].is_paused = false;
}
