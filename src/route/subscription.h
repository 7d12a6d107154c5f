/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_SUBSCRIPTION_H
#define SHOAL_ROUTE_SUBSCRIPTION_H

/*
 * A subscription, as its holders on many threads and the loop thread share it: what its holders
 * wish is left in a *post* for the loop, and the loop delivers items to it.
 *
 * The post's lock is a leaf: no callback runs under it.
 *
 * Guarantee: no item is delivered after shoal__subscription_silence() returned; from the
 * subscription's own callback, after that callback.  (U6)
 */

#include "core/push/item.h"
#include "core/push/topics.h"
#include <pthread.h>
#include <shoal/pubsub.h>
#include <stdatomic.h>

typedef enum shoal__change_kind {
    SHOAL__CHANGE_ADD,
    SHOAL__CHANGE_REMOVE,
    SHOAL__CHANGE_CLOSE
} shoal__change_kind_t;

/* What a holder wishes. */
typedef struct shoal__change {
    struct shoal__change *next;
    shoal_subscription_t *subscription;
    shoal__change_kind_t kind;
    bool is_first; /* ADD: the subscription is new */
    size_t count;
    shoal_name_t names[]; /* their bytes stand behind them */
} shoal__change_t;

typedef struct shoal__post {
    pthread_mutex_t lock;
    pthread_cond_t moved; /* the loop is at another subscription, or at none */
    shoal__change_t *first, **last;
    bool is_shut;             /* under the lock: the loop takes nothing any more */
    _Atomic bool has_mail;    /* there are changes */
    _Atomic unsigned closers; /* threads that wait for `running` to change */
    _Atomic(const shoal_subscription_t *) running; /* the loop delivers to it */
    _Atomic uint32_t
        prober;     /* grows when another one publishes probes; odd: there is one */
    bool has_ended; /* loop thread: shoal__subscription_end() was called */
    void *rung;     /* loop thread; for the holders: see client/pubsub.c */
} shoal__post_t;

static inline bool shoal__post_has_prober(uint32_t prober)
{
    return prober % 2 == 1;
}

struct shoal_subscription {
    shoal__listener_t listener; /* first; loop thread */
    shoal__post_t *post;        /* borrowed */
    void *holder;               /* borrowed: whom the library's caller finds there */
    shoal_item_cb on_item;
    void *data;      /* of on_item */
    void *item_data; /* what items say */
    void (*on_free)(
        shoal_subscription_t *subscription); /* NULL: nothing is to be done */
    _Atomic bool is_closed;
    bool is_ended;            /* loop thread: it got ENDED, or nothing more is for it */
    _Atomic uint64_t made;    /* changes that were wished */
    shoal__counter_t done;    /* of them: those that the loop has done */
    shoal__change_t *closing; /* kept for shoal__subscription_leave() */
};

/* 0 or SHOAL_ENOMEM. */
int shoal__post_init(shoal__post_t *post);
void shoal__post_release(shoal__post_t *post);

/* NULL: no memory. */
shoal_subscription_t *shoal__subscription_new(shoal__post_t *post);
/* It was never wished for, or the loop knows it no more. */
void shoal__subscription_free(shoal_subscription_t *subscription);

/* Any thread.  Leave a wish; the loop is then to be woken.  The names are copied.  0,
 * SHOAL_ENOMEM, or SHOAL_ECLOSED: the loop is over. */
int shoal__subscription_wish(shoal_subscription_t *subscription,
                             shoal__change_kind_t kind, const shoal_name_t *names,
                             size_t count, bool is_first);
/* Any thread: no item is delivered from now on; see above. */
void shoal__subscription_silence(shoal_subscription_t *subscription,
                                 bool is_loop_thread);
/* ... and it is of no use any more.  True: the loop is to be woken, and frees it; false: it
 * is freed. */
bool shoal__subscription_leave(shoal_subscription_t *subscription);

/* Any thread: are all changes done that were wished so far, and is every name confirmed? */
bool shoal__subscription_is_settled(const shoal_subscription_t *subscription);

/* Loop thread.  Take what was wished; the caller frees it.  NULL: nothing. */
shoal__change_t *shoal__post_take(shoal__post_t *post);
/* ... and take nothing any more.  False: something has come again. */
bool shoal__post_shut(shoal__post_t *post);

/* Loop thread: the loop delivers to this subscription from now on, or to none. */
void shoal__post_run(shoal__post_t *post, const shoal_subscription_t *subscription);

/* Loop thread: nothing more is to be delivered to the subscription, which its holder still
 * closes. */
static inline void shoal__subscription_end(shoal_subscription_t *subscription)
{
    subscription->post->has_ended = subscription->is_ended = true;
}

/* Loop thread. */
static inline void shoal__subscription_deliver(shoal__post_t *post,
                                               shoal_subscription_t *subscription,
                                               shoal_item_t *item)
{
    if (atomic_load_explicit(&post->running, memory_order_relaxed) != subscription)
        shoal__post_run(post, subscription);
    if (atomic_load(&subscription->is_closed) || subscription->is_ended)
        return;
    item->data = subscription->item_data;
    subscription->on_item(item, subscription->data);
}

#endif
