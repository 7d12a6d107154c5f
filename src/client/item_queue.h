/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_ITEM_QUEUE_H
#define SHOAL_CLIENT_ITEM_QUEUE_H

/*
 * The queue behind shoal_mailbox_t: the loops of any subscribers leave items for one
 * consumer.  What is kept and what is dropped, core/push/item_store.h decides; here are the
 * lock and the descriptor.
 *
 * The owner and each source hold a reference; the last one frees the queue.
 */

#include "core/push/item_store.h"
#include <shoal/mailbox.h>
#include <stdbool.h>

int shoal__items_new(size_t messages_max, size_t bytes_max, shoal_overflow_t overflow,
                     shoal_mailbox_t **ret_mailbox);
/* Was it made by a process that this one was forked from?  Its lock may be held for ever. */
bool shoal__items_is_foreign(const shoal_mailbox_t *mailbox);
/* The owner lets go, and takes no more items. */
void shoal__items_free(shoal_mailbox_t *mailbox);
/* -1: the system gives none. */
int shoal__items_fd(shoal_mailbox_t *mailbox);

/* One more reference, for a loop that is to ring later; and give it back.  Any thread. */
void shoal__items_retain(shoal_mailbox_t *mailbox);
void shoal__items_release(shoal_mailbox_t *mailbox);

/* ---- a subscription's side; any thread ---- */

/* `data` becomes that of each item.  0 or SHOAL_ENOMEM. */
int shoal__items_open(shoal_mailbox_t *mailbox, void *data,
                      shoal__item_source_t **ret_source);
/* Frees the source; its items that were not taken are gone. */
void shoal__items_close(shoal__item_source_t *source);

/* ---- the loop thread's side ---- */

/* What a put says, as bits. */
enum {
    SHOAL__ITEMS_RING =
        1, /* somebody waits who does not know yet that there are items: ring
                              when no more come for now */
    SHOAL__ITEMS_ENDED =
        2 /* nothing is put any more: ENDED was put, or stands where there
                              was no room or no memory */
};

/* Copies an item.  What has no room or no memory is dropped and marked. */
unsigned shoal__items_put(shoal__item_source_t *source, const shoal_item_t *item);
void shoal__items_ring(shoal_mailbox_t *mailbox);

/* ---- the consumer's side ---- */

size_t shoal__items_take(shoal_mailbox_t *mailbox, const shoal_item_t **items,
                         size_t count_max);
/* 0, SHOAL_ETIMEOUT, SHOAL_EINTR or SHOAL_ESYSTEM. */
int shoal__items_wait(shoal_mailbox_t *mailbox, uint64_t until_us);
size_t shoal__items_count(shoal_mailbox_t *mailbox);
uint64_t shoal__items_dropped(shoal_mailbox_t *mailbox);

#endif
