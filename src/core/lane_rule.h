/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_LANE_RULE_H
#define SHOAL_CORE_LANE_RULE_H

/*
 * Several connections to one server, the ordinary ones and the bulk lane: which ordinary
 * connection has a key, its *home*; which command should take the bulk lane; and which
 * must, to stay behind an earlier command for its key.
 *
 * Keys fall into buckets.  Every command that enters the lane gets a number: the next one,
 * or its time of submission if that is larger.  Its buckets remember the number.  When the
 * oldest command in the lane was submitted at some time, all commands with smaller numbers
 * have left.  While a bucket remembers the number of a command that has not left, commands
 * for its keys follow into the lane.
 *
 * Guarantee: while a command that touches a key is in the lane, the lane has every later
 * command that touches it.
 */

#include "base/bytes.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request of more bytes than these holds the ordinary connection up. */
#define SHOAL__LANE_REQUEST_BYTES 65536

#define SHOAL__LANE_BUCKETS 4096 /* power of two */

#define SHOAL__LANE_HOMES_MAX 8

/* The home of a key, of so many: keys of one slot (resp/key_slot.h) have one home. */
unsigned shoal__lane_home(shoal__bytes_t key, unsigned homes);

/* The homes of the keys of commands that stay together.  Initial value: {0}, home 0. */
typedef struct shoal__lane_span {
    unsigned home;
    bool has_key;
    bool is_wide; /* they have several homes */
} shoal__lane_span_t;

void shoal__lane_span_add(shoal__lane_span_t *span, unsigned home);

/* What is known of commands that stay together: one, or those of one call. */
typedef struct shoal__lane_facts {
    bool is_marked;    /* one is large itself, or its caller asks for the lane */
    bool is_heavy;     /* one is a read whose reply is large */
    bool has_write;    /* one may change something */
    bool has_stray;    /* one has no key, or keys that are not known, or blocks */
    bool keeps_writes; /* the client counts the writes of the ordinary connection */
} shoal__lane_facts_t;

bool shoal__lane_is_bulk(const shoal__lane_facts_t *facts);

typedef struct shoal__lane_map {
    uint64_t numbers[SHOAL__LANE_BUCKETS]; /* of each bucket's last command; or 0 */
    uint64_t number_all; /* of the last command that touched all of them */
    uint64_t newest;     /* given out */
    uint64_t left;       /* commands up to this number have left the lane */
} shoal__lane_map_t;

/* A command enters the lane.  Its keys, or all keys, are noted behind it. */
void shoal__lane_map_enter(shoal__lane_map_t *map, uint64_t submitted_us);
void shoal__lane_map_note(shoal__lane_map_t *map, uint64_t key);
void shoal__lane_map_note_all(shoal__lane_map_t *map);

/* The oldest command in the lane was submitted then; SHOAL__NEVER_US: there is none. */
void shoal__lane_map_look(shoal__lane_map_t *map, uint64_t oldest_us);

/* Must a command for this key, or for any, follow into the lane? */
bool shoal__lane_map_has(const shoal__lane_map_t *map, uint64_t key);
bool shoal__lane_map_has_any(const shoal__lane_map_t *map);

#endif
