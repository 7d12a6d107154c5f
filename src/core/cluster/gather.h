/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_GATHER_H
#define SHOAL_CORE_GATHER_H

/*
 * One result out of several: those of the parts of a command that concerned several nodes of
 * a cluster, or several slots.
 *
 * If a part has no reply, the result has none: its status is that of the worst part, one that
 * may have been executed before one that was not.  NOT_EXECUTED says that no part was, and
 * UNKNOWN all else.  If the reply of a part is an error, so is the result's.  But ONE needs
 * one part alone that worked.  The result shows its parts in any case.
 */

#include "core/result.h"

typedef enum shoal__gather_policy {
    SHOAL__GATHER_BY_NODE, /* a map of the nodes' names and their replies */
    SHOAL__GATHER_ALL,     /* the first reply, because all are the same */
    SHOAL__GATHER_ONE,     /* the first reply that is no error */
    SHOAL__GATHER_SUM,  /* of numbers, or of those of arrays and maps, place by place */
    SHOAL__GATHER_MIN,  /* the same: the least of them */
    SHOAL__GATHER_JOIN, /* arrays, one behind the other */
    SHOAL__GATHER_PLACE /* arrays, of which each element has its place in the whole */
} shoal__gather_policy_t;

/* Which element of which part stands there. */
typedef struct shoal__gather_place {
    uint32_t part, at;
} shoal__gather_place_t;

typedef struct shoal__gather {
    shoal__arena_t *arena; /* of everything here; the owner releases it */
    shoal__gather_policy_t policy;
    shoal__result_parts_t *parts;        /* the owner sets `node` and `slot_1` */
    size_t left;                         /* parts without a result */
    const shoal__gather_place_t *places; /* PLACE: of the whole; the owner sets them */
    size_t places_count;
} shoal__gather_t;

/* NULL: no memory. */
shoal__gather_t *shoal__gather_new(shoal__gather_policy_t policy, size_t parts);

/* A part has its result, which names its node if that is known; it is copied.  True: no other
 * part is without one. */
bool shoal__gather_take(shoal__gather_t *gather, size_t part,
                        const shoal_result_t *result);

/* All parts have theirs: the result, which lives as long as the arena.  Replies that do not
 * fit together are told by node. */
void shoal__gather_result(shoal__gather_t *gather, shoal_result_t *ret_result);

#endif
