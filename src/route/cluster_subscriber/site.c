/* SPDX-License-Identifier: MIT */

/* The connection to one node, and the names that are to be there. */

#include "base/alloc.h"
#include "base/time_us.h"
#include "route/cluster_subscriber/state.h"
#include "route/errand.h"
#include "route/subscriber/items.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define SITE_ID 100000 /* the number of the first connection; others are below */
#define HANG_UP_AFTER_US UINT64_C(10000000) /* without a name that is wanted */

/* ---- the connection ---- */

static void on_event(void *owner, const shoal_event_t *event)
{
    shoal__site_t *site = owner;
    shoal__cluster_subscriber_t *subscriber = site->owner;

    if (event->kind == SHOAL_EVENT_LOST)
        shoal__site_lost(site, event->detail);
    if (event->kind == SHOAL_EVENT_READY)
        shoal__probe_reset(&site->probe);
    if (event->kind == SHOAL_EVENT_READY && !shoal__relay_succeeds(&site->relay)) {
        shoal__site_lost(site, event->detail);
        shoal__subscriptions_begin(&site->subscriptions);
    }
    if (event->kind == SHOAL_EVENT_READY)
        site->epoch = site->conn.line->epoch;
    subscriber->hooks.on_event(subscriber->owner, event);
}

static bool on_successor(void *owner, uint64_t now_us)
{
    return shoal__relay_begin(&((shoal__site_t *)owner)->relay, now_us);
}

static void on_successor_gone(void *owner)
{
    shoal__relay_gone(&((shoal__site_t *)owner)->relay);
}

static void on_successor_message(void *owner, const shoal__push_t *push)
{
    shoal__relay_hear_successor(&((shoal__site_t *)owner)->relay, push);
}

static bool is_successor_answered(void *owner)
{
    return shoal__relay_is_copy_answered(&((const shoal__site_t *)owner)->relay);
}

static void on_reading(void *owner, uint64_t now_us)
{
    shoal__cluster_subscriber_t *subscriber = ((shoal__site_t *)owner)->owner;

    subscriber->hooks.on_reading(subscriber->owner, now_us);
}

static void on_delivered(void *owner)
{
    shoal__cluster_subscriber_t *subscriber = ((shoal__site_t *)owner)->owner;

    shoal__reception_rest(&subscriber->reception);
    subscriber->hooks.on_delivered(subscriber->owner);
}

static bool is_answered(void *owner)
{
    const shoal__site_t *site = owner;

    return shoal__probe_is_answered(&site->probe, &site->relay);
}

static const shoal__conn_hooks_t conn_hooks = {
    .on_event = on_event,
    .on_reading = on_reading,
    .on_delivered = on_delivered,
    .on_own = shoal__errand_on_own,
    .on_message = shoal__site_on_message,
    .is_answered = is_answered,
    .on_successor = on_successor,
    .on_successor_gone = on_successor_gone,
    .on_successor_message = on_successor_message,
    .is_successor_answered = is_successor_answered};

static bool is_away(const shoal__site_t *site)
{
    return site->conn.state == SHOAL__CONN_IDLE ||
           site->conn.state == SHOAL__CONN_CLOSED;
}

/* ---- which node it leads to ---- */

static bool is_at(const shoal__site_t *site, const shoal__node_t *node)
{
    return site->endpoint.port == node->endpoint.port &&
           strcmp(site->host, node->host) == 0 &&
           strcmp(site->hostname, node->hostname) == 0;
}

shoal__site_t *shoal__site_find(const shoal__cluster_subscriber_t *subscriber,
                                const shoal__node_t *node)
{
    for (unsigned i = 0; i < shoal__sites_count(subscriber); i++)
        if (is_at(shoal__site_at(subscriber, i), node))
            return shoal__site_at(subscriber, i);
    return NULL;
}

shoal__node_t *shoal__site_node(const shoal__site_t *site)
{
    shoal__node_t *node = shoal__cluster_node(site->owner->cluster, site->index);

    return is_at(site, node) ? node : NULL;
}

