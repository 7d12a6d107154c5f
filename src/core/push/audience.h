/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_AUDIENCE_H
#define SHOAL_CORE_PUSH_AUDIENCE_H

/*
 * The listeners of each name in a cluster, where names are at several servers.  The owner asks
 * the servers; each has a registry of its own (core/push/subscriptions.h).  The owner tells the
 * audience what the servers answered, and the audience tells the listeners.
 *
 * A topic here has the kind that its listeners gave it: KEYSPACE, too.
 *
 * Guarantees: each listener gets SUBSCRIBED once for each name, when the name is confirmed
 * wherever it is to be; what follows is a GAP each.  (U1, U3, U4)
 */

#include "core/push/topics.h"

/* Whom the audience tells.  Nothing of it may be called. */
typedef struct shoal__audience_hooks {
    shoal__mark_fn on_mark; /* the item dies with the call, and lacks epoch and data */
    /* Somebody listens to the topic, which is new; nobody does any more, it is freed next. */
    void (*on_wanted)(void *owner, shoal__topic_t *topic);
    void (*on_unwanted)(void *owner, shoal__topic_t *topic);
} shoal__audience_hooks_t;

typedef struct shoal__audience {
    shoal__topics_t topics;
    shoal__list_t listeners;
    const shoal__audience_hooks_t *hooks;
    void *owner;
    uint32_t keyspaces; /* topics of that kind */
    /* Any thread reads them: topics; those of them that are confirmed; marks GAP and
     * REJECTED. */
    shoal__counter_t wanted, confirmed, gaps, rejected;
} shoal__audience_t;

void shoal__audience_init(shoal__audience_t *audience, uint64_t seed,
                          const shoal__audience_hooks_t *hooks, void *owner);
/* All listeners have left. */
void shoal__audience_release(shoal__audience_t *audience);

/* As in core/push/subscriptions.h. */
void shoal__audience_join(shoal__audience_t *audience, shoal__listener_t *listener);
void shoal__audience_leave(shoal__audience_t *audience, shoal__listener_t *listener);
int shoal__audience_add(shoal__audience_t *audience, shoal__listener_t *listener,
                        shoal_name_kind_t kind, shoal__bytes_t name);
void shoal__audience_remove(shoal__audience_t *audience, shoal__listener_t *listener,
                            shoal_name_kind_t kind, shoal__bytes_t name);

/* A server confirmed the topic; is_whole: all have that are to.  Listeners that have been
 * told before hear of a GAP, for this reason or the one for which it was unconfirmed; the
 * others hear of it when it is whole. */
void shoal__audience_confirm(shoal__audience_t *audience, shoal__topic_t *topic,
                             shoal_gap_reason_t reason, bool is_whole);
/* It is not whole any more. */
void shoal__audience_unconfirm(shoal__audience_t *audience, shoal__topic_t *topic,
                               shoal_gap_reason_t reason);
/* ... because a connection is lost; then listeners of such topics get SUSPENDED. */
void shoal__audience_lose(shoal__audience_t *audience, shoal__topic_t *topic,
                          shoal_gap_reason_t reason);
void shoal__audience_suspend(shoal__audience_t *audience, shoal_gap_reason_t reason,
                             const char *detail);
/* A server refuses the topic: it leaves all who listen to it, and is freed. */
void shoal__audience_reject(shoal__audience_t *audience, shoal__topic_t *topic,
                            const char *detail);

#endif
