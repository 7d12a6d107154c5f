/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_ITEM_MARKS_H
#define SHOAL_CORE_PUSH_ITEM_MARKS_H

/*
 * Marks in the order in which they are to be read, each with the number of the message
 * before which it stands; and found by owner, kind and name.
 *
 * Marks are rare, so that each has memory of its own.
 */

#include "base/list.h"
#include "core/push/item.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shoal__mark {
    shoal_item_t item;
    shoal__list_t in_order;        /* of all marks, or of those that were taken */
    shoal__list_t of_owner;        /* its marks, in order */
    struct shoal__mark *next_same; /* of the marks whose keys have the same hash bits */
    const void *owner;
    uint64_t before; /* number of the message that follows, if it is still there */
    uint64_t hash;   /* of owner, kind and name */
    size_t bytes;    /* memory */
    bool is_found;   /* by shoal__marks_find() */
} shoal__mark_t;

typedef struct shoal__marks {
    shoal__list_t in_order;
    shoal__list_t lent; /* taken, being read */
    shoal__mark_t **buckets;
    size_t buckets_count; /* 0, or a power of 2 */
    size_t count;         /* in order */
    size_t memory_bytes;  /* of those */
} shoal__marks_t;

void shoal__marks_init(shoal__marks_t *marks);
void shoal__marks_release(shoal__marks_t *marks);

/* A copy that stands nowhere yet; NULL: no memory. */
shoal__mark_t *shoal__mark_new(const shoal_item_t *item, const void *owner);

/* It stands behind all marks. */
void shoal__marks_append(shoal__marks_t *marks, shoal__mark_t *mark,
                         shoal__list_t *owners, uint64_t before);
/* It stands right behind the mark `behind` of its owner; NULL: in front of all marks. */
void shoal__marks_insert(shoal__marks_t *marks, shoal__mark_t *mark,
                         shoal__list_t *owners, shoal__mark_t *behind);
/* The youngest mark with this owner, kind and name; the next older one of those. */
shoal__mark_t *shoal__marks_find(const shoal__marks_t *marks, const shoal_item_t *item,
                                 const void *owner);
shoal__mark_t *shoal__marks_find_older(const shoal__mark_t *mark);

/* It stands nowhere any more, and belongs to the caller. */
void shoal__marks_remove(shoal__marks_t *marks, shoal__mark_t *mark);
/* Removed, and freed. */
void shoal__marks_free(shoal__marks_t *marks, shoal__mark_t *mark);
/* Removed, but readable until it is returned. */
void shoal__marks_take(shoal__marks_t *marks, shoal__mark_t *mark);
void shoal__marks_return(shoal__marks_t *marks);

static inline shoal__mark_t *shoal__marks_front(const shoal__marks_t *marks)
{
    return shoal__list_is_empty(&marks->in_order)
               ? NULL
               : SHOAL__LIST_ENTRY(marks->in_order.next, shoal__mark_t, in_order);
}

#endif