static void lead_to(shoal__site_t *site, const shoal__node_t *node)
{
    const shoal__target_t *origin = &site->owner->cluster->target;

    snprintf(site->host, sizeof site->host, "%s", node->host);
    snprintf(site->hostname, sizeof site->hostname, "%s", node->hostname);
    snprintf(site->name, sizeof site->name, "%s", node->name);
    site->by = node->by;
    site->endpoint = node->endpoint;
    site->endpoint.name = site->name;
    site->endpoint.host = site->host;
    if (site->endpoint.by)
        site->endpoint.by = &site->by;
    if (site->endpoint.tls_name)
        site->endpoint.tls_name = site->hostname;
    site->target = (shoal__target_t){.name = site->name,
                                     .endpoints = &site->endpoint,
                                     .endpoints_count = 1,
                                     .secret = origin->secret,
                                     .keeper = origin->keeper,
                                     .is_replica = true};
}

static bool is_here(void *owner, shoal__bytes_t channel)
{
    const shoal__site_t *site = owner;
    const shoal__cluster_t *cluster = site->owner->cluster;

    return cluster->route.found != SHOAL__FOUND_CLUSTER ||
           shoal__slot_map_owner(&cluster->map, shoal__key_slot(channel)) ==
               site->index;
}

static bool has_shards(void *owner)
{
    const shoal__site_t *site = owner;
    const shoal__topics_t *topics = &site->subscriptions.topics;

    for (uint32_t i = 0; i < topics->slots_count; i++)
        if (topics->slots[i] && topics->slots[i]->kind == SHOAL_NAME_SHARD)
            return true;
    return false;
}

static const shoal__probe_ops_t probe_ops = {.has_shards = has_shards,
                                             .is_here = is_here};

/* NULL: no memory. */
static shoal__site_t *new_site(shoal__cluster_subscriber_t *subscriber,
                               const shoal__node_t *node)
{
    unsigned count = shoal__sites_count(subscriber);
    shoal__site_t *site = shoal__calloc(1, sizeof *site);
    const shoal__conn_plan_t plan = {.config = &subscriber->config,
                                     .target = site ? &site->target : NULL,
                                     .set = &subscriber->cluster->set,
                                     .id = SITE_ID + count,
                                     .hooks = &conn_hooks,
                                     .owner = site};

    if (!site)
        return NULL;
    site->owner = subscriber;
    site->idle_since_us = SHOAL__NEVER_US;
    lead_to(site, node);
    if (shoal__conn_init(&site->conn, &plan) < 0) {
        shoal__free(site);
        return NULL;
    }
    shoal__subscriptions_init(&site->subscriptions,
                              shoal__random_next(&plan.set->random),
                              shoal__site_on_mark, site);
    site->subscriptions.goes_by_slot = true;
    shoal__relay_init(&site->relay, &site->conn, &site->subscriptions);
    site->asker = (shoal__asker_t){.conn = &site->conn,
                                   .pipe = &site->conn.pipe,
                                   .subscriptions = &site->subscriptions,
                                   .on_refused = shoal__site_on_refused};
    site->keyspaces.conn = &site->conn;
    shoal__probe_init(&site->probe, &site->conn, &site->subscriptions,
                      &subscriber->reception);
    site->probe.ops = &probe_ops;
    site->probe.owner = site;
    shoal__listener_init(&site->own);
    shoal__listener_init(&site->keyspace);
    shoal__subscriptions_join(&site->subscriptions, &site->own);
    shoal__subscriptions_join(&site->subscriptions, &site->keyspace);
    atomic_store_explicit(&subscriber->sites[count], site, memory_order_relaxed);
    atomic_store_explicit(&subscriber->sites_count, count + 1, memory_order_release);
    return site;
}

/* One that led to a node that nobody needs any more; NULL: there is none. */
static shoal__site_t *renew(const shoal__cluster_subscriber_t *subscriber,
                            const shoal__node_t *node)
{
    for (unsigned i = 0; i < shoal__sites_count(subscriber); i++) {
        shoal__site_t *site = shoal__site_at(subscriber, i);
        if (!is_away(site) || shoal__site_node(site) ||
            shoal__counter_get(&site->subscriptions.wanted) > 0)
            continue;
        lead_to(site, node);
        shoal__conn_lead(&site->conn, &site->target);
        site->conn.pipe.attempts_failed = 0;
        site->conn.pipe.detail[0] = '\0';
        return site;
    }
    return NULL;
}

shoal__site_t *shoal__site_of(shoal__cluster_subscriber_t *subscriber,
                              const shoal__node_t *node)
{
    shoal__site_t *site = shoal__site_find(subscriber, node);

    if (!site)
        site = renew(subscriber, node);
    if (!site && shoal__sites_count(subscriber) < SHOAL__NODES_MAX)
        site = new_site(subscriber, node);
    if (!site)
        return NULL;
    site->index = node->index;
    site->is_primary = node->slots > 0;
    return site;
}

