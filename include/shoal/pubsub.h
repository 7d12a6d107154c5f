/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PUBSUB_H
#define SHOAL_PUBSUB_H

/**
 * @file
 * Subscriptions to channels and patterns, which never lose a message silently.
 *
 * A pubsub has a connection of its own, in a cluster one to each node that has names.  It
 * connects at the first subscription, and hangs up 10 s after the last one.
 *
 * A subscription is a set of names and one receiver.  Its receiver gets messages, and marks
 * (<shoal/item.h>), in one order:
 *
 * - SHOAL_ITEM_SUBSCRIBED, once for each name: what the server processes from now on arrives.
 *   No message of the name comes before.
 * - SHOAL_ITEM_SUSPENDED: the connection is lost.  The library connects again by itself.
 * - SHOAL_ITEM_GAP: the name is confirmed again, and messages may be missing here.  A program
 *   that reads the state of things at each SUBSCRIBED and GAP misses no change.
 * - SHOAL_ITEM_REJECTED: the server refuses this name.
 * - SHOAL_ITEM_ENDED: nothing follows.
 *
 * Several subscriptions may have the same name: the server sends its messages once.  A message
 * that a channel and two patterns of one subscription match comes three times, because the
 * server sends it three times.
 *
 * The options of a client that are about commands, or the number of connections, mean nothing
 * here.  The callback of shoal_options_set_on_event() gets NULL in place of the client.
 * docs/PUBSUB.md says more.
 */

#include <shoal/client.h>
#include <shoal/item.h>
#include <shoal/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Subscriptions over a connection of their own.  Opaque. */
typedef struct shoal_pubsub shoal_pubsub_t;

/** A set of names with one receiver.  Opaque. */
typedef struct shoal_subscription shoal_subscription_t;

/** A name that is subscribed.  It stands in arrays, and never grows. */
typedef struct shoal_name {
    shoal_name_kind_t kind;
    const char *data; /**< any bytes; NULL if `bytes` is 0 */
    size_t bytes;     /**< at most SHOAL_NAME_BYTES_MAX */
} shoal_name_t;

/** The longest name, and the most names of one call. */
#define SHOAL_NAME_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define SHOAL_NAMES_MAX 1000000

/** Called with each item of a subscription.  The item is borrowed, see <shoal/item.h>.
 *
 * While it runs nothing is read.  It may subscribe, change and close any subscription, and
 * submit commands to any client.  Slow receivers have a mailbox.
 *
 * Threads: runs on the loop thread of the pubsub; must not block, and be quick. */
typedef void (*shoal_item_cb)(const shoal_item_t *item, void *data);

/** Where the items of a subscription go.  Begin with SHOAL_RECEIVER_INIT.  Newer versions
 * append fields. */
typedef struct shoal_receiver {
    size_t size;              /**< sizeof(shoal_receiver_t) */
    shoal_item_cb on_item;    /**< NULL: a mailbox */
    void *data;               /**< of on_item, and what shoal_item_data() returns */
    shoal_mailbox_t *mailbox; /**< NULL: a callback.  Several subscriptions, also of
                                   several pubsubs, may have the same one */
} shoal_receiver_t;

/** Begin with `shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;`. */
#define SHOAL_RECEIVER_INIT                                                            \
    {                                                                                  \
        sizeof(shoal_receiver_t), NULL, NULL, NULL                                     \
    }

/** Counters since the pubsub was opened.  Fields whose name ends in "now" are momentary
 * values.  Begin with SHOAL_PUBSUB_STATS_INIT.  Newer versions append fields. */
typedef struct shoal_pubsub_stats {
    size_t size;               /**< sizeof(shoal_pubsub_stats_t) */
    uint64_t messages;         /**< that the server sent */
    uint64_t message_bytes;    /**< of their payloads */
    uint64_t unwanted;         /**< of the messages: nobody was subscribed any more */
    uint64_t names_wanted_now; /**< different names that somebody is subscribed to */
    uint64_t names_confirmed_now; /**< of them: the server sends them */
    uint64_t gaps;                /**< marks SHOAL_ITEM_GAP */
    uint64_t rejected;            /**< marks SHOAL_ITEM_REJECTED */
    uint64_t requests;            /**< SUBSCRIBE and its kin that were sent */
    uint64_t unknown_pushes;  /**< pushes of a kind that the library does not know */
    uint64_t connects;        /**< connections that became ready */
    uint64_t losses;          /**< ... and were lost */
    uint64_t attempts_failed; /**< attempts to connect that failed */
    uint64_t desyncs;         /**< losses because the server broke the protocol */
    uint64_t epoch;           /**< attempts to connect so far */
    uint64_t reads, writes, bytes_in, bytes_out; /**< system calls, and bytes */
    uint64_t is_connected_now; /**< 1: the connection is ready; in a cluster all */
    uint64_t protocol_now;     /**< RESP of the last greeting: 2 or 3; 0: none yet */
    uint64_t probes, probe_restarts, probe_us_now,
        is_probe_forbidden_now; /**< probe.h */
} shoal_pubsub_stats_t;

