/* SPDX-License-Identifier: MIT */
#include "core/cluster/slot_map.h"

#include <string.h>

#define MINUTE_MS 60000

static uint32_t stamp_of(uint64_t now_us)
{
    uint32_t stamp = (uint32_t)(now_us / 1000);

    return stamp ? stamp : 1;
}

static bool is_since(uint32_t stamp, uint64_t now_us, uint64_t time_us)
{
    return stamp && stamp_of(now_us) - stamp >= time_us / 1000;
}

static bool is_moving(const shoal__slot_map_t *map, unsigned slot)
{
    return shoal__slot_map_word(map, slot) & SHOAL__SLOT_MOVES;
}

static void set_owner(shoal__slot_map_t *map, unsigned slot, unsigned owner)
{
    map->owned -= shoal__slot_map_owner(map, slot) != SHOAL__SLOT_NOBODY;
    map->owned += owner != SHOAL__SLOT_NOBODY;
    map->notes[slot].patched_ms = map->notes[slot].against_ms = 0;
    atomic_store_explicit(&map->words[slot], (uint16_t)owner, memory_order_relaxed);
}

void shoal__slot_map_init(shoal__slot_map_t *map)
{
    memset(map->notes, 0, sizeof map->notes);
    map->owned = 0;
    map->has_former = false;
    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        atomic_init(&map->words[slot], SHOAL__SLOT_NOBODY);
}

/* ---- one slot of a view ---- */

/* Did the view's node answer after a redirect named the slot's owner? */
static bool is_behind_patch(const shoal__slot_note_t *note,
                            const shoal__slot_view_t *view)
{
    uint32_t since_ms = stamp_of(view->at_us) - note->patched_ms;

    /* No view that counts is a minute older than another one: else it wraps. */
    return !note->patched_ms ||
           (since_ms > 0 && since_ms <= UINT32_MAX - (uint32_t)MINUTE_MS);
}

/* Does the former view say the same: another node's, or an older one of the same node?  What
 * was said before a redirect is older than that. */
static bool is_confirmed(const shoal__slot_map_t *map, const shoal__slot_view_t *view,
                         unsigned slot)
{
    const shoal__slot_view_t *former = &map->former;
    const shoal__slot_note_t *note = &map->notes[slot];

    if (!map->has_former || former->owners[slot] != view->owners[slot] ||
        view->at_us - former->at_us > SHOAL__SLOT_FORMER_US ||
        !is_behind_patch(note, former))
        return false;
    if (former->by != view->by)
        return true;
    return view->at_us - former->at_us >= SHOAL__SLOT_AGAIN_US &&
           (!note->patched_ms ||
            is_since(note->patched_ms, view->at_us, SHOAL__SLOT_PATCHED_US));
}

typedef enum verdict { KEEP, CHANGE, DOUBT } verdict_t;

/* Have all views been against the owner for so long? */
static bool is_against(shoal__slot_note_t *note, uint64_t now_us, uint64_t time_us)
{
    if (!note->against_ms)
        note->against_ms = stamp_of(now_us);
    return is_since(note->against_ms, now_us, time_us);
}

static verdict_t judge(shoal__slot_map_t *map, const shoal__slot_view_t *view,
                       uint64_t epoch, unsigned slot)
{
    shoal__slot_note_t *note = &map->notes[slot];
    unsigned owner = shoal__slot_map_owner(map, slot), said = view->owners[slot];

    if (said == owner) {
        note->epoch = epoch > note->epoch ? epoch : note->epoch;
        note->against_ms = 0;
        return KEEP;
    }
    if (said == SHOAL__SLOT_NOBODY)
        return is_against(note, view->at_us, SHOAL__SLOT_ORPHAN_US) ? CHANGE : KEEP;
    if (owner == SHOAL__SLOT_NOBODY || epoch > note->epoch)
        return CHANGE;
    if (epoch > 0 && epoch < note->epoch &&
        !is_against(note, view->at_us, SHOAL__SLOT_LOWER_US))
        return DOUBT;
    return is_confirmed(map, view, slot) ? CHANGE : DOUBT;
}

