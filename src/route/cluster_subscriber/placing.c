/* SPDX-License-Identifier: MIT */

/* Which names are at which sites; and when slots move, which names follow. */

#include "base/time_us.h"
#include "route/cluster_subscriber/state.h"
#include "route/subscriber/items.h"

#define PAUSE_US 50000       /* before what was refused is placed again, at first ... */
#define PAUSE_US_MAX 1000000 /* ... and at most */
#define NO_MEMORY_US 10000

/* ---- what is known of the nodes ---- */

/* The one server, whichever address leads to it. */
static void choose_server(shoal__cluster_subscriber_t *subscriber)
{
    const shoal__nodes_t *nodes = &subscriber->cluster->nodes;
    unsigned i = 0;

    if (subscriber->is_probe_auto)
        shoal__counter_set(&subscriber->reception.probe_us, 0);
    if (subscriber->primaries_count > 0 &&
        shoal__node_is_ready(shoal__nodes_at(nodes, subscriber->primaries[0])))
        return;
    while (i < shoal__nodes_count(nodes) &&
           !shoal__node_is_ready(shoal__nodes_at(nodes, i)))
        i++;
    if (i == shoal__nodes_count(nodes))
        return;
    subscriber->primaries[0] = (uint16_t)i;
    subscriber->primaries_count = 1;
    subscriber->map_changes--; /* all names are looked at */
}

static void list_primaries(shoal__cluster_subscriber_t *subscriber)
{
    const shoal__nodes_t *nodes = &subscriber->cluster->nodes;

    for (unsigned i = 0; i < shoal__sites_count(subscriber); i++)
        shoal__site_at(subscriber, i)->is_primary = false;
    subscriber->primaries_count = 0;
    for (unsigned i = 0; i < shoal__nodes_count(nodes); i++) {
        const shoal__node_t *node = shoal__nodes_at(nodes, i);
        shoal__site_t *site;
        if (node->slots == 0 || shoal__cluster_doubts(node))
            continue;
        subscriber->primaries[subscriber->primaries_count++] = (uint16_t)i;
        site = shoal__site_find(subscriber, node);
        if (site) {
            site->index = i;
            site->is_primary = true;
        }
    }
}

bool shoal__topic_is_whole(const shoal__cluster_subscriber_t *subscriber,
                           const shoal__topic_t *topic)
{
    unsigned confirmed = 0;

    if (!topic->is_everywhere)
        return topic->site && shoal__site_confirms(topic->site, topic);
    for (unsigned i = 0; i < shoal__sites_count(subscriber); i++) {
        const shoal__site_t *site = shoal__site_at(subscriber, i);
        confirmed += site->is_primary && shoal__site_confirms(site, topic);
    }
    return confirmed == subscriber->primaries_count;
}

/* ---- placing ---- */

static void put_aside(shoal__cluster_subscriber_t *subscriber, shoal__topic_t *topic,
                      uint64_t until_us)
{
    shoal__list_remove(&topic->pending);
    shoal__list_append(&subscriber->later, &topic->pending);
    subscriber->again_us = shoal__time_min(subscriber->again_us, until_us);
}

/* At every primary, and at no other node. */
static void place_everywhere(shoal__cluster_subscriber_t *subscriber,
                             shoal__topic_t *topic, uint64_t now_us)
{
    topic->is_everywhere = true;
    for (unsigned i = 0; i < subscriber->primaries_count; i++) {
        shoal__node_t *node =
            shoal__cluster_node(subscriber->cluster, subscriber->primaries[i]);
        shoal__site_t *site = shoal__site_of(subscriber, node);
        if (site && shoal__site_has(site, topic))
            continue;
        shoal__audience_unconfirm(&subscriber->audience, topic, SHOAL_GAP_NODE);
        if (!site || shoal__site_add(site, topic) < 0)
            put_aside(subscriber, topic, now_us + NO_MEMORY_US);
    }
    for (unsigned i = 0; i < shoal__sites_count(subscriber); i++)
        if (!shoal__site_at(subscriber, i)->is_primary)
            shoal__site_remove(shoal__site_at(subscriber, i), topic);
    if (!topic->is_confirmed && shoal__topic_is_whole(subscriber, topic))
        shoal__audience_confirm(&subscriber->audience, topic, SHOAL_GAP_NONE, true);
}

static void place_at(shoal__cluster_subscriber_t *subscriber, shoal__topic_t *topic,
                     const shoal__node_t *node, uint64_t now_us)
{
    shoal__site_t *site = shoal__site_of(subscriber, node);

    if (site && topic->site == site)
        return;
    shoal__audience_unconfirm(&subscriber->audience, topic, SHOAL_GAP_MOVED);
    if (topic->site)
        shoal__site_remove(topic->site, topic);
    topic->site = site; /* it may be confirmed there at once */
    if (site && shoal__site_add(site, topic) == 0)
        return;
    topic->site = NULL;
    put_aside(subscriber, topic, now_us + NO_MEMORY_US);
}

