/* SPDX-License-Identifier: MIT */
#include "core/lane_rule.h"

#include "base/time_us.h"
#include "resp/key_slot.h"

unsigned shoal__lane_home(shoal__bytes_t key, unsigned homes)
{
    return shoal__key_slot(key) % homes;
}

void shoal__lane_span_add(shoal__lane_span_t *span, unsigned home)
{
    if (span->has_key && span->home != home)
        span->is_wide = true;
    span->has_key = true;
    span->home = home;
}

bool shoal__lane_is_bulk(const shoal__lane_facts_t *facts)
{
    if (facts->has_stray || (facts->has_write && facts->keeps_writes))
        return false;
    return facts->is_marked || facts->is_heavy;
}

void shoal__lane_map_enter(shoal__lane_map_t *map, uint64_t submitted_us)
{
    map->newest = shoal__time_max(map->newest + 1, submitted_us);
}

void shoal__lane_map_note(shoal__lane_map_t *map, uint64_t key)
{
    map->numbers[key % SHOAL__LANE_BUCKETS] = map->newest;
}

void shoal__lane_map_note_all(shoal__lane_map_t *map)
{
    map->number_all = map->newest;
}

void shoal__lane_map_look(shoal__lane_map_t *map, uint64_t oldest_us)
{
    if (oldest_us == SHOAL__NEVER_US)
        map->left = map->newest;
    else
        map->left = oldest_us > 0 ? oldest_us - 1 : 0;
}

bool shoal__lane_map_has(const shoal__lane_map_t *map, uint64_t key)
{
    return map->numbers[key % SHOAL__LANE_BUCKETS] > map->left ||
           map->number_all > map->left;
}

bool shoal__lane_map_has_any(const shoal__lane_map_t *map)
{
    return map->newest > map->left;
}
