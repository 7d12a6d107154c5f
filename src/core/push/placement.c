/* SPDX-License-Identifier: MIT */
#include "core/push/placement.h"

#include "core/push/topics.h"
#include <string.h>

/* __keyspace@0__:key: the key.  data NULL: it is none, or it can match several. */
static shoal__bytes_t one_key(shoal__bytes_t name)
{
    static const char before[] = "__keyspace@", after[] = "__:";
    const size_t after_bytes = sizeof after - 1;
    shoal__bytes_t none = {NULL, 0};
    size_t at = sizeof before - 1;

    if (!shoal__bytes_start(name, before) ||
        shoal__topic_kind(SHOAL_NAME_KEYSPACE, name) != SHOAL_NAME_CHANNEL)
        return none;
    while (at < name.bytes && name.data[at] >= '0' && name.data[at] <= '9')
        at++;
    if (name.bytes - at < after_bytes ||
        memcmp(name.data + at, after, after_bytes) != 0)
        return none;
    at += after_bytes;
    return (shoal__bytes_t){name.data + at, name.bytes - at};
}

static bool is_primary(const shoal__places_known_t *known, unsigned node)
{
    for (unsigned i = 0; i < known->count; i++)
        if (known->primaries[i] == node)
            return true;
    return false;
}

static unsigned owner_of(const shoal__places_known_t *known, unsigned slot)
{
    return shoal__slot_map_owner(known->map, slot);
}

static unsigned any_primary(const shoal__places_known_t *known, shoal__bytes_t name,
                            unsigned now)
{
    unsigned slot = shoal__key_slot(name), owner = owner_of(known, slot);

    if (is_primary(known, now))
        return now;
    return is_primary(known, owner) ? owner : known->primaries[slot % known->count];
}

unsigned shoal__placement_of(const shoal__places_known_t *known, shoal_name_kind_t kind,
                             shoal__bytes_t name, unsigned now)
{
    shoal__bytes_t key = {NULL, 0};

    if (known->count == 0)
        return SHOAL__SLOT_NOBODY;
    if (!known->map)
        return known->primaries[0];
    if (kind == SHOAL_NAME_SHARD)
        return owner_of(known, shoal__key_slot(name));
    if (kind != SHOAL_NAME_KEYSPACE)
        return any_primary(known, name, now);
    key = one_key(name);
    return key.data ? owner_of(known, shoal__key_slot(key)) : SHOAL__PLACE_EVERYWHERE;
}
