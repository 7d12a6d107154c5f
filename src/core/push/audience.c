/* SPDX-License-Identifier: MIT */
#include "core/push/audience.h"

#include "core/push/item.h"
#include <shoal/errors.h>

void shoal__audience_init(shoal__audience_t *audience, uint64_t seed,
                          const shoal__audience_hooks_t *hooks, void *owner)
{
    *audience = (shoal__audience_t){.hooks = hooks, .owner = owner};
    shoal__topics_init(&audience->topics, seed);
    shoal__list_init(&audience->listeners);
}

void shoal__audience_release(shoal__audience_t *audience)
{
    shoal__topics_release(&audience->topics);
}

static void mark(const shoal__audience_t *audience, const shoal__topic_t *topic,
                 shoal__listener_t *listener, shoal_item_t item)
{
    item.name_kind = (shoal_name_kind_t)topic->kind;
    item.channel = shoal__topic_name(topic);
    audience->hooks->on_mark(audience->owner, listener, &item);
}

/* ---- who listens ---- */

void shoal__audience_join(shoal__audience_t *audience, shoal__listener_t *listener)
{
    shoal__list_append(&audience->listeners, &listener->node);
}

static void tell_subscribed(const shoal__audience_t *audience,
                            const shoal__topic_t *topic, shoal__ear_t *ear)
{
    ear->is_told = true;
    shoal__counter_add(&ear->listener->confirmed, 1);
    mark(audience, topic, ear->listener, (shoal_item_t){.kind = SHOAL_ITEM_SUBSCRIBED});
}

/* Nobody listens to it. */
static void drop(shoal__audience_t *audience, shoal__topic_t *topic)
{
    shoal__counter_add(&audience->wanted, (uint64_t)-1);
    shoal__counter_add(&audience->confirmed, (uint64_t) - (int64_t)topic->is_confirmed);
    audience->keyspaces -= topic->kind == SHOAL_NAME_KEYSPACE;
    audience->hooks->on_unwanted(audience->owner, topic);
    shoal__topics_drop(&audience->topics, topic);
}

static void begin(shoal__audience_t *audience, shoal__topic_t *topic)
{
    shoal__counter_add(&audience->wanted, 1);
    audience->keyspaces += topic->kind == SHOAL_NAME_KEYSPACE;
    audience->hooks->on_wanted(audience->owner, topic);
}

int shoal__audience_add(shoal__audience_t *audience, shoal__listener_t *listener,
                        shoal_name_kind_t kind, shoal__bytes_t name)
{
    shoal__topic_t *topic = shoal__topics_add(&audience->topics, kind, name);
    shoal__ear_t *ear;

    if (!topic)
        return SHOAL_ENOMEM;
    if (shoal__topic_ear(topic, listener))
        return 0;
    ear = shoal__topic_listen(topic, listener);
    if (!ear) {
        if (topic->ears_count == 0)
            shoal__topics_drop(&audience->topics, topic);
        return SHOAL_ENOMEM;
    }
    if (topic->ears_count == 1)
        begin(audience, topic);
    else if (topic->is_confirmed)
        tell_subscribed(audience, topic, ear);
    return 0;
}

/* The ear leaves. */
static void leave(const shoal__topic_t *topic, shoal__ear_t *ear)
{
    if (topic->is_confirmed)
        shoal__counter_add(&ear->listener->confirmed, (uint64_t)-1);
    shoal__topic_leave((shoal__topic_t *)topic, ear);
}

void shoal__audience_remove(shoal__audience_t *audience, shoal__listener_t *listener,
                            shoal_name_kind_t kind, shoal__bytes_t name)
{
    shoal__topic_t *topic = shoal__topics_find(&audience->topics, kind, name);
    shoal__ear_t *ear = topic ? shoal__topic_ear(topic, listener) : NULL;

    if (!ear)
        return;
    leave(topic, ear);
    if (topic->ears_count == 0)
        drop(audience, topic);
}

