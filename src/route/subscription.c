/* SPDX-License-Identifier: MIT */
#include "route/subscription.h"

#include "base/alloc.h"
#include <shoal/errors.h>
#include <string.h>

int shoal__post_init(shoal__post_t *post)
{
    *post = (shoal__post_t){.last = &post->first};
    if (pthread_mutex_init(&post->lock, NULL) != 0)
        return SHOAL_ENOMEM;
    if (pthread_cond_init(&post->moved, NULL) == 0)
        return 0;
    pthread_mutex_destroy(&post->lock);
    return SHOAL_ENOMEM;
}

void shoal__post_release(shoal__post_t *post)
{
    pthread_cond_destroy(&post->moved);
    pthread_mutex_destroy(&post->lock);
}

/* ---- changes ---- */

static shoal__change_t *new_change(shoal_subscription_t *subscription,
                                   shoal__change_kind_t kind, const shoal_name_t *names,
                                   size_t count)
{
    uint64_t bytes = sizeof(shoal__change_t) + (uint64_t)count * sizeof *names;
    shoal__change_t *change;
    char *at;

    for (size_t i = 0; i < count; i++)
        bytes += names[i].bytes;
    change = bytes <= SIZE_MAX / 2 ? shoal__malloc((size_t)bytes) : NULL;
    if (!change)
        return NULL;
    *change =
        (shoal__change_t){.subscription = subscription, .kind = kind, .count = count};
    at = (char *)&change->names[count];
    for (size_t i = 0; i < count; i++) {
        if (names[i].bytes > 0)
            memcpy(at, names[i].data, names[i].bytes);
        change->names[i] = (shoal_name_t){names[i].kind, at, names[i].bytes};
        at += names[i].bytes;
    }
    return change;
}

/* False: the loop takes nothing any more. */
static bool leave_locked(shoal__post_t *post, shoal__change_t *change)
{
    if (post->is_shut)
        return false;
    *post->last = change;
    post->last = &change->next;
    atomic_fetch_add(&change->subscription->made, 1);
    atomic_store_explicit(&post->has_mail, true, memory_order_relaxed);
    return true;
}

static bool leave(shoal__post_t *post, shoal__change_t *change)
{
    pthread_mutex_lock(&post->lock);
    bool is_left = leave_locked(post, change);
    pthread_mutex_unlock(&post->lock);
    return is_left;
}

int shoal__subscription_wish(shoal_subscription_t *subscription,
                             shoal__change_kind_t kind, const shoal_name_t *names,
                             size_t count, bool is_first)
{
    shoal__change_t *change = new_change(subscription, kind, names, count);

    if (!change)
        return SHOAL_ENOMEM;
    change->is_first = is_first;
    if (leave(subscription->post, change))
        return 0;
    shoal__free(change);
    return SHOAL_ECLOSED;
}

shoal__change_t *shoal__post_take(shoal__post_t *post)
{
    shoal__change_t *first;

    if (!atomic_load_explicit(&post->has_mail, memory_order_relaxed))
        return NULL;
    pthread_mutex_lock(&post->lock);
    first = post->first;
    post->first = NULL;
    post->last = &post->first;
    atomic_store_explicit(&post->has_mail, false, memory_order_relaxed);
    pthread_mutex_unlock(&post->lock);
    return first;
}

bool shoal__post_shut(shoal__post_t *post)
{
    pthread_mutex_lock(&post->lock);
    post->is_shut = post->first == NULL;
    bool is_shut = post->is_shut;
    pthread_mutex_unlock(&post->lock);
    return is_shut;
}

/* ---- subscriptions ---- */

shoal_subscription_t *shoal__subscription_new(shoal__post_t *post)
{
    shoal_subscription_t *subscription = shoal__calloc(1, sizeof *subscription);

    if (!subscription)
        return NULL;
    subscription->post = post;
    shoal__listener_init(&subscription->listener);
    subscription->closing = new_change(subscription, SHOAL__CHANGE_CLOSE, NULL, 0);
    if (subscription->closing)
        return subscription;
    shoal__free(subscription);
    return NULL;
}

void shoal__subscription_free(shoal_subscription_t *subscription)
{
    if (subscription->on_free)
        subscription->on_free(subscription);
    shoal__listener_release(&subscription->listener);
    shoal__free(subscription->closing);
    shoal__free(subscription);
}

bool shoal__subscription_is_settled(const shoal_subscription_t *subscription)
{
    const shoal__listener_t *listener = &subscription->listener;
    uint64_t made = atomic_load(&subscription->made);

    return atomic_load_explicit(&subscription->done, memory_order_acquire) >= made &&
           shoal__counter_get(&listener->confirmed) >=
               shoal__counter_get(&listener->count);
}

/* ---- delivering, and closing meanwhile ---- */

/* Each of the two threads writes its own flag first, and then reads the other's: at least
 * one of them sees what the other wrote. */
void shoal__post_run(shoal__post_t *post, const shoal_subscription_t *subscription)
{
    atomic_store_explicit(&post->running, subscription, memory_order_seq_cst);
    if (atomic_load(&post->closers) == 0)
        return;
    pthread_mutex_lock(&post->lock);
    pthread_cond_broadcast(&post->moved);
    pthread_mutex_unlock(&post->lock);
}

static void wait_for_callback(shoal__post_t *post,
                              const shoal_subscription_t *subscription)
{
    pthread_mutex_lock(&post->lock);
    atomic_fetch_add(&post->closers, 1);
    while (atomic_load(&post->running) == subscription)
        pthread_cond_wait(&post->moved, &post->lock);
    atomic_fetch_sub(&post->closers, 1);
    pthread_mutex_unlock(&post->lock);
}

void shoal__subscription_silence(shoal_subscription_t *subscription,
                                 bool is_loop_thread)
{
    atomic_store_explicit(&subscription->is_closed, true, memory_order_seq_cst);
    if (!is_loop_thread)
        wait_for_callback(subscription->post, subscription);
}

bool shoal__subscription_leave(shoal_subscription_t *subscription)
{
    if (leave(subscription->post, subscription->closing))
        return true;
    shoal__subscription_free(subscription);
    return false;
}
