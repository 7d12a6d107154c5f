/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_PLACEMENT_H
#define SHOAL_CORE_PUSH_PLACEMENT_H

/*
 * At which nodes of a cluster a name is subscribed.
 *
 *   - the channel of a shard: at the owner of its slot; no other node has its messages;
 *   - a channel or a pattern: at any one primary, because nodes pass such messages to each
 *     other.  It stays where it is while that node is a primary; at first the slot of the
 *     name chooses;
 *   - events of one key (__keyspace@d__:key): at the owner of the key's slot;
 *   - all other events of keys: at every primary, because nodes do not pass those on.
 */

#include "base/bytes.h"
#include "core/cluster/slot_map.h"
#include <shoal/item.h>

#define SHOAL__PLACE_EVERYWHERE 0x10000u /* at every primary */

/* What is known of the nodes, which are numbers. */
typedef struct shoal__places_known {
    const shoal__slot_map_t *map; /* NULL: there is one server, and no cluster */
    const uint16_t *primaries;    /* nodes that own slots; or the one server */
    unsigned count;
} shoal__places_known_t;

/* `now`: the node where the name is, or SHOAL__SLOT_NOBODY.  Returns a node, EVERYWHERE, or
 * SHOAL__SLOT_NOBODY: no node has it now. */
unsigned shoal__placement_of(const shoal__places_known_t *known, shoal_name_kind_t kind,
                             shoal__bytes_t name, unsigned now);

#endif