/* ---- a view ---- */

static unsigned count_owned(const shoal__slot_view_t *view)
{
    unsigned owned = 0;

    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        owned += view->owners[slot] != SHOAL__SLOT_NOBODY;
    return owned;
}

static bool is_refused(const shoal__slot_map_t *map, const shoal__slot_view_t *view)
{
    bool is_seconded = map->has_former && map->former.by != view->by &&
                       view->at_us - map->former.at_us <= SHOAL__SLOT_FORMER_US &&
                       count_owned(&map->former) < map->owned;

    return count_owned(view) < map->owned && !is_seconded;
}

/* A view that is not believed whole may confirm the next one.  An older one of the same
 * node stays until it may. */
static void remember(shoal__slot_map_t *map, const shoal__slot_view_t *view)
{
    if (map->has_former && map->former.by == view->by &&
        view->at_us - map->former.at_us < SHOAL__SLOT_AGAIN_US)
        return;
    map->former = *view;
    map->has_former = true;
}

shoal__slot_merged_t shoal__slot_map_merge(shoal__slot_map_t *map,
                                           const shoal__slot_view_t *view,
                                           const uint64_t *epochs,
                                           shoal__slot_changed_fn on_changed,
                                           void *data)
{
    shoal__slot_merged_t merged = {.is_refused = is_refused(map, view)};

    for (unsigned slot = 0; slot < SHOAL__SLOTS && !merged.is_refused; slot++) {
        unsigned from = shoal__slot_map_word(map, slot), to = view->owners[slot];
        uint64_t epoch = to == SHOAL__SLOT_NOBODY ? 0 : epochs[to];
        verdict_t verdict = judge(map, view, epoch, slot);

        merged.doubtful += verdict == DOUBT;
        if (verdict != CHANGE)
            continue;
        if (is_moving(map, slot)) {
            merged.held++;
            continue;
        }
        set_owner(map, slot, to);
        map->notes[slot].epoch = epoch;
        merged.changed++;
        on_changed(data, slot, from, to);
    }
    if (merged.is_refused || merged.doubtful > 0)
        remember(map, view);
    else
        map->has_former = false;
    return merged;
}

/* ---- redirects ---- */

bool shoal__slot_map_patch(shoal__slot_map_t *map, unsigned slot, unsigned to,
                           uint64_t now_us)
{
    if (shoal__slot_map_owner(map, slot) == to || is_moving(map, slot))
        return false;
    set_owner(map, slot, to);
    map->notes[slot].patched_ms = stamp_of(now_us);
    return true;
}

bool shoal__slot_map_rests(const shoal__slot_map_t *map, unsigned slot, uint64_t now_us)
{
    uint32_t patched_ms = map->notes[slot].patched_ms;

    return patched_ms && !is_since(patched_ms, now_us, SHOAL__SLOT_REST_US);
}

void shoal__slot_map_set(shoal__slot_map_t *map, unsigned slot, unsigned owner)
{
    set_owner(map, slot, owner);
    map->notes[slot].epoch = 0;
}

void shoal__slot_map_forget_epochs(shoal__slot_map_t *map)
{
    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        map->notes[slot].epoch = 0;
}

void shoal__slot_map_set_moves(shoal__slot_map_t *map, unsigned slot, bool moves)
{
    unsigned word = shoal__slot_map_owner(map, slot) | (moves ? SHOAL__SLOT_MOVES : 0);

    atomic_store_explicit(&map->words[slot], (uint16_t)word, memory_order_relaxed);
}

void shoal__slot_map_set_lane(shoal__slot_map_t *map, unsigned slot, bool takes_lane)
{
    unsigned word =
        shoal__slot_map_owner(map, slot) | (takes_lane ? SHOAL__SLOT_LANE : 0);

    atomic_store_explicit(&map->words[slot], (uint16_t)word, memory_order_relaxed);
}
