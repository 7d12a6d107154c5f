/* SPDX-License-Identifier: MIT */
#include "route/cluster_subscriber.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/conn_set.h"
#include "route/cluster.h"
#include "route/cluster_subscriber/state.h"
#include "route/subscriber/items.h"
#include "route/subscriber/wishes.h"
#include <shoal/errors.h>

#define LOOK_US 1000000 /* between two looks for primaries that are new */

static shoal__cluster_subscriber_t *of(shoal__route_t *route)
{
    return (shoal__cluster_subscriber_t *)route;
}

static const shoal__cluster_subscriber_t *of_const(const shoal__route_t *route)
{
    return (const shoal__cluster_subscriber_t *)route;
}

static shoal__route_t *cluster_of(shoal__route_t *route)
{
    return &of(route)->cluster->route;
}

/* ---- what subscriptions wish ---- */

static void join(void *owner, shoal__listener_t *listener)
{
    shoal__audience_join(owner, listener);
}

static int add(void *owner, shoal__listener_t *listener, shoal_name_kind_t kind,
               shoal__bytes_t name)
{
    return shoal__audience_add(owner, listener, kind, name);
}

static void remove_name(void *owner, shoal__listener_t *listener,
                        shoal_name_kind_t kind, shoal__bytes_t name)
{
    shoal__audience_remove(owner, listener, kind, name);
}

static void leave(void *owner, shoal__listener_t *listener)
{
    shoal__audience_leave(owner, listener);
}

static const shoal__reception_ops_t reception_ops = {
    .join = join, .add = add, .remove = remove_name, .leave = leave};

/* ---- the table ---- */

static void open_route(shoal__route_t *route, shoal__loop_t *loop)
{
    of(route)->loop = loop;
}

/* Nothing tells that there is another primary, which has events of keys, too: a command would
 * be redirected there, and here are none.  Returns when to look again. */
static uint64_t look_for_primaries(shoal__cluster_subscriber_t *subscriber,
                                   uint64_t now_us)
{
    if (subscriber->audience.keyspaces == 0)
        return SHOAL__NEVER_US;
    if (now_us >= subscriber->look_us) {
        subscriber->look_us = now_us + LOOK_US;
        shoal__cluster_want_view(subscriber->cluster, SHOAL__TOPOLOGY_SOON, NULL,
                                 now_us);
    }
    return subscriber->look_us;
}

/* The cluster is looked at from the first name on. */
static uint64_t turn_cluster(shoal__cluster_subscriber_t *subscriber, uint64_t now_us)
{
    shoal__route_t *cluster = &subscriber->cluster->route;

    if (!subscriber->is_open && shoal__counter_get(&subscriber->audience.wanted) == 0)
        return SHOAL__NEVER_US;
    if (!subscriber->is_open)
        cluster->ops->open(cluster, subscriber->loop);
    subscriber->is_open = true;
    return shoal__time_min(look_for_primaries(subscriber, now_us),
                           cluster->ops->turn(cluster, now_us));
}

static uint64_t turn(shoal__route_t *route, uint64_t now_us)
{
    shoal__cluster_subscriber_t *subscriber = of(route);
    shoal__reception_t *reception = &subscriber->reception;
    uint64_t wake_us = shoal__reception_apply(reception, now_us);

    if (reception->post.has_ended)
        shoal__reception_leave_ended(reception);
    wake_us = shoal__time_min(wake_us, turn_cluster(subscriber, now_us));
    shoal__topics_place(subscriber, now_us);
    wake_us = shoal__time_min(wake_us, subscriber->again_us);
    for (unsigned i = 0; i < shoal__sites_count(subscriber); i++)
        wake_us = shoal__time_min(
            wake_us, shoal__site_turn(shoal__site_at(subscriber, i), now_us));
    /* What the sites have to say since the cluster's turn. */
    wake_us = shoal__time_min(wake_us,
                              shoal__conn_set_turn(&subscriber->cluster->set, now_us));
    for (unsigned i = 0; i < shoal__sites_count(subscriber); i++)
        wake_us = shoal__time_min(
            wake_us,
            shoal__relay_wake_us(&shoal__site_at(subscriber, i)->relay, now_us));
    return shoal__time_min(wake_us, shoal__reception_rest_turn(reception, now_us));
}

static void read_ahead(shoal__route_t *route)
{
    shoal__route_t *cluster = cluster_of(route);

    cluster->ops->read_ahead(cluster);
    for (unsigned i = 0; i < shoal__sites_count(of(route)); i++)
        shoal__conn_read_ahead(&shoal__site_at(of(route), i)->conn);
}

static bool is_open(const shoal__site_t *site)
{
    return site->conn.state != SHOAL__CONN_IDLE &&
           site->conn.state != SHOAL__CONN_CLOSED;
}

