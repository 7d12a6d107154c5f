/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_FEED_H
#define SHOAL_PYTHON_FEED_H

/*
 * Subscriptions as Python holds them.  A hub is a pubsub: one per event loop, which drives it,
 * or one per blocking client, with a thread of the library's.  A feed is a subscription of it
 * with its mailbox; what comes crosses into Python as one pickled list, when Python asks.
 *
 * A feed keeps its hub.  Nothing here may be called in the child of a fork but
 * shoalpy_hub_forget().
 */

#include "core.h"
#include "stream.h"
#include <shoal/shoal.h>
#include <stdbool.h>

typedef struct shoalpy_hub shoalpy_hub_t;
typedef struct shoalpy_feed shoalpy_feed_t;

/* As many items cross at a time. */
#define SHOALPY_FEED_ITEMS_MAX 1024

/* ---- hubs ---- */

/* 0 or an error of shoal_pubsub_open().  It sets the options' on_event to the hub, also if it
 * fails: the caller frees them then, and opens nothing else with them. */
int shoalpy_hub_open(shoal_options_t *options, bool is_borrowed,
                     shoalpy_hub_t **ret_hub, shoal_error_t *ret_error);
/* Closes it, if that was not done. */
void shoalpy_hub_free(shoalpy_hub_t *hub);
/* End each subscription; wait until all is closed, wait_us at most if it is a borrowed one.
 * False: the time is over. */
bool shoalpy_hub_close(shoalpy_hub_t *hub, uint64_t wait_us);
/* In the child of a fork: give up the parent's connection. */
void shoalpy_hub_forget(shoalpy_hub_t *hub);

/* Has it a connection now? */
bool shoalpy_hub_is_connected(shoalpy_hub_t *hub);
/* As shoal_pubsub_stats(). */
int shoalpy_hub_stats(shoalpy_hub_t *hub, shoal_pubsub_stats_t *ret_stats);

/* As shoalpy_events_take(). */
size_t shoalpy_hub_events(shoalpy_hub_t *hub, shoalpy_event_t *events, size_t count_max,
                          uint64_t *ret_lost);

/* As shoal_pubsub_set_credentials(). */
int shoalpy_hub_set_credentials(shoalpy_hub_t *hub, const char *user,
                                const char *password);

/* Is it to be probed?  Then this client publishes the probes. */
bool shoalpy_hub_is_probed(shoalpy_hub_t *hub);
void shoalpy_hub_set_prober(shoalpy_hub_t *hub, shoalpy_core_t *core);

/* A borrowed one: readable when there is something to do. */
int shoalpy_hub_fd(const shoalpy_hub_t *hub);
/* A borrowed one: read and write.  Feeds that were awaited, and have items now or were
 * confirmed, are awaited no more; their numbers go to `ready`.  How many there are, times 2,
 * plus 1 if the hub is to be pumped again without waiting for the descriptor; or an error. */
int64_t shoalpy_hub_pump(shoalpy_hub_t *hub, uint64_t *ready, size_t ready_max);

/* ---- feeds ---- */

/* 0 or an error of shoal_mailbox_new() or shoal_pubsub_subscribe(). */
int shoalpy_feed_open(shoalpy_hub_t *hub, const shoal_name_t *names, size_t count,
                      size_t messages_max, uint64_t bytes_max, int overflow,
                      shoalpy_feed_t **ret_feed);
/* No thread uses it any more. */
void shoalpy_feed_free(shoalpy_feed_t *feed);
uint64_t shoalpy_feed_number(const shoalpy_feed_t *feed);

int shoalpy_feed_add(shoalpy_feed_t *feed, const shoal_name_t *names, size_t count);
int shoalpy_feed_remove(shoalpy_feed_t *feed, const shoal_name_t *names, size_t count);

/* As shoal_subscription_wait(). */
int shoalpy_feed_wait_confirmed(shoalpy_feed_t *feed, uint64_t wait_us);
/* As shoal_mailbox_wait(). */
int shoalpy_feed_wait(shoalpy_feed_t *feed, uint64_t wait_us);
/* Readable while there are items to take; -1: the system gives no descriptor. */
int shoalpy_feed_fd(shoalpy_feed_t *feed);
/* shoalpy_hub_pump() tells when there are items, or when the names are confirmed. */
void shoalpy_feed_await(shoalpy_feed_t *feed, bool is_confirming);

/* Take count_max items at most, as a pickled list, which stands at shoalpy_feed_data() until
 * the next call.  A message is (channel, data, pattern or None), or (channel, data,
 * SHOAL_NAME_SHARD); a mark is (kind, kind of its name, name or None, count, reason, detail,
 * epoch).
 *
 *   0            there is none
 *   SHOAL_ENOMEM items are lost
 *   otherwise    the bytes of the list, times 2, plus 1 if it has marks, or messages of shards */
int64_t shoalpy_feed_take(shoalpy_feed_t *feed, size_t count_max, bool as_text);
const char *shoalpy_feed_data(const shoalpy_feed_t *feed);

#endif
