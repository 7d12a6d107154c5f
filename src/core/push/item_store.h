/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_ITEM_STORE_H
#define SHOAL_CORE_PUSH_ITEM_STORE_H

/*
 * What a mailbox holds: messages and marks of several sources (each a subscription), in one
 * order; and what is dropped when it is full.
 *
 * Guarantees: of each source, the messages that were put are those that are taken and those
 * that DROPPED counts, in order.  Between two messages of a source at most one DROPPED
 * stands for each way of dropping.  A source whose mark finds no memory ends: the memory for
 * that mark was allocated with the source.
 *
 * Marks are bounded because they replace one another: a mark goes when an equal one (source,
 * kind, name) is put and no message of the source is left between the two.
 */

#include "core/push/item_log.h"
#include "core/push/item_marks.h"
#include <shoal/mailbox.h>

typedef struct shoal__item_store shoal__item_store_t;

typedef struct shoal__item_source {
    shoal__item_store_t *store;
    void *data;                /* the receiver's */
    shoal__list_t marks;       /* its marks that are there, in order */
    size_t messages;           /* that are there */
    uint64_t last_message;     /* the number of the last one that was put */
    shoal__mark_t *hole_front; /* DROPPED, in front of its messages; NULL: none */
    shoal__mark_t *hole_back; /* the DROPPED that was put last at the end; NULL: none */
    shoal__mark_t *reserve;   /* ENDED, for lack of memory; NULL: used */
    bool has_ended;
} shoal__item_source_t;

struct shoal__item_store {
    shoal__item_log_t log;
    shoal__marks_t marks;
    size_t messages_max;
    size_t bytes_max; /* of the log's blocks and the marks, but one block always */
    shoal_overflow_t overflow;
    uint64_t dropped; /* messages, ever */
};

void shoal__item_store_init(shoal__item_store_t *store, size_t messages_max,
                            size_t bytes_max, shoal_overflow_t overflow);
void shoal__item_store_release(shoal__item_store_t *store);

/* NULL: no memory. */
shoal__item_source_t *shoal__item_source_new(shoal__item_store_t *store, void *data);
/* Frees the source.  None of its items is there any more; those that were taken stay. */
void shoal__item_source_free(shoal__item_source_t *source);

/* Copies an item; nothing follows ENDED. */
void shoal__item_source_put(shoal__item_source_t *source, const shoal_item_t *item);

/* The oldest items.  Those that were taken before die. */
size_t shoal__item_store_take(shoal__item_store_t *store, const shoal_item_t **items,
                              size_t count_max);

static inline size_t shoal__item_store_count(const shoal__item_store_t *store)
{
    return store->log.count + store->marks.count;
}

#endif
