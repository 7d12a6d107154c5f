/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_SLOT_MAP_H
#define SHOAL_CORE_SLOT_MAP_H

/*
 * Which node owns each slot of a cluster, by what the nodes say.
 *
 * Every node has a view of its own: one that was cut off, or has just joined, knows less than
 * the others.  So no view replaces the map; it is merged as the nodes merge theirs, slot by
 * slot (src/cluster_legacy.c of Valkey, clusterUpdateSlotsConfigWith):
 *
 *   - a slot changes its owner if the new one has a higher configuration epoch than the best
 *     that is known of the slot;
 *   - else (servers that tell no epochs, epochs that collided) if another node's view says
 *     the same; or the same node's, 2 s later, unless a redirect told otherwise within 10 s;
 *   - but two nodes that know a lower epoch are believed only if for 30 s no view names the
 *     present owner: a primary that was cut off, and its replica, agree on what is over.
 *     Nodes that were restored from an old state agree, too, and go on agreeing;
 *   - a slot that no node owns in the view keeps its owner for 10 s;
 *   - a view of fewer slots than the map has is refused, unless another node's has fewer, too.
 *
 * A redirect of the owner is a proof, and changes the map at once; but a slot rests for 0.1 s
 * then.  While a slot is moved, the two nodes may name each other for a while.
 *
 * Nodes are numbers: places in a table of the map's owner.  Any thread may ask for an owner;
 * all else is the loop thread's.
 */

#include "resp/key_slot.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHOAL__SLOT_NOBODY 0x3FFFu /* instead of a node */
#define SHOAL__SLOT_LANE 0x4000u   /* its commands take the bulk lane of the owner */
#define SHOAL__SLOT_MOVES 0x8000u  /* a hand-over is under way; then not LANE */

#define SHOAL__SLOT_AGAIN_US 2000000    /* then the same node may confirm itself */
#define SHOAL__SLOT_FORMER_US 30000000  /* so long a view confirms those that follow */
#define SHOAL__SLOT_PATCHED_US 10000000 /* so long a redirect outweighs that */
#define SHOAL__SLOT_REST_US 100000      /* so long a redirect is the last one */
#define SHOAL__SLOT_ORPHAN_US 10000000 /* so long an owner is kept that no node names */
#define SHOAL__SLOT_LOWER_US 30000000  /* ... or of which views know a lower epoch */

/* What one node says. */
typedef struct shoal__slot_view {
    unsigned by;    /* a number for that node; the same one for all its addresses */
    uint64_t at_us; /* when it answered */
    uint16_t owners[SHOAL__SLOTS]; /* or NOBODY */
} shoal__slot_view_t;

/* What is known of one slot.  Times are in milliseconds, of which 32 bits are kept; 0: none. */
typedef struct shoal__slot_note {
    uint64_t epoch;      /* the best that is known of its owner, or of one before it */
    uint32_t patched_ms; /* a redirect named the owner */
    uint32_t
        against_ms; /* since then all views name no owner, or one of a lower epoch */
} shoal__slot_note_t;

typedef struct shoal__slot_map {
    _Atomic uint16_t words[SHOAL__SLOTS]; /* the owner, and LANE or MOVES */
    shoal__slot_note_t notes[SHOAL__SLOTS];
    unsigned owned;            /* slots that have an owner */
    bool has_former;           /* ... view: */
    shoal__slot_view_t former; /* the last one that was not believed whole */
} shoal__slot_map_t;

/* Nobody owns anything. */
void shoal__slot_map_init(shoal__slot_map_t *map);

/* A slot gets another owner: `from` or `to` may be NOBODY; `from` has LANE if the slot had it.
 * The map has the new one already. */
typedef void (*shoal__slot_changed_fn)(void *data, unsigned slot, unsigned from,
                                       unsigned to);

typedef struct shoal__slot_merged {
    bool is_refused; /* the whole view */
    unsigned changed;
    unsigned doubtful; /* slots: no other view confirms their new owner */
    unsigned held;     /* slots: their hand-over is not over; merge again then */
} shoal__slot_merged_t;

/* epochs[n]: the configuration epoch of node n, as the view's node knows it; 0: not known. */
shoal__slot_merged_t shoal__slot_map_merge(shoal__slot_map_t *map,
                                           const shoal__slot_view_t *view,
                                           const uint64_t *epochs,
                                           shoal__slot_changed_fn on_changed,
                                           void *data);

/* The owner of the slot says that another node owns it.  False: the map knew that, or the
 * slot's hand-over is not over. */
bool shoal__slot_map_patch(shoal__slot_map_t *map, unsigned slot, unsigned to,
                           uint64_t now_us);

/* Has a redirect just named the slot's owner?  If that one names another owner at once, it has
 * not heard yet what the former one knows: commands wait where they are. */
bool shoal__slot_map_rests(const shoal__slot_map_t *map, unsigned slot,
                           uint64_t now_us);

/* Without a proof, and without an epoch: any view that tells an epoch is believed.  No hand-over of the
 * slot is under way. */
void shoal__slot_map_set(shoal__slot_map_t *map, unsigned slot, unsigned owner);

/* The nodes are those of another cluster from now on: its epochs do not compare with those
 * that are known. */
void shoal__slot_map_forget_epochs(shoal__slot_map_t *map);

/* A hand-over of the slot begins, or is over. */
void shoal__slot_map_set_moves(shoal__slot_map_t *map, unsigned slot, bool moves);

/* Commands of the slot take the owner's bulk lane, or do so no more.  No hand-over of it is
 * under way. */
void shoal__slot_map_set_lane(shoal__slot_map_t *map, unsigned slot, bool takes_lane);

/* The owner, and LANE or MOVES.  Any thread. */
static inline unsigned shoal__slot_map_word(const shoal__slot_map_t *map, unsigned slot)
{
    return atomic_load_explicit(&map->words[slot], memory_order_relaxed);
}

static inline unsigned shoal__slot_map_owner(const shoal__slot_map_t *map,
                                             unsigned slot)
{
    return shoal__slot_map_word(map, slot) & SHOAL__SLOT_NOBODY;
}

/* Has the node the slot, and are its commands where they belong? */
static inline bool shoal__slot_map_is_at(const shoal__slot_map_t *map, unsigned slot,
                                         unsigned node)
{
    return (shoal__slot_map_word(map, slot) & ~SHOAL__SLOT_LANE) == node;
}

#endif
