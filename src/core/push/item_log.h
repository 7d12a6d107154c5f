/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_ITEM_LOG_H
#define SHOAL_CORE_PUSH_ITEM_LOG_H

/*
 * Copies of messages in the order of their arrival, in blocks of 64 KiB.  Messages enter at
 * the end and leave at the front.  A message that was taken stays readable until
 * shoal__item_log_return(); one that was dropped does not.
 *
 * Guarantee: an append that fails changes nothing.
 */

#include "core/push/item.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory of a block.  A message that is larger has a block of its own. */
#define SHOAL__ITEM_BLOCK_BYTES ((size_t)65536 - 64)

typedef struct shoal__item_block shoal__item_block_t;

typedef struct shoal__logged_item {
    shoal_item_t item;
    void *owner;     /* NULL: it was withdrawn */
    uint64_t number; /* how many messages had been appended then, with this one */
    size_t bytes;    /* of the block: this structure and the message */
} shoal__logged_item_t;

/* All zero: it is empty. */
typedef struct shoal__item_log {
    shoal__item_block_t *first, *last; /* with messages that are there */
    shoal__item_block_t *lent;         /* the messages there were taken or dropped */
    shoal__item_block_t *spare;        /* empty, for later */
    unsigned spares;
    size_t memory_bytes; /* of the blocks first .. last */
    size_t count;        /* messages that are there; withdrawn ones do not count */
    uint64_t appended;   /* messages, ever */
} shoal__item_log_t;

/* The memory that the blocks would have with one more message.  A block that is being read,
 * and has no other messages, does not count if the message needs a block of its own. */
size_t shoal__item_log_memory_with(const shoal__item_log_t *log,
                                   const shoal_item_t *item);
/* Copies a message.  0 or SHOAL_ENOMEM. */
int shoal__item_log_append(shoal__item_log_t *log, const shoal_item_t *item,
                           void *owner);
/* The oldest message that is there; NULL: there is none. */
shoal__logged_item_t *shoal__item_log_front(shoal__item_log_t *log);
/* The front message leaves; taken: it stays readable. */
void shoal__item_log_take(shoal__item_log_t *log);
void shoal__item_log_drop(shoal__item_log_t *log);
/* Messages that were taken are not read any more. */
void shoal__item_log_return(shoal__item_log_t *log);
/* Frees all blocks.  No message is there, and none that was taken is read any more. */
void shoal__item_log_trim(shoal__item_log_t *log);
/* All messages of an owner are gone. */
void shoal__item_log_withdraw(shoal__item_log_t *log, const void *owner);
void shoal__item_log_release(shoal__item_log_t *log);

#endif