void shoal__site_free(shoal__site_t *site)
{
    shoal__probe_release(&site->probe);
    shoal__subscriptions_release(&site->subscriptions);
    shoal__listener_release(&site->own);
    shoal__listener_release(&site->keyspace);
    shoal__conn_release(&site->conn);
    shoal__free(site);
}

/* ---- names ---- */

static shoal__listener_t *listener_for(const shoal__site_t *site,
                                       const shoal__topic_t *topic)
{
    shoal__site_t *mine = (shoal__site_t *)site;

    return topic->kind == SHOAL_NAME_KEYSPACE ? &mine->keyspace : &mine->own;
}

int shoal__site_add(shoal__site_t *site, const shoal__topic_t *topic)
{
    if (topic->kind == SHOAL_NAME_KEYSPACE)
        shoal__keyspace_rule_want(&site->keyspaces.rule, shoal__topic_name(topic));
    return shoal__subscriptions_add(&site->subscriptions, listener_for(site, topic),
                                    (shoal_name_kind_t)topic->kind,
                                    shoal__topic_name(topic));
}

void shoal__site_remove(shoal__site_t *site, const shoal__topic_t *topic)
{
    shoal__subscriptions_remove(&site->subscriptions, listener_for(site, topic),
                                (shoal_name_kind_t)topic->kind,
                                shoal__topic_name(topic));
}

/* NULL: it is not to be there. */
static const shoal__topic_t *find(const shoal__site_t *site,
                                  const shoal__topic_t *topic)
{
    shoal__bytes_t name = shoal__topic_name(topic);
    shoal_name_kind_t kind = shoal__topic_kind((shoal_name_kind_t)topic->kind, name);
    const shoal__topic_t *there =
        shoal__topics_find(&site->subscriptions.topics, kind, name);

    return there && shoal__topic_ear(there, listener_for(site, topic)) ? there : NULL;
}

bool shoal__site_has(const shoal__site_t *site, const shoal__topic_t *topic)
{
    return find(site, topic) != NULL;
}

bool shoal__site_confirms(const shoal__site_t *site, const shoal__topic_t *topic)
{
    const shoal__topic_t *there = find(site, topic);

    return there && there->is_confirmed;
}

/* ---- the turn ---- */

/* Returns when to hang up. */
static uint64_t look_for_work(shoal__site_t *site, uint64_t now_us)
{
    if (shoal__counter_get(&site->subscriptions.wanted) > 0) {
        site->idle_since_us = SHOAL__NEVER_US;
        if (is_away(site))
            shoal__conn_open(&site->conn);
        return SHOAL__NEVER_US;
    }
    if (is_away(site))
        return SHOAL__NEVER_US;
    if (site->idle_since_us == SHOAL__NEVER_US)
        site->idle_since_us = now_us;
    if (now_us < site->idle_since_us + HANG_UP_AFTER_US)
        return site->idle_since_us + HANG_UP_AFTER_US;
    shoal__site_shut(site, now_us);
    return SHOAL__NEVER_US;
}

/* ---- the turn, and probes ---- */

/* Returns when to look again. */
static uint64_t run_probe(shoal__site_t *site, uint64_t now_us)
{
    uint64_t wake_us = SHOAL__NEVER_US;

    if (site->relay.stage != SHOAL__RELAY_NONE ||
        !shoal__probe_turn(&site->probe, now_us, &wake_us))
        return wake_us;
    shoal__cluster_want_view(site->owner->cluster, SHOAL__TOPOLOGY_URGENT, NULL,
                             now_us);
    shoal__probe_restart(&site->probe);
    return now_us;
}

uint64_t shoal__site_turn(shoal__site_t *site, uint64_t now_us)
{
    uint64_t wake_us = look_for_work(site, now_us);

    if (site->relay.stage == SHOAL__RELAY_NONE)
        shoal__keyspace_turn(&site->keyspaces, &site->subscriptions,
                             shoal__probe_is_there(&site->probe), now_us);
    shoal__relay_turn(&site->relay, &site->asker, now_us);
    return shoal__time_min(wake_us, run_probe(site, now_us));
}

void shoal__site_shut(shoal__site_t *site, uint64_t now_us)
{
    shoal__conn_close(&site->conn, now_us);
    shoal__site_lost(site, "no name is subscribed there");
}
