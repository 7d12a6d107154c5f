/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_LISTENER_H
#define SHOAL_TESTS_LISTENER_H

/*
 * A subscription with a callback, and a transcript of what it got, item by item:
 *
 *     +x  confirmed     ~  suspended      ?x  a gap         !x  rejected      .  ended
 *     x=payload  a message of the channel x       p>x=payload  ... by the pattern p
 */

#include "support/waiting.h"
#include <pthread.h>
#include <shoal/shoal.h>

#define LISTENER_BYTES 65536

typedef struct listener {
    shoal_subscription_t *subscription;
    pthread_mutex_t lock;
    char heard[LISTENER_BYTES];
    size_t bytes;
    _Atomic size_t items;
    uint64_t epoch;            /* of the last item */
    shoal_gap_reason_t reason; /* of the last gap */
    char detail[200];          /* of the last mark that had one */
    void (*act)(struct listener *,
                const shoal_item_t *); /* what the callback does then */
    void *act_data;
} listener_t;

/* Subscribe to names, which blanks separate: `p:` before a pattern, `s:` before the channel
 * of a shard, `k:` before a name of keyspace events. */
void listener_begin(listener_t *listener, shoal_pubsub_t *pubsub, const char *names);
void listener_end(listener_t *listener);
void listener_add(listener_t *listener, const char *names);
void listener_remove(listener_t *listener, const char *names);

/* The callback, for receivers of a test's own. */
void listener_on_item(const shoal_item_t *item, void *data);

/* Does the transcript have this now? */
bool listener_has(listener_t *listener, const char *text);
/* Wait until the transcript is this, and begin a new one. */
#define LISTENER_HEARS(listener, text)                                                 \
    listener_hears(listener, text, __FILE__, __LINE__)
void listener_hears(listener_t *listener, const char *text, const char *file, int line);

/* Wait until every name is confirmed. */
void listener_wait(listener_t *listener);

shoal_pubsub_stats_t listener_stats(shoal_pubsub_t *pubsub);

#endif
