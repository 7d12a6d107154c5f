/* SPDX-License-Identifier: MIT */
#include "core/cluster/lane_slots.h"

#include "base/alloc.h"
#include <assert.h>
#include <stddef.h>

/* NULL: it is not among them. */
static shoal__lane_slot_t *find(const shoal__lane_slots_t *slots, unsigned slot)
{
    for (unsigned i = 0; i < slots->count; i++)
        if (slots->items[i].slot == slot)
            return &slots->items[i];
    return NULL;
}

void shoal__lane_slots_release(shoal__lane_slots_t *slots)
{
    shoal__free(slots->items);
    *slots = (shoal__lane_slots_t){0};
}

bool shoal__lane_slots_add(shoal__lane_slots_t *slots, unsigned slot)
{
    if (slots->count == slots->room) {
        unsigned room = slots->room ? slots->room * 2 : 8;
        void *items = shoal__realloc(slots->items, room * sizeof *slots->items);
        if (!items)
            return false;
        slots->items = items;
        slots->room = room;
    }
    slots->items[slots->count++] =
        (shoal__lane_slot_t){.slot = (uint16_t)slot, .is_news = true};
    return true;
}

void shoal__lane_slots_remove(shoal__lane_slots_t *slots, unsigned slot)
{
    shoal__lane_slot_t *found = find(slots, slot);

    if (found)
        *found = slots->items[--slots->count];
}

void shoal__lane_slots_note(shoal__lane_slots_t *slots, unsigned slot)
{
    shoal__lane_slot_t *found = find(slots, slot);

    if (found)
        found->is_news = true;
}

void shoal__lane_slots_arrive(shoal__lane_slots_t *slots, unsigned slot)
{
    shoal__lane_slot_t *found = find(slots, slot);

    assert(found);
    found->is_there = true;
}

void shoal__lane_slots_leave(shoal__lane_slots_t *slots, unsigned slot)
{
    shoal__lane_slot_t *found = find(slots, slot);

    assert(found);
    found->is_there = false;
}

void shoal__lane_slots_look(shoal__lane_slots_t *slots, uint64_t youngest_us)
{
    for (unsigned i = 0; i < slots->count; i++) {
        shoal__lane_slot_t *item = &slots->items[i];
        if (!item->is_there || !item->is_news)
            continue;
        item->newest_us = youngest_us;
        item->is_news = false;
    }
}

bool shoal__lane_slots_may_go_back(const shoal__lane_slots_t *slots, unsigned at,
                                   uint64_t oldest_us)
{
    const shoal__lane_slot_t *item = &slots->items[at];

    return item->is_there && !item->is_news && oldest_us > item->newest_us;
}
