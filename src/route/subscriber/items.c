/* SPDX-License-Identifier: MIT */
#include "route/subscriber/items.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include <string.h>

void shoal__reception_deliver(shoal__reception_t *reception,
                              shoal__listener_t *listener, shoal_item_t *item)
{
    reception->has_delivered = reception->has_items = true;
    shoal__subscription_deliver(&reception->post, shoal__subscription_of(listener),
                                item);
}

void shoal__reception_count(shoal__reception_t *reception, const shoal__push_t *push)
{
    shoal__counter_add(&reception->messages, 1);
    shoal__counter_add(&reception->message_bytes, push->payload.bytes);
}

/* A NUL must follow the channel that a pattern matches.  NULL: no memory. */
static char *copy_channel(shoal__reception_t *reception, shoal__bytes_t channel)
{
    char *copy = channel.bytes < SHOAL__CHANNEL_BYTES
                     ? reception->channel
                     : shoal__malloc(channel.bytes + 1);

    if (!copy)
        return NULL;
    memcpy(copy, channel.data, channel.bytes);
    copy[channel.bytes] = '\0';
    return copy;
}

/* The item is about the topic's name, but for the kind that each receiver gave it. */
static void deliver_to_all(shoal__reception_t *reception, const shoal__topic_t *topic,
                           shoal_item_t *item)
{
    for (uint32_t i = 0; i < topic->ears_count; i++) {
        const shoal__ear_t *ear = &topic->ears[i];
        if (!ear->is_told)
            continue;
        item->name_kind =
            ear->is_keyspace ? SHOAL_NAME_KEYSPACE : (shoal_name_kind_t)topic->kind;
        shoal__reception_deliver(reception, ear->listener, item);
    }
}

bool shoal__reception_message(shoal__reception_t *reception,
                              const shoal__topic_t *topic, const shoal__push_t *push,
                              uint64_t epoch)
{
    shoal_item_t item = {.kind = SHOAL_ITEM_MESSAGE,
                         .payload = push->payload,
                         .channel = {topic->data, push->channel.bytes},
                         .epoch = epoch};
    char *channel = NULL;

    if (push->name_kind == SHOAL_NAME_PATTERN) {
        channel = copy_channel(reception, push->channel);
        if (!channel)
            return false;
        item.pattern = shoal__topic_name(topic);
        item.channel.data = channel;
    }
    deliver_to_all(reception, topic, &item);
    if (channel != reception->channel)
        shoal__free(channel);
    return true;
}

void shoal__reception_tell(shoal__reception_t *reception)
{
    bool has_news = reception->has_news;

    if (!reception->has_delivered && !has_news)
        return;
    reception->has_delivered = reception->has_items = reception->has_news = false;
    shoal__ringing_done(&reception->ringing);
    shoal__post_run(&reception->post, NULL);
    reception->hooks->on_heard(reception->hooks_owner, has_news);
}

/* Consumers may be rung for later. */
static bool may_hold(const shoal__reception_t *reception)
{
    return reception->post.rung && reception->hooks->may_hold && !reception->has_news;
}

void shoal__reception_rest(shoal__reception_t *reception)
{
    if (may_hold(reception))
        shoal__post_run(&reception->post, NULL);
    else
        shoal__reception_tell(reception);
}

uint64_t shoal__reception_rest_turn(shoal__reception_t *reception, uint64_t now_us)
{
    bool has_items = reception->has_items;

    reception->has_items = false;
    if (may_hold(reception) &&
        !shoal__ringing_is_due(&reception->ringing, has_items, now_us)) {
        shoal__post_run(&reception->post, NULL);
        return now_us;
    }
    shoal__reception_tell(reception);
    return SHOAL__NEVER_US;
}

void shoal__reception_read(const shoal__reception_t *reception,
                           shoal_pubsub_stats_t *ret_stats)
{
    *ret_stats = (shoal_pubsub_stats_t)SHOAL_PUBSUB_STATS_INIT;
    ret_stats->messages = shoal__counter_get(&reception->messages);
    ret_stats->message_bytes = shoal__counter_get(&reception->message_bytes);
    ret_stats->unwanted = shoal__counter_get(&reception->unwanted);
    ret_stats->unknown_pushes = shoal__counter_get(&reception->unknown);
    ret_stats->probes = shoal__counter_get(&reception->probes);
    ret_stats->probe_restarts = shoal__counter_get(&reception->probe_restarts);
    ret_stats->probe_us_now = shoal__counter_get(&reception->probe_us);
    ret_stats->is_probe_forbidden_now =
        shoal__counter_get(&reception->probes_forbidden);
}
