/* SPDX-License-Identifier: MIT */
#include "client/pubsub.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "client/item_queue.h"
#include "client/life.h"

/* Something was left in the post. */
static void wake(shoal_client_t *client)
{
    shoal__client_lock(client);
    shoal__mailbox_wish_locked(&client->mailbox, SHOAL__WISH_TURN);
    shoal__client_unlock(client);
}

/* ---- mailboxes ---- */

/* The receiver of a subscription with a mailbox. */
typedef struct box {
    shoal_mailbox_t *mailbox; /* has a reference of this box */
    shoal__item_source_t *source;
    shoal_subscription_t *subscription;
    struct box *next; /* loop thread: the next one whose consumer is to be told */
    bool is_rung;     /* loop thread: it is in that list */
} box_t;

static void put_into_box(const shoal_item_t *item, void *data)
{
    box_t *box = data;
    shoal__post_t *post = box->subscription->post;
    unsigned said = shoal__items_put(box->source, item);

    if (said & SHOAL__ITEMS_ENDED)
        shoal__subscription_end(box->subscription);
    if (!(said & SHOAL__ITEMS_RING) || box->is_rung)
        return;
    box->is_rung = true;
    box->next = post->rung;
    post->rung = box;
}

/* The subscription is freed: no item comes any more, and its consumer is not told of what
 * came in this turn. */
static void free_box(shoal_subscription_t *subscription)
{
    shoal__post_t *post = subscription->post;
    box_t *box = subscription->data, *before = post->rung;

    if (box->is_rung && before == box) {
        post->rung = box->next;
    } else if (box->is_rung) {
        while (before->next != box)
            before = before->next;
        before->next = box->next;
    }
    shoal__items_release(box->mailbox);
    shoal__free(box);
}

/* 0 or SHOAL_ENOMEM. */
static int make_box(shoal_subscription_t *subscription,
                    const shoal_receiver_t *receiver)
{
    box_t *box = shoal__calloc(1, sizeof *box);

    if (!box)
        return SHOAL_ENOMEM;
    if (shoal__items_open(receiver->mailbox, receiver->data, &box->source) < 0) {
        shoal__free(box);
        return SHOAL_ENOMEM;
    }
    shoal__items_retain(receiver->mailbox);
    box->mailbox = receiver->mailbox;
    box->subscription = subscription;
    subscription->on_item = put_into_box;
    subscription->data = box;
    subscription->on_free = free_box;
    return 0;
}

/* Nothing is put any more, and what was put and not taken is gone. */
static void close_box(const shoal_subscription_t *subscription)
{
    box_t *box = subscription->data;

    if (subscription->on_free)
        shoal__items_close(box->source);
}

void shoal__pubsub_heard(void *owner, bool has_news)
{
    shoal_client_t *client = owner;
    shoal__post_t *post = client->routes[0]->post;
    box_t *box = post->rung, *next;

    for (post->rung = NULL; box; box = next) {
        next = box->next;
        box->is_rung = false;
        shoal__items_ring(box->mailbox);
    }
    if (!has_news)
        return;
    shoal__client_lock(client);
    shoal__gate_tell_locked(&client->gate);
    shoal__client_unlock(client);
}

/* ---- subscriptions ---- */

static int make_receiver(shoal_subscription_t *subscription,
                         const shoal_receiver_t *receiver)
{
    if (receiver->mailbox)
        return make_box(subscription, receiver);
    subscription->on_item = receiver->on_item;
    subscription->data = subscription->item_data = receiver->data;
    return 0;
}

int shoal__pubsub_subscribe(shoal_pubsub_t *pubsub, const shoal_name_t *names,
                            size_t count, const shoal_receiver_t *receiver,
                            shoal_subscription_t **ret_subscription)
{
    shoal_client_t *client = &pubsub->client;
    shoal_subscription_t *subscription =
        shoal__subscription_new(client->routes[0]->post);
    int rc;

    if (!subscription)
        return SHOAL_ENOMEM;
    subscription->holder = client;
    rc = make_receiver(subscription, receiver);
    if (rc < 0) {
        shoal__subscription_free(subscription);
        return rc;
    }
    /* The loop may deliver to it before this call returns, and callbacks may use it. */
    *ret_subscription = subscription;
    shoal__client_retain(client);
    rc = shoal__subscription_wish(subscription, SHOAL__CHANGE_ADD, names, count, true);
    if (rc < 0) {
        *ret_subscription = NULL;
        close_box(subscription);
        shoal__subscription_free(subscription);
        shoal__client_release(client);
        return rc;
    }
    wake(client);
    return 0;
}

int shoal__pubsub_change(shoal_subscription_t *subscription, shoal__change_kind_t kind,
                         const shoal_name_t *names, size_t count)
{
    int rc = shoal__subscription_wish(subscription, kind, names, count, false);

    if (rc == 0)
        wake(shoal__subscription_client(subscription));
    return rc;
}

/* 0 or 1: it is settled; else why not. */
static int look(const shoal_subscription_t *subscription)
{
    const shoal_client_t *client = shoal__subscription_client(subscription);

    if (shoal__gate_is_closed(&client->gate))
        return SHOAL_ECLOSED;
    if (!shoal__subscription_is_settled(subscription))
        return SHOAL_ETIMEOUT;
    return shoal__counter_get(&subscription->listener.rejected) > 0;
}

int shoal__pubsub_wait(shoal_subscription_t *subscription, uint64_t timeout_us)
{
    shoal_client_t *client = shoal__subscription_client(subscription);
    uint64_t until_us = shoal__time_after(shoal__clock_us(), timeout_us);
    int rc = look(subscription);

    if (rc != SHOAL_ETIMEOUT || timeout_us == 0)
        return rc;
    if (shoal__client_is_loop_thread(client))
        return SHOAL_ELOOP;
    shoal__client_lock(client);
    do
        rc = look(subscription);
    while (rc == SHOAL_ETIMEOUT && shoal__gate_wait_locked(&client->gate, until_us));
    shoal__client_unlock(client);
    return rc;
}

void shoal__pubsub_unsubscribe(shoal_subscription_t *subscription)
{
    shoal_client_t *client = shoal__subscription_client(subscription);

    shoal__subscription_silence(subscription, shoal__client_is_loop_thread(client));
    close_box(subscription);
    if (shoal__subscription_leave(subscription))
        wake(client);
    shoal__client_release(client);
}
