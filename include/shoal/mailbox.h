/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_MAILBOX_H
#define SHOAL_MAILBOX_H

/* Items of subscriptions in a queue instead of callbacks: for programs whose code must not
 * run on the loop thread, and for consumers that may be slow.  The consumer is woken once
 * per batch: the descriptor becomes readable once, and stays so until the consumer has
 * taken all items.
 *
 * A mailbox is bounded.  When it has no room for a message, the mark SHOAL_ITEM_DROPPED
 * stands where messages are missing, one for each subscription and hole, with their
 * count.  Marks always find room, and replace one another: of two marks of the same kind
 * and name between which no message of their subscription stands, the later one stays.
 *
 * In the child of a fork a mailbox of the parent has no items and no descriptor, a wait fails
 * with SHOAL_EFORK, and freeing it does nothing. */

#include <shoal/item.h>
#include <shoal/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What becomes of a message for which there is no room. */
typedef enum shoal_overflow {
    SHOAL_OVERFLOW_NEWEST = 0, /**< it is dropped; what is there stays without holes */
    SHOAL_OVERFLOW_OLDEST =
        1, /**< the oldest messages are dropped, so that it finds room */
    SHOAL_OVERFLOW_END = 2 /**< it is dropped, and its subscription ends */
} shoal_overflow_t;

/**
 * Create a mailbox.
 *
 * @param messages_max the most messages that it holds, 1 .. 16 777 216; 0 means 65 536
 * @param bytes_max    memory for messages, at most 2^40; rounded up to blocks of 64 KiB;
 *                     0 means 64 MiB.  What the last take handed out comes on top
 * @param overflow     what happens to a message for which there is no room
 * @param ret_mailbox  receives the mailbox; free with shoal_mailbox_free()
 *
 * Threads: any
 * Errors:  SHOAL_EINVAL  out of range
 *          SHOAL_ESYSTEM the system gave no lock
 *          SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_mailbox_new(size_t messages_max, uint64_t bytes_max,
                                   shoal_overflow_t overflow,
                                   shoal_mailbox_t **ret_mailbox);

/**
 * Give up a mailbox.  NULL is allowed.  Items that were taken die.  Subscriptions that
 * deliver to it go on, into nothing; the library frees the memory when they are closed.
 *
 * Threads: any, but not while another thread uses the mailbox
 * Since:   0.2
 */
SHOAL_EXTERN void shoal_mailbox_free(shoal_mailbox_t *mailbox);

/**
 * A descriptor that is readable while the mailbox has items to take.  The program may
 * only poll the descriptor; it belongs to the mailbox.  It is made when it is asked for
 * first, here or, where the system has no futexes, by shoal_mailbox_wait().
 *
 * Threads: any
 * Errors:  none; -1 for NULL, and if the system gives no descriptor
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_mailbox_fd(shoal_mailbox_t *mailbox);

/**
 * Take up to `count_max` items, oldest first.  When none is left, the descriptor is no
 * longer readable.  A take that finds nothing gives the mailbox's memory back.
 *
 * @param items     receives the items, which live until the next take
 * @param count_max room in items
 *
 * @return the number of items taken; 0 if there are none
 *
 * Threads: caller (one consumer at a time)
 * Blocks:  never
 * Since:   0.2
 */
SHOAL_EXTERN size_t shoal_mailbox_take(shoal_mailbox_t *mailbox,
                                       const shoal_item_t **items, size_t count_max);

/**
 * Block until there are items to take.
 *
 * @param timeout_us the longest time to wait; SHOAL_TIMEOUT_NEVER: no limit
 *
 * Threads: caller, but not the loop thread of a subscriber that delivers to it
 * Blocks:  as timeout_us says
 * Errors:  SHOAL_ETIMEOUT no item came in time
 *          SHOAL_EINTR    a signal arrived; the caller may wait again
 *          SHOAL_ESYSTEM  the system gave no descriptor
 *          SHOAL_EFORK    the mailbox belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_mailbox_wait(shoal_mailbox_t *mailbox, uint64_t timeout_us);

/**
 * How many items, messages and marks, can be taken now.
 *
 * Threads: any
 * Errors:  none; 0 for NULL
 * Since:   0.2
 */
SHOAL_EXTERN size_t shoal_mailbox_count(shoal_mailbox_t *mailbox);

/**
 * How many messages the mailbox has dropped so far, because it had no room or no memory.
 *
 * Threads: any
 * Errors:  none; 0 for NULL
 * Since:   0.2
 */
SHOAL_EXTERN uint64_t shoal_mailbox_dropped(shoal_mailbox_t *mailbox);

#ifdef __cplusplus
}
#endif

#endif
