/* SPDX-License-Identifier: MIT */

/* What nodes say: confirmations, refusals, messages; and what becomes of their names when a
 * connection is lost. */

#include "core/redirect.h"
#include "route/cluster_subscriber/state.h"
#include "route/subscriber/items.h"
#include <shoal/errors.h>

/* Is the topic to be at this site? */
static bool is_here(const shoal__site_t *site, const shoal__topic_t *topic)
{
    return topic->is_everywhere ? site->is_primary : topic->site == site;
}

/* The audience's topic, if it is to be here; NULL: it is not. */
static shoal__topic_t *find(const shoal__site_t *site, shoal_name_kind_t kind,
                            shoal__bytes_t name)
{
    shoal__topic_t *topic =
        shoal__topics_find(&site->owner->audience.topics, kind, name);

    return topic && is_here(site, topic) ? topic : NULL;
}

static shoal__topic_t *find_keyspace(const shoal__site_t *site, shoal__bytes_t name)
{
    return site->owner->audience.keyspaces > 0 ? find(site, SHOAL_NAME_KEYSPACE, name)
                                               : NULL;
}

/* ---- marks ---- */

/* For messages that may be missing at a site that has just got the name. */
static shoal_gap_reason_t reason_of(const shoal__topic_t *topic,
                                    const shoal_item_t *mark)
{
    if (mark->kind == SHOAL_ITEM_GAP)
        return mark->reason;
    return topic->is_everywhere ? SHOAL_GAP_NODE : SHOAL_GAP_MOVED;
}

void shoal__site_on_mark(void *owner, shoal__listener_t *listener, shoal_item_t *mark)
{
    shoal__site_t *site = owner;
    shoal__cluster_subscriber_t *subscriber = site->owner;
    shoal__topic_t *topic;
    (void)listener;

    if (mark->kind == SHOAL_ITEM_SUSPENDED)
        return; /* shoal__site_lost() has said so */
    topic = find(site, mark->name_kind, mark->channel);
    if (!topic)
        return;
    subscriber->epoch = site->epoch;
    subscriber->pause_us = 0; /* nodes answer */
    if (mark->kind == SHOAL_ITEM_REJECTED)
        shoal__audience_reject(&subscriber->audience, topic, mark->detail);
    else
        shoal__audience_confirm(&subscriber->audience, topic, reason_of(topic, mark),
                                shoal__topic_is_whole(subscriber, topic));
}

/* ---- losses ---- */

void shoal__site_lost(shoal__site_t *site, const char *detail)
{
    shoal__cluster_subscriber_t *subscriber = site->owner;
    const shoal__topics_t *topics = &subscriber->audience.topics;

    shoal__relay_end(&site->relay);
    shoal__probe_reset(&site->probe);
    if (!site->subscriptions.is_up)
        return;
    for (uint32_t i = 0; i < topics->slots_count; i++) {
        shoal__topic_t *topic = topics->slots[i];
        if (topic && is_here(site, topic))
            shoal__audience_lose(&subscriber->audience, topic,
                                 site->subscriptions.loss);
    }
    subscriber->epoch = site->epoch;
    shoal__audience_suspend(&subscriber->audience, site->subscriptions.loss, detail);
    shoal__subscriptions_lost(&site->subscriptions, detail);
}

/* ---- refusals ---- */

/* The node does not own the slot: the map is to follow. */
static void heed_redirect(const shoal__site_t *site, const shoal__asking_t *asking,
                          shoal__bytes_t error)
{
    shoal__cluster_t *cluster = site->owner->cluster;
    uint64_t now_us = site->conn.pipe.now_us;
    shoal__node_t *from = shoal__site_node(site), *to = NULL;
    unsigned slot = shoal__key_slot(shoal__topic_name(asking->topics[0]));
    shoal__slot_redirect_t named;

    if (!from)
        return;
    from->conn.pipe.now_us = now_us;
    if (shoal__redirect_read_slot(error, &named) && !named.is_ask && named.slot == slot)
        to = shoal__cluster_named(cluster, from, &named);
    if (to)
        shoal__cluster_hear_moved(cluster, from, slot, to, false);
    else
        shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_URGENT, NULL, now_us);
}

/* The channels of a shard leave the site; they are placed anew. */
static void give_up(shoal__site_t *site, const shoal__asking_t *asking)
{
    shoal__cluster_subscriber_t *subscriber = site->owner;

    for (uint32_t i = 0; i < asking->count; i++) {
        shoal__topic_t *topic = NULL;
        if (asking->topics[i]->request == asking->number)
            topic = find(site, SHOAL_NAME_SHARD, shoal__topic_name(asking->topics[i]));
        if (topic)
            shoal__topic_put_off(subscriber, topic, site->conn.pipe.now_us);
    }
}

void shoal__site_on_refused(shoal__asker_t *asker, shoal__bytes_t *error)
{
    shoal__site_t *site = SHOAL__LIST_ENTRY(asker, shoal__site_t, asker);
    const shoal__asking_t *asking = shoal__subscriptions_head(&site->subscriptions);

    if (!asking || asking->kind != SHOAL_NAME_SHARD ||
        !shoal__subscriptions_may_pass(*error))
        return;
    heed_redirect(site, asking, *error);
    if (asking->is_subscribe)
        give_up(site, asking);
    /* No other name has to wait. */
    *error = (shoal__bytes_t){"", 0};
}

/* ---- what comes unasked ---- */

static void message_came(shoal__site_t *site, const shoal__push_t *push)
{
    shoal__reception_t *reception = &site->owner->reception;
    const shoal__topic_t *topics[] = {find(site, push->name_kind, push->name),
                                      find_keyspace(site, push->name)};

    shoal__reception_count(reception, push);
    if (!topics[0] && !topics[1])
        shoal__counter_add(&reception->unwanted, 1);
    for (unsigned i = 0; i < 2; i++)
        if (topics[i] && !shoal__reception_message(reception, topics[i], push,
                                                   site->conn.line->epoch))
            shoal__pipe_refuse(&site->conn.pipe, SHOAL_ENOMEM,
                               "no memory for a message");
}

/* The node sends the name no more; the registry asks again.  A slot that leaves drops the
 * channels of its shard: the answer will say where it is. */
static void dropped(const shoal__site_t *site, const shoal__push_t *push)
{
    shoal__topic_t *topics[] = {find(site, push->name_kind, push->name),
                                find_keyspace(site, push->name)};
    bool is_shard = push->name_kind == SHOAL_NAME_SHARD;

    for (unsigned i = 0; i < 2; i++)
        if (topics[i] && !shoal__site_confirms(site, topics[i]))
            shoal__audience_unconfirm(&site->owner->audience, topics[i],
                                      is_shard ? SHOAL_GAP_MOVED : SHOAL_GAP_LOST);
}

void shoal__site_on_message(void *owner, const shoal__push_t *push)
{
    shoal__site_t *site = owner;

    if (shoal__relay_takes(&site->relay, push) ||
        shoal__probe_takes(&site->probe, push))
        return;
    if (push->kind == SHOAL__PUSH_MESSAGE)
        message_came(site, push);
    else if (push->kind == SHOAL__PUSH_OTHER)
        shoal__counter_add(&site->owner->reception.unknown, 1);
    else
        shoal__subscriptions_hear(&site->subscriptions, push);
    if (push->kind == SHOAL__PUSH_DROPPED)
        dropped(site, push);
}