static void reconnect(shoal__route_t *route, uint64_t now_us)
{
    shoal__route_t *cluster = cluster_of(route);

    cluster->ops->reconnect(cluster, now_us);
    for (unsigned i = 0; i < shoal__sites_count(of(route)); i++)
        if (is_open(shoal__site_at(of(route), i)))
            shoal__conn_reconnect(&shoal__site_at(of(route), i)->conn,
                                  SHOAL__CONN_ASKED_FOR, now_us);
}

/* Also by the cluster's keeper, for which this is the route. */
static void authenticate(shoal__route_t *route, shoal__secret_t *secret,
                         uint64_t now_us)
{
    shoal__route_t *cluster = cluster_of(route);

    cluster->ops->authenticate(cluster, secret, now_us);
    for (unsigned i = 0; i < shoal__sites_count(of(route)); i++)
        if (is_open(shoal__site_at(of(route), i)))
            shoal__conn_authenticate(&shoal__site_at(of(route), i)->conn, now_us);
}

/* ---- what others see ---- */

/* Is there a site in use, and is none of those on its way? */
static bool are_connected(const shoal__cluster_subscriber_t *subscriber)
{
    unsigned ready = 0;

    for (unsigned i = 0; i < shoal__sites_count(subscriber); i++) {
        const shoal__site_t *site = shoal__site_at(subscriber, i);
        bool is_ready =
            shoal__counter_get(&site->conn.stats.state) == SHOAL__CONN_READY;
        if (!is_ready && shoal__counter_get(&site->subscriptions.wanted) > 0)
            return false;
        ready += is_ready;
    }
    return ready > 0;
}

/* It is never idle: a thread must always read what comes unasked. */
static void view(const shoal__route_t *route, shoal__route_view_t *ret_view)
{
    *ret_view = (shoal__route_view_t){.is_ready = are_connected(of_const(route)),
                                      .wake_after = 1};
}

static bool may_share(const shoal__route_t *route)
{
    (void)route;
    return false;
}

static uint64_t next_wake_us(const shoal__route_t *route)
{
    const shoal__cluster_subscriber_t *subscriber = of_const(route);
    const shoal__route_t *cluster = &subscriber->cluster->route;
    uint64_t wake_us =
        shoal__time_min(subscriber->again_us, cluster->ops->next_wake_us(cluster));

    for (unsigned i = 0; i < shoal__sites_count(subscriber); i++)
        wake_us = shoal__time_min(
            wake_us,
            shoal__pipe_next_wake_us(&shoal__site_at(subscriber, i)->conn.pipe));
    return wake_us;
}

static void publish(shoal__route_t *route)
{
    shoal__route_t *cluster = cluster_of(route);

    cluster->ops->publish(cluster);
}

static void add_site(const shoal__site_t *site, shoal_pubsub_stats_t *to)
{
    const shoal__conn_stats_t *conn = &site->conn.stats;
    uint64_t epoch = shoal__counter_get(&conn->epoch);

    to->requests += shoal__counter_get(&site->subscriptions.requests);
    to->connects += shoal__counter_get(&conn->connects);
    to->losses += shoal__counter_get(&conn->losses);
    to->attempts_failed += shoal__counter_get(&conn->attempts_failed);
    to->desyncs += shoal__counter_get(&conn->desyncs);
    to->epoch = epoch > to->epoch ? epoch : to->epoch;
    to->reads += shoal__counter_get(&conn->traffic.reads);
    to->writes += shoal__counter_get(&conn->traffic.writes);
    to->bytes_in += shoal__counter_get(&conn->traffic.bytes_in);
    to->bytes_out += shoal__counter_get(&conn->traffic.bytes_out);
    if (shoal__counter_get(&conn->protocol) > 0)
        to->protocol_now = shoal__counter_get(&conn->protocol);
}

static void read_pubsub(const shoal__route_t *route, shoal_pubsub_stats_t *ret_stats)
{
    const shoal__cluster_subscriber_t *from = of_const(route);

    shoal__reception_read(&from->reception, ret_stats);
    ret_stats->names_wanted_now = shoal__counter_get(&from->audience.wanted);
    ret_stats->names_confirmed_now = shoal__counter_get(&from->audience.confirmed);
    ret_stats->gaps = shoal__counter_get(&from->audience.gaps);
    ret_stats->rejected = shoal__counter_get(&from->audience.rejected);
    for (unsigned i = 0; i < shoal__sites_count(from); i++)
        add_site(shoal__site_at(from, i), ret_stats);
    ret_stats->is_connected_now = are_connected(from);
}

/* ---- the end ---- */

