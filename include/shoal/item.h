/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ITEM_H
#define SHOAL_ITEM_H

/* What a subscription receives: messages, and marks.  A mark stands in the stream of
 * messages where something happened to it: a name was confirmed, the connection was
 * lost, messages may be missing.  Subscriptions are made with <shoal/pubsub.h>. */

#include <shoal/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a name stands for. */
typedef enum shoal_name_kind {
    SHOAL_NAME_CHANNEL = 0, /**< a channel, `SUBSCRIBE` */
    SHOAL_NAME_PATTERN = 1, /**< all channels that match a pattern, `PSUBSCRIBE` */
    SHOAL_NAME_SHARD = 2,   /**< a channel of one slot of a cluster, `SSUBSCRIBE` */
    SHOAL_NAME_KEYSPACE =
        3 /**< a channel or pattern of keyspace notifications.  Servers send them only if
               their setting notify-keyspace-events says so.  It is read once for each
               server that has such a name, and SHOAL_EVENT_KEYSPACE_OFF tells what it
               lacks.  It is never set.  A user without the right to CONFIG gets no event */
} shoal_name_kind_t;

/** What an item is.  Later versions may add kinds of marks. */
typedef enum shoal_item_kind {
    SHOAL_ITEM_MESSAGE = 0,    /**< somebody published this */
    SHOAL_ITEM_SUBSCRIBED = 1, /**< the server confirmed this name for the first time:
                                    what it processes later arrives */
    SHOAL_ITEM_SUSPENDED = 2,  /**< a connection of this subscription is gone.  One for
                                    each subscription and loss */
    SHOAL_ITEM_GAP = 3,        /**< messages of this name may be missing here.  The
                                    server confirmed the name anew: what it processes
                                    later arrives */
    SHOAL_ITEM_DROPPED = 4,    /**< the mailbox had no room for shoal_item_count()
                                    messages, which stood here */
    SHOAL_ITEM_REJECTED = 5,   /**< the server refuses this name, which leaves the
                                    subscription; shoal_item_detail() is the error */
    SHOAL_ITEM_ENDED = 6       /**< nothing follows for this subscription;
                                    shoal_item_detail() says why */
} shoal_item_kind_t;

/** Why messages may be missing. */
typedef enum shoal_gap_reason {
    SHOAL_GAP_NONE = 0,  /**< the item is no gap */
    SHOAL_GAP_LOST = 1,  /**< the connection was lost */
    SHOAL_GAP_MOVED = 2, /**< another node has the name now */
    SHOAL_GAP_PROBE =
        3,             /**< the server delivered nothing of what was published to it */
    SHOAL_GAP_NODE = 4 /**< a node that also has events of this name was added */
} shoal_gap_reason_t;

/** A message or a mark.  Opaque, and borrowed: an item lives until its callback returns,
 * or until the next take from its mailbox. */
typedef struct shoal_item shoal_item_t;

/** A queue of items with one consumer, <shoal/mailbox.h>.  Opaque. */
typedef struct shoal_mailbox shoal_mailbox_t;

/**
 * What an item is.
 *
 * Threads: any
 * Errors:  none; SHOAL_ITEM_ENDED for NULL
 * Since:   0.2
 */
SHOAL_EXTERN shoal_item_kind_t shoal_item_kind(const shoal_item_t *item);

/**
 * What the item's name stands for: the name by which the subscription got a message, and
 * the name which a mark is about.
 *
 * Threads: any
 * Errors:  none; SHOAL_NAME_CHANNEL for NULL, and for a mark that is about no name
 * Since:   0.2
 */
SHOAL_EXTERN shoal_name_kind_t shoal_item_name_kind(const shoal_item_t *item);

/**
 * The channel of a message; the name that a mark is about.  The bytes may have any
 * values; a NUL, which does not count, follows them.
 *
 * @param ret_bytes receives the count of bytes; may be NULL
 *
 * @return the bytes; NULL for a mark that is about no name
 *
 * Threads: any
 * Errors:  none; NULL for NULL
 * Since:   0.2
 */
SHOAL_EXTERN const char *shoal_item_channel(const shoal_item_t *item,
                                            size_t *ret_bytes);

/**
 * The pattern by which the subscription got a message.  A NUL, which does not count,
 * follows it.
 *
 * @param ret_bytes receives the count of bytes; may be NULL
 *
 * @return the bytes; NULL if it was not by a pattern, and for marks
 *
 * Threads: any
 * Errors:  none; NULL for NULL
 * Since:   0.2
 */
SHOAL_EXTERN const char *shoal_item_pattern(const shoal_item_t *item,
                                            size_t *ret_bytes);

/**
 * What was published.  The bytes may have any values, and need no NUL behind them.
 *
 * @param ret_bytes receives the count of bytes; may be NULL
 *
 * @return the bytes; NULL for marks
 *
 * Threads: any
 * Errors:  none; NULL for NULL
 * Since:   0.2
 */
SHOAL_EXTERN const char *shoal_item_payload(const shoal_item_t *item,
                                            size_t *ret_bytes);

/**
 * How many messages SHOAL_ITEM_DROPPED stands for.
 *
 * Threads: any
 * Errors:  none; 0 for NULL and for other items
 * Since:   0.2
 */
SHOAL_EXTERN uint64_t shoal_item_count(const shoal_item_t *item);

/**
 * Why messages may be missing, for SHOAL_ITEM_GAP; why the connection was given up, for
 * SHOAL_ITEM_SUSPENDED.
 *
 * Threads: any
 * Errors:  none; SHOAL_GAP_NONE for NULL and for other items
 * Since:   0.2
 */
SHOAL_EXTERN shoal_gap_reason_t shoal_item_reason(const shoal_item_t *item);

/**
 * What happened, in words: the error of a server, or how a connection was lost.
 *
 * Threads: any
 * Errors:  none; "" for NULL, and if there is nothing to say
 * Since:   0.2
 */
SHOAL_EXTERN const char *shoal_item_detail(const shoal_item_t *item);

/**
 * The number of the connection that the item is about; it grows with each connection
 * that the subscriber opens.
 *
 * Threads: any
 * Errors:  none; 0 for NULL, and for items that are about no connection
 * Since:   0.2
 */
SHOAL_EXTERN uint64_t shoal_item_epoch(const shoal_item_t *item);

/**
 * The pointer that the subscription's receiver was given.
 *
 * Threads: any
 * Errors:  none; NULL for NULL
 * Since:   0.2
 */
SHOAL_EXTERN void *shoal_item_data(const shoal_item_t *item);

#ifdef __cplusplus
}
#endif

#endif
