/* SPDX-License-Identifier: MIT */
#include "route/subscriber/wishes.h"

#include "base/alloc.h"
#include "route/subscriber/items.h"

/* False: no memory; what was done of it may be done again. */
static bool apply_names(shoal__subscriber_t *subscriber, const shoal__change_t *change)
{
    shoal__listener_t *listener = &change->subscription->listener;

    for (size_t i = 0; i < change->count; i++) {
        const shoal_name_t *name = &change->names[i];
        shoal__bytes_t bytes = {name->data, name->bytes};
        if (change->kind == SHOAL__CHANGE_REMOVE)
            shoal__subscriptions_remove(&subscriber->subscriptions, listener,
                                        name->kind, bytes);
        else if (shoal__subscriptions_add(&subscriber->subscriptions, listener,
                                          name->kind, bytes) < 0)
            return false;
    }
    return true;
}

/* The change is done, and freed.  False: no memory for it. */
static bool apply(shoal__subscriber_t *subscriber, shoal__change_t *change)
{
    shoal_subscription_t *subscription = change->subscription;

    if (change->kind == SHOAL__CHANGE_CLOSE) {
        shoal__subscriptions_leave(&subscriber->subscriptions, &subscription->listener);
        shoal__subscription_free(subscription); /* and its change */
        return true;
    }
    if (change->is_first) {
        change->is_first = false;
        shoal__subscriptions_join(&subscriber->subscriptions, &subscription->listener);
    }
    if (!subscription->is_ended && !apply_names(subscriber, change))
        return false;
    atomic_store_explicit(&subscription->done,
                          shoal__counter_get(&subscription->done) + 1,
                          memory_order_release);
    shoal__free(change);
    return true;
}

/* False: some wait for memory. */
bool shoal__subscriber_apply(shoal__subscriber_t *subscriber)
{
    do {
        if (!subscriber->changes)
            subscriber->changes = shoal__post_take(&subscriber->post);
        subscriber->has_news = subscriber->has_news || subscriber->changes;
        while (subscriber->changes) {
            shoal__change_t *change = subscriber->changes;
            subscriber->changes = change->next;
            if (!apply(subscriber, change)) {
                subscriber->changes = change;
                return false;
            }
        }
    } while (atomic_load_explicit(&subscriber->post.has_mail, memory_order_relaxed));
    return true;
}

/* Subscriptions that got their end give their names up. */
void shoal__subscriber_leave_ended(shoal__subscriber_t *subscriber)
{
    shoal__list_t *list = &subscriber->subscriptions.listeners;

    for (shoal__list_t *node = list->next; node != list;) {
        shoal__listener_t *listener = SHOAL__LIST_ENTRY(node, shoal__listener_t, node);
        node = node->next;
        if (shoal__subscription_of(listener)->is_ended)
            shoal__subscriptions_leave(&subscriber->subscriptions, listener);
    }
    subscriber->has_ended = false;
}

static void end_listeners(shoal__subscriber_t *subscriber)
{
    shoal__list_t *list = &subscriber->subscriptions.listeners;

    while (!shoal__list_is_empty(list)) {
        shoal__listener_t *listener =
            SHOAL__LIST_ENTRY(list->next, shoal__listener_t, node);
        shoal_item_t item = {.kind = SHOAL_ITEM_ENDED,
                             .detail = "the pubsub was closed"};
        shoal__subscriptions_leave(&subscriber->subscriptions, listener);
        shoal__subscriber_deliver(subscriber, listener, &item);
    }
}

/* Without memory for names that are added, they are not: nothing comes of them. */
static void drop_changes(shoal__subscriber_t *subscriber)
{
    while (!shoal__subscriber_apply(subscriber)) {
        shoal__change_t *change = subscriber->changes;
        subscriber->changes = change->next;
        shoal__free(change);
    }
}

void shoal__subscriber_end_all(shoal__subscriber_t *subscriber)
{
    /* Once the post is shut, holders free their subscriptions by themselves: nothing of theirs
     * is touched behind that. */
    do {
        drop_changes(subscriber);
        end_listeners(subscriber);
        subscriber->has_news = true;
        shoal__subscriber_rest(subscriber);
    } while (!shoal__post_shut(&subscriber->post));
}