void shoal__audience_leave(shoal__audience_t *audience, shoal__listener_t *listener)
{
    uint64_t count;

    while ((count = shoal__counter_get(&listener->count)) > 0) {
        shoal__topic_t *topic = listener->topics[count - 1];
        leave(topic, shoal__topic_ear(topic, listener));
        if (topic->ears_count == 0)
            drop(audience, topic);
    }
    shoal__list_remove(&listener->node);
}

/* ---- what servers said ---- */

static void tell_gap(shoal__audience_t *audience, const shoal__topic_t *topic,
                     shoal__listener_t *listener, shoal_gap_reason_t reason)
{
    if (reason == SHOAL_GAP_NONE)
        return;
    shoal__counter_add(&audience->gaps, 1);
    mark(audience, topic, listener,
         (shoal_item_t){.kind = SHOAL_ITEM_GAP, .reason = reason});
}

void shoal__audience_confirm(shoal__audience_t *audience, shoal__topic_t *topic,
                             shoal_gap_reason_t reason, bool is_whole)
{
    bool was_whole = topic->is_confirmed;

    if (topic->reason != SHOAL_GAP_NONE)
        reason = (shoal_gap_reason_t)topic->reason;
    topic->is_confirmed = is_whole;
    if (is_whole)
        topic->reason = SHOAL_GAP_NONE;
    shoal__counter_add(&audience->confirmed, is_whole && !was_whole);
    for (uint32_t i = 0; i < topic->ears_count; i++) {
        shoal__ear_t *ear = &topic->ears[i];
        if (!ear->is_told && is_whole) {
            tell_subscribed(audience, topic, ear);
            continue;
        }
        if (!ear->is_told)
            continue;
        shoal__counter_add(&ear->listener->confirmed, is_whole && !was_whole);
        tell_gap(audience, topic, ear->listener, reason);
    }
}

void shoal__audience_unconfirm(shoal__audience_t *audience, shoal__topic_t *topic,
                               shoal_gap_reason_t reason)
{
    if (!topic->is_confirmed)
        return;
    topic->is_confirmed = false;
    topic->reason = (unsigned)reason & 7;
    shoal__counter_add(&audience->confirmed, (uint64_t)-1);
    for (uint32_t i = 0; i < topic->ears_count; i++)
        shoal__counter_add(&topic->ears[i].listener->confirmed, (uint64_t)-1);
}

void shoal__audience_lose(shoal__audience_t *audience, shoal__topic_t *topic,
                          shoal_gap_reason_t reason)
{
    for (uint32_t i = 0; topic->is_confirmed && i < topic->ears_count; i++)
        topic->ears[i].listener->is_hit = true;
    shoal__audience_unconfirm(audience, topic, reason);
}

void shoal__audience_suspend(shoal__audience_t *audience, shoal_gap_reason_t reason,
                             const char *detail)
{
    shoal__list_t *list = &audience->listeners;

    for (shoal__list_t *node = list->next; node != list; node = node->next) {
        shoal__listener_t *listener = SHOAL__LIST_ENTRY(node, shoal__listener_t, node);
        shoal_item_t item = {
            .kind = SHOAL_ITEM_SUSPENDED, .reason = reason, .detail = detail};
        if (!listener->is_hit)
            continue;
        listener->is_hit = false;
        audience->hooks->on_mark(audience->owner, listener, &item);
    }
}

void shoal__audience_reject(shoal__audience_t *audience, shoal__topic_t *topic,
                            const char *detail)
{
    while (topic->ears_count > 0) {
        shoal__ear_t *ear = &topic->ears[topic->ears_count - 1];
        shoal__listener_t *listener = ear->listener;
        leave(topic, ear);
        shoal__counter_add(&listener->rejected, 1);
        shoal__counter_add(&audience->rejected, 1);
        mark(audience, topic, listener,
             (shoal_item_t){.kind = SHOAL_ITEM_REJECTED, .detail = detail});
    }
    drop(audience, topic);
}
