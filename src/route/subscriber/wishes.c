/* SPDX-License-Identifier: MIT */
#include "route/subscriber/wishes.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "route/subscriber/items.h"

#define NO_MEMORY_US 10000

/* False: no memory; what was done of it may be done again. */
static bool apply_names(shoal__reception_t *reception, const shoal__change_t *change)
{
    shoal__listener_t *listener = &change->subscription->listener;
    const shoal__reception_ops_t *ops = reception->ops;

    for (size_t i = 0; i < change->count; i++) {
        const shoal_name_t *name = &change->names[i];
        shoal__bytes_t bytes = {name->data, name->bytes};
        if (change->kind == SHOAL__CHANGE_REMOVE)
            ops->remove(reception->owner, listener, name->kind, bytes);
        else if (ops->add(reception->owner, listener, name->kind, bytes) < 0)
            return false;
    }
    return true;
}

/* The change is done, and freed.  False: no memory for it. */
static bool apply(shoal__reception_t *reception, shoal__change_t *change)
{
    shoal_subscription_t *subscription = change->subscription;

    if (change->kind == SHOAL__CHANGE_CLOSE) {
        reception->ops->leave(reception->owner, &subscription->listener);
        shoal__subscription_free(subscription); /* and its change */
        return true;
    }
    if (change->is_first) {
        change->is_first = false;
        reception->ops->join(reception->owner, &subscription->listener);
    }
    if (!subscription->is_ended && !apply_names(reception, change))
        return false;
    atomic_store_explicit(&subscription->done,
                          shoal__counter_get(&subscription->done) + 1,
                          memory_order_release);
    shoal__free(change);
    return true;
}

/* What is there now: threads that go on wishing keep nobody from reading.  False: some wait for
 * memory. */
static bool apply_all(shoal__reception_t *reception)
{
    if (!reception->changes)
        reception->changes = shoal__post_take(&reception->post);
    reception->has_news = reception->has_news || reception->changes;
    while (reception->changes) {
        shoal__change_t *change = reception->changes;
        reception->changes = change->next;
        if (!apply(reception, change)) {
            reception->changes = change;
            return false;
        }
    }
    return true;
}

uint64_t shoal__reception_apply(shoal__reception_t *reception, uint64_t now_us)
{
    if (!apply_all(reception))
        return now_us + NO_MEMORY_US;
    return atomic_load_explicit(&reception->post.has_mail, memory_order_relaxed)
               ? now_us
               : SHOAL__NEVER_US;
}

/* Subscriptions that got their end give their names up. */
void shoal__reception_leave_ended(shoal__reception_t *reception)
{
    shoal__list_t *list = reception->listeners;

    for (shoal__list_t *node = list->next; node != list;) {
        shoal__listener_t *listener = SHOAL__LIST_ENTRY(node, shoal__listener_t, node);
        node = node->next;
        if (shoal__subscription_of(listener)->is_ended)
            reception->ops->leave(reception->owner, listener);
    }
    reception->post.has_ended = false;
}

static void end_listeners(shoal__reception_t *reception)
{
    shoal__list_t *list = reception->listeners;

    while (!shoal__list_is_empty(list)) {
        shoal__listener_t *listener =
            SHOAL__LIST_ENTRY(list->next, shoal__listener_t, node);
        shoal_item_t item = {.kind = SHOAL_ITEM_ENDED,
                             .detail = "the pubsub was closed"};
        reception->ops->leave(reception->owner, listener);
        shoal__reception_deliver(reception, listener, &item);
        shoal__subscription_end(
            shoal__subscription_of(listener)); /* whatever it adds */
    }
}

/* Without memory for names that are added, they are not: nothing comes of them. */
static void drop_changes(shoal__reception_t *reception)
{
    while (!apply_all(reception)) {
        shoal__change_t *change = reception->changes;
        reception->changes = change->next;
        shoal__free(change);
    }
}

void shoal__reception_end_all(shoal__reception_t *reception)
{
    /* Once the post is shut, holders free their subscriptions by themselves: nothing of theirs
     * is touched behind that. */
    do {
        drop_changes(reception);
        end_listeners(reception);
        reception->has_news = true;
        shoal__reception_tell(reception);
    } while (!shoal__post_shut(&reception->post));
}
