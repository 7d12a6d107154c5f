/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_LANE_SLOTS_H
#define SHOAL_CORE_LANE_SLOTS_H

/*
 * The slots of which a node's bulk lane has the commands, and when they go back: as soon as the
 * last bulk command of theirs was answered.  What else the lane has for a slot goes back with it.
 *
 * Which bulk command is the last one is told by times of submission, because places in a registry
 * do not hold.  No command of the lane is younger than the youngest one there; so when all are
 * younger than that one was, the last bulk command of then is answered.
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct shoal__lane_slot {
    uint64_t newest_us; /* no bulk command of it was submitted later, unless ... */
    uint16_t slot;
    bool is_there; /* or on its way, there or back */
    bool is_news;  /* ... one came since the last look */
} shoal__lane_slot_t;

/* Initial value: {0}. */
typedef struct shoal__lane_slots {
    shoal__lane_slot_t *items;
    unsigned count, room;
} shoal__lane_slots_t;

void shoal__lane_slots_release(shoal__lane_slots_t *slots);

/* A slot, which is not among them, is on its way.  False: no memory. */
bool shoal__lane_slots_add(shoal__lane_slots_t *slots, unsigned slot);
/* Does nothing if it is not among them. */
void shoal__lane_slots_remove(shoal__lane_slots_t *slots, unsigned slot);
/* A bulk command came for one of them; or it is not among them. */
void shoal__lane_slots_note(shoal__lane_slots_t *slots, unsigned slot);
/* It has arrived at the lane; or it is on its way back. */
void shoal__lane_slots_arrive(shoal__lane_slots_t *slots, unsigned slot);
void shoal__lane_slots_leave(shoal__lane_slots_t *slots, unsigned slot);

/* When the oldest and the youngest command of the lane were submitted; SHOAL__NEVER_US and 0: it
 * has none. */
void shoal__lane_slots_look(shoal__lane_slots_t *slots, uint64_t youngest_us);
/* ... after a look: may this one, by its place among them, go back? */
bool shoal__lane_slots_may_go_back(const shoal__lane_slots_t *slots, unsigned at,
                                   uint64_t oldest_us);

#endif