/** Begin with `shoal_pubsub_stats_t stats = SHOAL_PUBSUB_STATS_INIT;`. */
#define SHOAL_PUBSUB_STATS_INIT                                                        \
    {                                                                                  \
        sizeof(shoal_pubsub_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  \
            0, 0, 0, 0, 0, 0, 0, 0                                                     \
    }

/**
 * Open a pubsub with a thread of its own.  Nothing is connected yet.
 *
 * @param options    NULL for the defaults; copied
 * @param ret_pubsub receives the pubsub; close it, and give it back with
 *                   shoal_pubsub_release()
 * @param ret_error  receives the reason of a failure; may be NULL
 *
 * Threads: any
 * Errors:  those of shoal_client_open()
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_open(const shoal_options_t *options,
                                   shoal_pubsub_t **ret_pubsub,
                                   shoal_error_t *ret_error);

/**
 * Open a pubsub whose loop the caller steps, as shoal_client_open_borrowed() does.
 *
 * @param options    NULL for the defaults; copied
 * @param ret_pubsub receives the pubsub
 * @param ret_error  receives the reason of a failure; may be NULL
 *
 * Threads: any
 * Errors:  those of shoal_pubsub_open()
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_open_borrowed(const shoal_options_t *options,
                                            shoal_pubsub_t **ret_pubsub,
                                            shoal_error_t *ret_error);

/**
 * The descriptor of a borrowed pubsub: readable when there is something to do.
 *
 * Threads: any
 * Errors:  none; -1 if the pubsub is not a borrowed one, or is gone
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_fd(shoal_pubsub_t *pubsub);

/**
 * How long a step of a borrowed pubsub may be put off, in microseconds; -1: until the
 * descriptor is readable.
 *
 * Threads: loop
 * Errors:  none; -1 if the pubsub is not a borrowed one
 * Since:   0.2
 */
SHOAL_EXTERN int64_t shoal_pubsub_wait_us(shoal_pubsub_t *pubsub);

/**
 * Run one iteration of a borrowed pubsub's loop: items are delivered inside.
 *
 * @param pubsub     opened with shoal_pubsub_open_borrowed()
 * @param timeout_us the longest time to wait for something to do; SHOAL_TIMEOUT_NEVER
 *
 * @return 0; 1 if the close is complete; or an error
 *
 * Threads: any, one at a time: it is the loop thread meanwhile
 * Errors:  SHOAL_EINVAL pubsub is NULL or not a borrowed one, or a step is under way
 *          SHOAL_EFORK  the pubsub belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_step(shoal_pubsub_t *pubsub, uint64_t timeout_us);

/**
 * Close the pubsub: each subscription gets SHOAL_ITEM_ENDED, and the connection is closed.
 * Subscriptions must still be closed, each by its holder.
 *
 * @param pubsub    is of no use afterwards, but must be released
 * @param on_closed called on the loop thread when everything is closed; may be NULL
 * @param data      of on_closed
 *
 * Threads: any
 * Blocks:  never
 * Errors:  SHOAL_EINVAL  pubsub is NULL
 *          SHOAL_ECLOSED it was closed before
 *          SHOAL_EFORK   the pubsub belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_close(shoal_pubsub_t *pubsub, shoal_closed_cb on_closed,
                                    void *data);

/**
 * Close the pubsub, and wait until that is complete: a borrowed one is stepped.
 *
 * Threads: any but the loop thread; with a borrowed pubsub the one that steps it
 * Blocks:  until the pubsub's callbacks have returned
 * Errors:  SHOAL_EINVAL  pubsub is NULL
 *          SHOAL_ECLOSED it was closed before
 *          SHOAL_ELOOP   the call would wait for itself, or the program runs the loop
 *          SHOAL_EFORK   the pubsub belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_close_and_wait(shoal_pubsub_t *pubsub);

/**
 * Take one more reference.  Returns the pubsub.
 *
 * Threads: any
 * Errors:  none; NULL for NULL
 * Since:   0.2
 */
SHOAL_EXTERN shoal_pubsub_t *shoal_pubsub_retain(shoal_pubsub_t *pubsub);

/**
 * Give a reference back.  The last one closes and frees the pubsub.  Each subscription holds
 * one until it is closed.
 *
 * Threads: any
 * Errors:  none; does nothing for NULL, and in the child of a fork
 * Since:   0.2
 */
SHOAL_EXTERN void shoal_pubsub_release(shoal_pubsub_t *pubsub);

/**
 * In the child of a fork: close the descriptors that the child inherited, and wipe the
 * credentials.
 *
 * Threads: any
 * Errors:  SHOAL_EINVAL pubsub is NULL, or was opened by this process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_after_fork_child(shoal_pubsub_t *pubsub);

/**
 * Read the counters.
 *
 * @param pubsub    whose counters
 * @param ret_stats its field `size` is set: SHOAL_PUBSUB_STATS_INIT
 *
 * Threads: any
 * Errors:  SHOAL_EINVAL pubsub or ret_stats is NULL, or its size was never set
 *          SHOAL_EFORK  the pubsub belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_stats(shoal_pubsub_t *pubsub,
                                    shoal_pubsub_stats_t *ret_stats);

/**
 * Subscribe to names.  SHOAL_ITEM_SUBSCRIBED tells of each when the server has confirmed it,
 * perhaps before this call returns.
 *
 * @param pubsub           over whose connection the names are subscribed
 * @param names            copied; may be NULL if count is 0
 * @param count            at most SHOAL_NAMES_MAX; 0: names may be added later
 * @param receiver         copied: where items go
 * @param ret_subscription receives the subscription, before its first callback; end it
 *                         with shoal_subscription_close()
 *
 * Threads: any
 * Blocks:  never
 * Errors:  SHOAL_EINVAL  a pointer is NULL, a name makes no sense, the receiver has both
 *                        callback and mailbox or neither
 *          SHOAL_ETOOBIG a name is too long, or there are too many
 *          SHOAL_ECLOSED the pubsub was closed
 *          SHOAL_EFORK   the pubsub or the mailbox belongs to the parent
 *          SHOAL_ENOMEM
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_pubsub_subscribe(shoal_pubsub_t *pubsub,
                                        const shoal_name_t *names, size_t count,
                                        const shoal_receiver_t *receiver,
                                        shoal_subscription_t **ret_subscription);

/**
 * Add names to a subscription.  Names that it has already stay as they are.
 *
 * @param subscription gets them
 * @param names        copied
 * @param count        at most SHOAL_NAMES_MAX
 *
 * Threads: any
 * Blocks:  never
 * Errors:  those of shoal_pubsub_subscribe()
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_subscription_add(shoal_subscription_t *subscription,
                                        const shoal_name_t *names, size_t count);

/**
 * Take names out of a subscription.  Items of them may still come for a moment.
 *
 * @param subscription loses them
 * @param names        copied
 * @param count        at most SHOAL_NAMES_MAX
 *
 * Threads: any
 * Blocks:  never
 * Errors:  those of shoal_pubsub_subscribe()
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_subscription_remove(shoal_subscription_t *subscription,
                                           const shoal_name_t *names, size_t count);

/**
 * Wait until the server has confirmed every name that the subscription has now.
 *
 * @param subscription whose names
 * @param timeout_us   the longest time to wait; 0: not at all; SHOAL_TIMEOUT_NEVER
 *
 * @return 0: all are confirmed; 1: all others are confirmed, but the server has refused at
 *         least one name since the subscription was made; or an error
 *
 * Threads: any but the loop thread; of a borrowed pubsub another thread must run steps, unless
 *          timeout_us is 0
 * Blocks:  until then
 * Errors:  SHOAL_EINVAL   subscription is NULL
 *          SHOAL_ETIMEOUT the time is over
 *          SHOAL_ECLOSED  the pubsub was closed
 *          SHOAL_ELOOP    this is the loop thread, and the call would have to wait
 *          SHOAL_EFORK    the pubsub belongs to the parent process
 * Since:   0.2
 */
SHOAL_EXTERN int shoal_subscription_wait(shoal_subscription_t *subscription,
                                         uint64_t timeout_us);

/**
 * End a subscription, and free it.
 *
 * No callback of it runs after the call returned: the call waits for one that runs.  In its own
 * callback the call does not wait, and that callback is the last one.  What a mailbox still
 * has of it is dropped.
 *
 * Threads: any.  The calling thread must hold no lock that the subscription's callback takes
 * Blocks:  while the subscription's callback runs on another thread
 * Errors:  none; does nothing for NULL, and in the child of a fork
 * Since:   0.2
 */
SHOAL_EXTERN void shoal_subscription_close(shoal_subscription_t *subscription);

#ifdef __cplusplus
}
#endif

#endif
