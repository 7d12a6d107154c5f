/* SPDX-License-Identifier: MIT */
#include "core/snapshot.h"

#include "base/alloc.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_BYTES 64

typedef struct item {
    shoal_node_info_t info; /* its pointers are set when the snapshot is sealed */
    unsigned primary;
    char name[SHOAL_SERVER_NAME_BYTES];
    char host[SHOAL_SERVER_NAME_BYTES];
    char id[ID_BYTES];
} item_t;

struct shoal_topology_snapshot {
    shoal_topology_t kind;
    item_t *items;
    size_t count, room;
    shoal_slot_range_t *ranges;    /* of all nodes, node after node */
    uint16_t owners[SHOAL__SLOTS]; /* or NONE */
};

shoal_topology_snapshot_t *shoal__snapshot_new(void)
{
    shoal_topology_snapshot_t *snapshot = shoal__calloc(1, sizeof *snapshot);

    if (!snapshot)
        return NULL;
    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        snapshot->owners[slot] = SHOAL__SNAPSHOT_NONE;
    return snapshot;
}

void shoal__snapshot_free(shoal_topology_snapshot_t *snapshot)
{
    if (!snapshot)
        return;
    shoal__free(snapshot->items);
    shoal__free(snapshot->ranges);
    shoal__free(snapshot);
}

void shoal__snapshot_set_kind(shoal_topology_snapshot_t *snapshot,
                              shoal_topology_t kind)
{
    snapshot->kind = kind;
}

/* ---- nodes ---- */

static bool make_room(shoal_topology_snapshot_t *snapshot)
{
    size_t room = snapshot->room ? snapshot->room * 2 : 8;
    item_t *items;

    if (snapshot->count < snapshot->room)
        return true;
    items = shoal__realloc(snapshot->items, room * sizeof *items);
    if (!items)
        return false;
    snapshot->items = items;
    snapshot->room = room;
    return true;
}

/* "host:port" or "[host]:port"; a path has neither. */
static void split_name(item_t *item)
{
    const char *colon = strrchr(item->name, ':');
    bool is_path = item->name[0] == '/' || !colon;
    size_t bytes = is_path ? strlen(item->name) : (size_t)(colon - item->name);
    bool is_bracketed =
        !is_path && bytes >= 2 && item->name[0] == '[' && item->name[bytes - 1] == ']';

    snprintf(item->host, sizeof item->host, "%.*s",
             (int)(bytes - (is_bracketed ? 2 : 0)), item->name + is_bracketed);
    item->info.port = is_path ? 0 : (int)strtol(colon + 1, NULL, 10);
}

int shoal__snapshot_add(shoal_topology_snapshot_t *snapshot,
                        const shoal__snapshot_node_t *node)
{
    item_t *item;

    if (!make_room(snapshot))
        return SHOAL_ENOMEM;
    item = &snapshot->items[snapshot->count++];
    *item = (item_t){.primary = node->primary};
    item->info = (shoal_node_info_t){.role = node->role,
                                     .state = node->state,
                                     .connection = node->connection,
                                     .is_listed = node->is_listed,
                                     .is_down = node->is_down};
    snprintf(item->name, sizeof item->name, "%s", node->name);
    snprintf(item->id, sizeof item->id, "%s", node->id ? node->id : "");
    split_name(item);
    return 0;
}

/* ---- slots ---- */

void shoal__snapshot_own(shoal_topology_snapshot_t *snapshot, unsigned slot,
                         unsigned node)
{
    snapshot->owners[slot] = (uint16_t)node;
}

static bool begins_range(const shoal_topology_snapshot_t *snapshot, unsigned slot)
{
    return snapshot->owners[slot] != SHOAL__SNAPSHOT_NONE &&
           (slot == 0 || snapshot->owners[slot] != snapshot->owners[slot - 1]);
}

/* How many ranges each node has; and all of them. */
static size_t count_ranges(shoal_topology_snapshot_t *snapshot)
{
    size_t count = 0;

    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        if (begins_range(snapshot, slot)) {
            snapshot->items[snapshot->owners[slot]].info.ranges_count++;
            count++;
        }
    return count;
}

static void write_ranges(shoal_topology_snapshot_t *snapshot)
{
    shoal_slot_range_t *next = snapshot->ranges;

    for (size_t i = 0; i < snapshot->count; i++) {
        shoal_node_info_t *info = &snapshot->items[i].info;
        info->ranges = next;
        next += info->ranges_count;
        info->ranges_count = 0; /* until they are written */
    }
    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++) {
        shoal_node_info_t *info;
        shoal_slot_range_t *range;
        if (snapshot->owners[slot] == SHOAL__SNAPSHOT_NONE)
            continue;
        info = &snapshot->items[snapshot->owners[slot]].info;
        info->ranges_count += begins_range(snapshot, slot);
        range = &snapshot->ranges[info->ranges - snapshot->ranges];
        range += info->ranges_count - 1;
        if (begins_range(snapshot, slot))
            range->first = slot;
        range->last = slot;
        info->slots++;
    }
}

int shoal__snapshot_seal(shoal_topology_snapshot_t *snapshot)
{
    size_t ranges = count_ranges(snapshot);

    if (ranges > 0) {
        snapshot->ranges = shoal__calloc(ranges, sizeof *snapshot->ranges);
        if (!snapshot->ranges)
            return SHOAL_ENOMEM;
        write_ranges(snapshot);
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        item_t *item = &snapshot->items[i];
        item->info.name = item->name;
        item->info.host = item->host;
        item->info.id = item->id;
        if (item->primary < snapshot->count)
            item->info.primary = &snapshot->items[item->primary].info;
    }
    return 0;
}

/* ---- reading ---- */

shoal_topology_t shoal__snapshot_kind(const shoal_topology_snapshot_t *snapshot)
{
    return snapshot->kind;
}

size_t shoal__snapshot_count(const shoal_topology_snapshot_t *snapshot)
{
    return snapshot->count;
}

const shoal_node_info_t *shoal__snapshot_node(const shoal_topology_snapshot_t *snapshot,
                                              size_t index)
{
    return index < snapshot->count ? &snapshot->items[index].info : NULL;
}

const shoal_node_info_t *
shoal__snapshot_owner(const shoal_topology_snapshot_t *snapshot, unsigned slot)
{
    if (slot >= SHOAL__SLOTS || snapshot->owners[slot] == SHOAL__SNAPSHOT_NONE)
        return NULL;
    return shoal__snapshot_node(snapshot, snapshot->owners[slot]);
}
