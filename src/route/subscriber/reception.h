/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIBER_RECEPTION_H
#define SHOAL_ROUTE_SUBSCRIBER_RECEPTION_H

/*
 * What every route of a pubsub has, whether it leads to one server or to many: the post in which
 * holders of subscriptions leave what they wish, and the way of items to receivers.
 *
 * Loop thread, but for the post and the counters.
 */

#include "core/push/ringing.h"
#include "resp/push.h"
#include "route/route.h"
#include "route/subscription.h"

#define SHOAL__CHANNEL_BYTES 256

/* What becomes of wishes. */
typedef struct shoal__reception_ops {
    void (*join)(void *owner, shoal__listener_t *listener);
    /* It listens to one more name; 0 or SHOAL_ENOMEM.  To one less. */
    int (*add)(void *owner, shoal__listener_t *listener, shoal_name_kind_t kind,
               shoal__bytes_t name);
    void (*remove)(void *owner, shoal__listener_t *listener, shoal_name_kind_t kind,
                   shoal__bytes_t name);
    /* It listens to nothing any more, and is no longer in `listeners`. */
    void (*leave)(void *owner, shoal__listener_t *listener);
} shoal__reception_ops_t;

typedef struct shoal__reception {
    shoal__post_t post;
    shoal__change_t *changes; /* taken, and not done for want of memory */
    const shoal__reception_ops_t *ops;
    void *owner;              /* of ops */
    shoal__list_t *listeners; /* borrowed: those that joined and have not left */
    const shoal__route_hooks_t *hooks;
    void *hooks_owner;
    bool has_news, has_delivered; /* since the hook on_heard */
    bool has_items;               /* were delivered since the last turn */
    shoal__ringing_t ringing;
    char channel
        [SHOAL__CHANNEL_BYTES]; /* that a pattern matched; longer ones are allocated */
    uint32_t prober;            /* of the post, as it was seen last */
    shoal__counter_t messages, message_bytes, unwanted, unknown;
    shoal__counter_t probes, probe_restarts, probes_forbidden;
    shoal__counter_t probe_us; /* the interval of probes; 0: none */
} shoal__reception_t;

static inline shoal_subscription_t *shoal__subscription_of(shoal__listener_t *listener)
{
    return (shoal_subscription_t *)listener; /* its first field */
}

#endif