/* Whether there is a cluster, and which nodes it has, is known. */
static void place(shoal__cluster_subscriber_t *subscriber, shoal__topic_t *topic,
                  uint64_t now_us)
{
    const shoal__cluster_t *cluster = subscriber->cluster;
    const shoal__places_known_t known = {
        .map = cluster->route.found == SHOAL__FOUND_CLUSTER ? &cluster->map : NULL,
        .primaries = subscriber->primaries,
        .count = subscriber->primaries_count};
    const shoal__site_t *site = topic->site;
    unsigned now = site && shoal__site_node(site) ? site->index : SHOAL__SLOT_NOBODY;
    unsigned at = shoal__placement_of(&known, (shoal_name_kind_t)topic->kind,
                                      shoal__topic_name(topic), now);
    const shoal__node_t *node =
        at < SHOAL__SLOT_NOBODY ? shoal__cluster_node(cluster, at) : NULL;

    shoal__list_remove(&topic->pending);
    if (at == SHOAL__PLACE_EVERYWHERE)
        place_everywhere(subscriber, topic, now_us);
    else if (node && !shoal__cluster_doubts(node))
        place_at(subscriber, topic, node, now_us);
    else if (!topic->site)
        put_aside(subscriber, topic, SHOAL__NEVER_US);
}

/* Topics that stay in no list meanwhile, in the order in which they were wanted. */
static void place_list(shoal__cluster_subscriber_t *subscriber, shoal__list_t *list,
                       uint64_t now_us)
{
    shoal__list_t due;

    shoal__list_move(list, &due);
    while (!shoal__list_is_empty(&due))
        place(subscriber, SHOAL__LIST_ENTRY(due.next, shoal__topic_t, pending), now_us);
}

/* Slots have other owners: topics follow them. */
static void place_all(shoal__cluster_subscriber_t *subscriber, uint64_t now_us)
{
    const shoal__topics_t *topics = &subscriber->audience.topics;

    for (uint32_t i = 0; i < topics->slots_count; i++) {
        shoal__topic_t *topic = topics->slots[i];
        if (topic && (topic->site || topic->is_everywhere))
            place(subscriber, topic, now_us);
    }
}

void shoal__topics_place(shoal__cluster_subscriber_t *subscriber, uint64_t now_us)
{
    shoal__cluster_t *cluster = subscriber->cluster;
    bool is_changed;

    if (cluster->route.found == SHOAL__FOUND_ONE_SERVER)
        choose_server(subscriber);
    is_changed = subscriber->map_changes != cluster->map_changes;
    subscriber->map_changes = cluster->map_changes;
    if (is_changed && cluster->route.found == SHOAL__FOUND_CLUSTER)
        list_primaries(subscriber);
    if (is_changed || now_us >= subscriber->again_us) {
        subscriber->again_us = SHOAL__NEVER_US;
        place_list(subscriber, &subscriber->later, now_us);
    }
    place_list(subscriber, &subscriber->fresh, now_us);
    if (is_changed)
        place_all(subscriber, now_us);
}

void shoal__topic_put_off(shoal__cluster_subscriber_t *subscriber,
                          shoal__topic_t *topic, uint64_t now_us)
{
    shoal__audience_unconfirm(&subscriber->audience, topic, SHOAL_GAP_MOVED);
    shoal__site_remove(topic->site, topic);
    topic->site = NULL;
    if (subscriber->again_us == SHOAL__NEVER_US || subscriber->pause_us == 0)
        subscriber->pause_us = shoal__time_min(
            subscriber->pause_us ? subscriber->pause_us * 2 : PAUSE_US, PAUSE_US_MAX);
    put_aside(subscriber, topic, now_us + subscriber->pause_us);
}

/* ---- the audience's hooks ---- */

static void on_mark(void *owner, shoal__listener_t *listener, shoal_item_t *mark)
{
    shoal__cluster_subscriber_t *subscriber = owner;

    subscriber->reception.has_news = true;
    mark->epoch = subscriber->epoch;
    shoal__reception_deliver(&subscriber->reception, listener, mark);
}

static void on_wanted(void *owner, shoal__topic_t *topic)
{
    shoal__cluster_subscriber_t *subscriber = owner;

    shoal__list_append(&subscriber->fresh, &topic->pending);
}

static void on_unwanted(void *owner, shoal__topic_t *topic)
{
    shoal__cluster_subscriber_t *subscriber = owner;

    shoal__list_remove(&topic->pending);
    if (topic->site)
        shoal__site_remove(topic->site, topic);
    for (unsigned i = 0; topic->is_everywhere && i < shoal__sites_count(subscriber);
         i++)
        shoal__site_remove(shoal__site_at(subscriber, i), topic);
}

const shoal__audience_hooks_t shoal__cluster_subscriber_hooks = {
    .on_mark = on_mark, .on_wanted = on_wanted, .on_unwanted = on_unwanted};