static void shut(shoal__route_t *route, uint64_t now_us)
{
    shoal__route_t *cluster = cluster_of(route);

    shoal__reception_end_all(&of(route)->reception);
    for (unsigned i = 0; i < shoal__sites_count(of(route)); i++)
        shoal__site_shut(shoal__site_at(of(route), i), now_us);
    cluster->ops->shut(cluster, now_us);
}

static void forget(shoal__route_t *route)
{
    shoal__route_t *cluster = cluster_of(route);

    for (unsigned i = 0; i < shoal__sites_count(of(route)); i++)
        shoal__conn_forget(&shoal__site_at(of(route), i)->conn);
    cluster->ops->forget(cluster);
}

static void free_route(shoal__route_t *route)
{
    shoal__cluster_subscriber_t *subscriber = of(route);
    shoal__route_t *cluster = cluster_of(route);

    shoal__audience_release(&subscriber->audience);
    for (unsigned i = 0; i < shoal__sites_count(subscriber); i++)
        shoal__site_free(shoal__site_at(subscriber, i));
    cluster->ops->free(cluster);
    shoal__post_release(&subscriber->reception.post);
    shoal__free(subscriber);
}

static const shoal__route_ops_t ops = {
    .open = open_route,
    .turn = turn,
    .read_ahead = read_ahead,
    .authenticate = authenticate,
    .reconnect = reconnect,
    .view = view,
    .may_share = may_share,
    .next_wake_us = next_wake_us,
    .publish = publish,
    .read_pubsub = read_pubsub,
    .shut = shut,
    .forget = forget,
    .free = free_route,
};

/* ---- the beginning ---- */

/* As the cluster's, but for what is about commands.  TLS stays the cluster's. */
static void copy_config(shoal__cluster_subscriber_t *subscriber)
{
    shoal__conn_config_t *config = &subscriber->config;

    *config = subscriber->cluster->config;
    config->is_in_place = false; /* RESP2 knows no AUTH while it subscribes */
    config->pipe.is_subscriber = true;
    config->pipe.loads_scripts = false;
    config->pipe.learns = false;
    config->pipe.queue_offline = true;
    config->pipe.keeps_units = false;
    config->pipe.greeting.integrity = SHOAL_INTEGRITY_SHAPES;
    config->pipe.greeting.is_settling = false;
    config->pipe.greeting.finds_mode = false;
}

/* 0 or SHOAL_ENOMEM. */
static int init_reception(shoal__cluster_subscriber_t *subscriber,
                          const shoal_options_t *options)
{
    shoal__reception_t *reception = &subscriber->reception;

    reception->ops = &reception_ops;
    reception->owner = &subscriber->audience;
    reception->listeners = &subscriber->audience.listeners;
    reception->hooks = &subscriber->hooks;
    reception->hooks_owner = subscriber->owner;
    subscriber->is_probe_auto = options->probe_us == SHOAL_PROBE_AUTO;
    shoal__counter_set(&reception->probe_us,
                       shoal__probe_interval(options->probe_us, true));
    subscriber->route.post = &reception->post;
    return shoal__post_init(&reception->post);
}

/* The cluster's route has a keeper, which is this route's as well. */
static void take_cluster(shoal__cluster_subscriber_t *subscriber, shoal__route_t *route)
{
    shoal__cluster_t *cluster = (shoal__cluster_t *)route;

    subscriber->cluster = cluster;
    cluster->set.places.max = 0;
    cluster->keeper.plan.route = &subscriber->route;
    subscriber->route.tls = route->tls;
    copy_config(subscriber);
    shoal__audience_init(&subscriber->audience,
                         shoal__random_next(&cluster->set.random),
                         &shoal__cluster_subscriber_hooks, subscriber);
}

int shoal__cluster_subscriber_new(const shoal_options_t *options, uint64_t seed,
                                  const shoal__route_hooks_t *hooks, void *owner,
                                  shoal__route_t **ret_route)
{
    shoal__cluster_subscriber_t *subscriber = shoal__calloc(1, sizeof *subscriber);
    shoal__route_t *cluster;
    int rc;

    if (!subscriber)
        return SHOAL_ENOMEM;
    subscriber->route = (shoal__route_t){.ops = &ops, .counts = hooks->counts};
    subscriber->hooks = *hooks;
    subscriber->owner = owner;
    subscriber->again_us = SHOAL__NEVER_US;
    shoal__list_init(&subscriber->fresh);
    shoal__list_init(&subscriber->later);
    rc = shoal__cluster_new(options, seed, hooks, owner, &cluster);
    if (rc < 0)
        goto fail_cluster;
    take_cluster(subscriber, cluster);
    rc = init_reception(subscriber, options);
    if (rc < 0)
        goto fail_reception;
    *ret_route = &subscriber->route;
    return 0;

fail_reception:
    cluster->ops->free(cluster);
fail_cluster:
    shoal__free(subscriber);
    return rc;
}
