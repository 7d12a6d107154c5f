/* SPDX-License-Identifier: MIT */
#include "route/subscriber/items.h"

#include "base/alloc.h"
#include <shoal/errors.h>
#include <string.h>

void shoal__subscriber_deliver(shoal__subscriber_t *subscriber,
                               shoal__listener_t *listener, shoal_item_t *item)
{
    item->epoch = subscriber->conn.line->epoch;
    subscriber->has_delivered = true;
    shoal__subscription_deliver(&subscriber->post, shoal__subscription_of(listener),
                                item);
}

void shoal__subscriber_mark(void *owner, shoal__listener_t *listener,
                            shoal_item_t *mark)
{
    shoal__subscriber_t *subscriber = owner;

    subscriber->has_news = true;
    shoal__subscriber_deliver(subscriber, listener, mark);
}

/* A NUL must follow the channel that a pattern matches.  NULL: no memory. */
static char *copy_channel(shoal__subscriber_t *subscriber, shoal__bytes_t channel)
{
    char *copy = channel.bytes < SHOAL__CHANNEL_BYTES
                     ? subscriber->channel
                     : shoal__malloc(channel.bytes + 1);

    if (!copy)
        return NULL;
    memcpy(copy, channel.data, channel.bytes);
    copy[channel.bytes] = '\0';
    return copy;
}

/* The item is about the topic's name, but for the kind that each receiver gave it. */
static void deliver_to_all(shoal__subscriber_t *subscriber, const shoal__topic_t *topic,
                           shoal_item_t *item)
{
    for (uint32_t i = 0; i < topic->ears_count; i++) {
        const shoal__ear_t *ear = &topic->ears[i];
        if (!ear->is_told)
            continue;
        item->name_kind =
            ear->is_keyspace ? SHOAL_NAME_KEYSPACE : (shoal_name_kind_t)topic->kind;
        shoal__subscriber_deliver(subscriber, ear->listener, item);
    }
}

static void deliver_by_pattern(shoal__subscriber_t *subscriber,
                               const shoal__topic_t *topic, const shoal__push_t *push,
                               shoal_item_t *item)
{
    char *channel = copy_channel(subscriber, push->channel);

    if (!channel) {
        shoal__pipe_refuse(&subscriber->conn.pipe, SHOAL_ENOMEM,
                           "no memory for a message");
        return;
    }
    item->pattern = shoal__topic_name(topic);
    item->channel.data = channel;
    deliver_to_all(subscriber, topic, item);
    if (channel != subscriber->channel)
        shoal__free(channel);
}

static void message_came(shoal__subscriber_t *subscriber, const shoal__push_t *push)
{
    const shoal__topic_t *topic = shoal__topics_find(&subscriber->subscriptions.topics,
                                                     push->name_kind, push->name);
    shoal_item_t item = {.kind = SHOAL_ITEM_MESSAGE, .payload = push->payload};

    shoal__counter_add(&subscriber->messages, 1);
    shoal__counter_add(&subscriber->message_bytes, push->payload.bytes);
    if (!topic || topic->ears_count == 0) {
        shoal__counter_add(&subscriber->unwanted, 1);
        return;
    }
    item.channel = (shoal__bytes_t){topic->data, push->channel.bytes};
    if (topic->kind == SHOAL_NAME_PATTERN)
        deliver_by_pattern(subscriber, topic, push, &item);
    else
        deliver_to_all(subscriber, topic, &item);
}

void shoal__subscriber_hear(void *owner, const shoal__push_t *push)
{
    shoal__subscriber_t *subscriber = owner;

    if (push->kind == SHOAL__PUSH_MESSAGE)
        message_came(subscriber, push);
    else if (push->kind == SHOAL__PUSH_OTHER)
        shoal__counter_add(&subscriber->unknown, 1);
    else
        shoal__subscriptions_hear(&subscriber->subscriptions, push);
}

/* The read, or the turn, is over. */
void shoal__subscriber_rest(shoal__subscriber_t *subscriber)
{
    bool has_news = subscriber->has_news;

    if (!subscriber->has_delivered && !has_news)
        return;
    subscriber->has_delivered = subscriber->has_news = false;
    shoal__post_run(&subscriber->post, NULL);
    subscriber->hooks.on_heard(subscriber->owner, has_news);
}
