/* SPDX-License-Identifier: MIT */
#include "route/subscriber.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "route/errand.h"
#include "route/subscriber/items.h"
#include "route/subscriber/state.h"
#include "route/subscriber/wishes.h"
#include <shoal/errors.h>

#define HANG_UP_AFTER_US UINT64_C(10000000) /* without a name that is wanted */

static shoal__subscriber_t *of(shoal__route_t *route)
{
    return (shoal__subscriber_t *)route;
}

static const shoal__subscriber_t *of_const(const shoal__route_t *route)
{
    return (const shoal__subscriber_t *)route;
}

/* ---- what subscriptions wish ---- */

static void join(void *owner, shoal__listener_t *listener)
{
    shoal__subscriptions_join(owner, listener);
}

static int add(void *owner, shoal__listener_t *listener, shoal_name_kind_t kind,
               shoal__bytes_t name)
{
    shoal__subscriber_t *subscriber =
        SHOAL__LIST_ENTRY(owner, shoal__subscriber_t, subscriptions);

    if (kind == SHOAL_NAME_KEYSPACE)
        shoal__keyspace_rule_want(&subscriber->keyspace.rule, name);
    return shoal__subscriptions_add(owner, listener, kind, name);
}

static void remove_name(void *owner, shoal__listener_t *listener,
                        shoal_name_kind_t kind, shoal__bytes_t name)
{
    shoal__subscriptions_remove(owner, listener, kind, name);
}

static void leave(void *owner, shoal__listener_t *listener)
{
    shoal__subscriptions_leave(owner, listener);
}

static const shoal__reception_ops_t reception_ops = {
    .join = join, .add = add, .remove = remove_name, .leave = leave};

/* ---- what the server says ---- */

/* The registry's hook. */
static void on_mark(void *owner, shoal__listener_t *listener, shoal_item_t *mark)
{
    shoal__subscriber_t *subscriber = owner;

    subscriber->reception.has_news = true;
    mark->epoch = subscriber->epoch;
    shoal__reception_deliver(&subscriber->reception, listener, mark);
}

static void message_came(shoal__subscriber_t *subscriber, const shoal__push_t *push)
{
    const shoal__topic_t *topic = shoal__topics_find(&subscriber->subscriptions.topics,
                                                     push->name_kind, push->name);

    shoal__reception_count(&subscriber->reception, push);
    if (!topic || topic->ears_count == 0)
        shoal__counter_add(&subscriber->reception.unwanted, 1);
    else if (!shoal__reception_message(&subscriber->reception, topic, push,
                                       subscriber->conn.line->epoch))
        shoal__pipe_refuse(&subscriber->conn.pipe, SHOAL_ENOMEM,
                           "no memory for a message");
}

static void on_message(void *owner, const shoal__push_t *push)
{
    shoal__subscriber_t *subscriber = owner;

    if (shoal__relay_takes(&subscriber->relay, push) ||
        shoal__probe_takes(&subscriber->probe, push))
        return;
    if (push->kind == SHOAL__PUSH_MESSAGE)
        message_came(subscriber, push);
    else if (push->kind == SHOAL__PUSH_OTHER)
        shoal__counter_add(&subscriber->reception.unknown, 1);
    else
        shoal__subscriptions_hear(&subscriber->subscriptions, push);
}

static bool is_answered(void *owner)
{
    const shoal__subscriber_t *subscriber = owner;

    return shoal__probe_is_answered(&subscriber->probe, &subscriber->relay);
}

/* ---- the connection ---- */

static void lose_names(shoal__subscriber_t *subscriber, const char *detail)
{
    shoal__relay_end(&subscriber->relay);
    shoal__subscriptions_lost(&subscriber->subscriptions, detail);
}

static void on_event(void *owner, const shoal_event_t *event)
{
    shoal__subscriber_t *subscriber = owner;
    bool is_ready = event->kind == SHOAL_EVENT_READY;

    if (is_ready || event->kind == SHOAL_EVENT_LOST)
        shoal__probe_reset(&subscriber->probe);
    if (event->kind == SHOAL_EVENT_LOST)
        lose_names(subscriber, event->detail);
    if (is_ready && !shoal__relay_succeeds(&subscriber->relay)) {
        lose_names(subscriber, event->detail);
        shoal__subscriptions_begin(&subscriber->subscriptions);
    }
    if (is_ready)
        subscriber->epoch = subscriber->conn.line->epoch;
    subscriber->hooks.on_event(subscriber->owner, event);
}

static bool on_successor(void *owner, uint64_t now_us)
{
    return shoal__relay_begin(&((shoal__subscriber_t *)owner)->relay, now_us);
}

static void on_successor_gone(void *owner)
{
    shoal__relay_gone(&((shoal__subscriber_t *)owner)->relay);
}

static void on_successor_message(void *owner, const shoal__push_t *push)
{
    shoal__relay_hear_successor(&((shoal__subscriber_t *)owner)->relay, push);
}

static bool is_successor_answered(void *owner)
{
    return shoal__relay_is_copy_answered(&((const shoal__subscriber_t *)owner)->relay);
}

static void on_reading(void *owner, uint64_t now_us)
{
    shoal__subscriber_t *subscriber = owner;

    subscriber->hooks.on_reading(subscriber->owner, now_us);
}

static void on_delivered(void *owner)
{
    shoal__subscriber_t *subscriber = owner;

    shoal__reception_rest(&subscriber->reception);
    subscriber->hooks.on_delivered(subscriber->owner);
}

static const shoal__conn_hooks_t conn_hooks = {
    .on_event = on_event,
    .on_reading = on_reading,
    .on_delivered = on_delivered,
    .on_own = shoal__errand_on_own,
    .on_message = on_message,
    .is_answered = is_answered,
    .on_successor = on_successor,
    .on_successor_gone = on_successor_gone,
    .on_successor_message = on_successor_message,
    .is_successor_answered = is_successor_answered};

static void open_route(shoal__route_t *route, shoal__loop_t *loop)
{
    of(route)->set.loop = loop->uv;
    shoal__keeper_open(&of(route)->keeper, loop->uv);
}

static bool is_away(const shoal__subscriber_t *subscriber)
{
    return subscriber->conn.state == SHOAL__CONN_IDLE ||
           subscriber->conn.state == SHOAL__CONN_CLOSED;
}

static void connect_first(shoal__subscriber_t *subscriber)
{
    if (subscriber->sentinel && !subscriber->is_watching)
        shoal__sentinel_open(subscriber->sentinel);
    subscriber->is_watching = true;
    shoal__conn_open(&subscriber->conn);
}

/* Connect when a name is wanted; hang up when none is for a while.  Returns when to look
 * again. */
static uint64_t look_for_work(shoal__subscriber_t *subscriber, uint64_t now_us)
{
    if (shoal__counter_get(&subscriber->subscriptions.wanted) > 0) {
        subscriber->idle_since_us = SHOAL__NEVER_US;
        if (is_away(subscriber))
            connect_first(subscriber);
        return SHOAL__NEVER_US;
    }
    if (is_away(subscriber))
        return SHOAL__NEVER_US;
    if (subscriber->idle_since_us == SHOAL__NEVER_US)
        subscriber->idle_since_us = now_us;
    if (now_us < subscriber->idle_since_us + HANG_UP_AFTER_US)
        return subscriber->idle_since_us + HANG_UP_AFTER_US;
    shoal__conn_close(&subscriber->conn, now_us);
    shoal__probe_reset(&subscriber->probe);
    lose_names(subscriber, "no name is subscribed");
    return SHOAL__NEVER_US;
}

static uint64_t follow_sentinels(shoal__subscriber_t *subscriber, uint64_t now_us)
{
    bool is_news;

    if (!subscriber->sentinel || !subscriber->is_watching)
        return SHOAL__NEVER_US;
    shoal__sentinel_turn(subscriber->sentinel, now_us);
    is_news = subscriber->followed != subscriber->target.name;
    subscriber->followed = subscriber->target.name;
    if (!is_away(subscriber))
        shoal__conn_follow(&subscriber->conn, is_news, now_us);
    return shoal__sentinel_next_wake_us(subscriber->sentinel, now_us);
}

/* Returns when to look again. */
static uint64_t run_probe(shoal__subscriber_t *subscriber, uint64_t now_us)
{
    uint64_t wake_us = SHOAL__NEVER_US;

    if (subscriber->relay.stage == SHOAL__RELAY_NONE &&
        shoal__probe_turn(&subscriber->probe, now_us, &wake_us))
        shoal__probe_restart(&subscriber->probe);
    return wake_us;
}

static uint64_t turn(shoal__route_t *route, uint64_t now_us)
{
    shoal__subscriber_t *subscriber = of(route);
    uint64_t wake_us;

    shoal__keeper_turn(&subscriber->keeper, now_us);
    wake_us = shoal__reception_apply(&subscriber->reception, now_us);
    if (subscriber->reception.post.has_ended)
        shoal__reception_leave_ended(&subscriber->reception);
    wake_us = shoal__time_min(wake_us, look_for_work(subscriber, now_us));
    wake_us = shoal__time_min(wake_us, follow_sentinels(subscriber, now_us));
    if (subscriber->relay.stage == SHOAL__RELAY_NONE)
        shoal__keyspace_turn(&subscriber->keyspace, &subscriber->subscriptions,
                             shoal__probe_is_there(&subscriber->probe), now_us);
    shoal__relay_turn(&subscriber->relay, &subscriber->asker, now_us);
    wake_us = shoal__time_min(wake_us, run_probe(subscriber, now_us));
    wake_us = shoal__time_min(wake_us, shoal__conn_set_turn(&subscriber->set, now_us));
    wake_us = shoal__time_min(wake_us, shoal__keeper_next_wake_us(&subscriber->keeper));
    wake_us =
        shoal__time_min(wake_us, shoal__relay_wake_us(&subscriber->relay, now_us));
    return shoal__time_min(wake_us,
                           shoal__reception_rest_turn(&subscriber->reception, now_us));
}

static void read_ahead(shoal__route_t *route)
{
    shoal__conn_read_ahead(&of(route)->conn);
}

static void reconnect(shoal__route_t *route, uint64_t now_us)
{
    if (!is_away(of(route)))
        shoal__conn_reconnect(&of(route)->conn, SHOAL__CONN_ASKED_FOR, now_us);
}

static void authenticate(shoal__route_t *route, shoal__secret_t *secret,
                         uint64_t now_us)
{
    shoal__keeper_take(&of(route)->keeper, secret);
    if (!is_away(of(route)))
        shoal__conn_authenticate(&of(route)->conn, now_us);
}

/* ---- what others see ---- */

/* It is never idle: a thread must always read what comes unasked. */
static void view(const shoal__route_t *route, shoal__route_view_t *ret_view)
{
    *ret_view = (shoal__route_view_t){
        .is_ready = of_const(route)->conn.state == SHOAL__CONN_READY, .wake_after = 1};
}

static bool may_share(const shoal__route_t *route)
{
    (void)route;
    return false;
}

static uint64_t next_wake_us(const shoal__route_t *route)
{
    return shoal__pipe_next_wake_us(&of_const(route)->conn.pipe);
}

static void publish(shoal__route_t *route)
{
    shoal__conn_set_publish(&of(route)->set);
}

static void read_pubsub(const shoal__route_t *route, shoal_pubsub_stats_t *ret_stats)
{
    const shoal__subscriber_t *from = of_const(route);
    const shoal__conn_stats_t *conn = &from->conn.stats;
    shoal_pubsub_stats_t *to = ret_stats;

    shoal__reception_read(&from->reception, to);
    to->names_wanted_now = shoal__counter_get(&from->subscriptions.wanted);
    to->names_confirmed_now = shoal__counter_get(&from->subscriptions.confirmed);
    to->gaps = shoal__counter_get(&from->subscriptions.gaps);
    to->rejected = shoal__counter_get(&from->subscriptions.rejected);
    to->requests = shoal__counter_get(&from->subscriptions.requests);
    to->connects = shoal__counter_get(&conn->connects);
    to->losses = shoal__counter_get(&conn->losses);
    to->attempts_failed = shoal__counter_get(&conn->attempts_failed);
    to->desyncs = shoal__counter_get(&conn->desyncs);
    to->epoch = shoal__counter_get(&conn->epoch);
    to->reads = shoal__counter_get(&conn->traffic.reads);
    to->writes = shoal__counter_get(&conn->traffic.writes);
    to->bytes_in = shoal__counter_get(&conn->traffic.bytes_in);
    to->bytes_out = shoal__counter_get(&conn->traffic.bytes_out);
    to->is_connected_now = shoal__counter_get(&conn->state) == SHOAL__CONN_READY;
    to->protocol_now = shoal__counter_get(&conn->protocol);
}

/* ---- the end ---- */

static void shut(shoal__route_t *route, uint64_t now_us)
{
    shoal__subscriber_t *subscriber = of(route);

    shoal__reception_end_all(&subscriber->reception);
    shoal__conn_close(&subscriber->conn, now_us);
    lose_names(subscriber, "");
    if (subscriber->sentinel)
        shoal__sentinel_shut(subscriber->sentinel, now_us);
    shoal__keeper_shut(&subscriber->keeper);
}

static void forget(shoal__route_t *route)
{
    shoal__conn_forget(&of(route)->conn);
    if (of(route)->sentinel)
        shoal__sentinel_forget(of(route)->sentinel);
    shoal__keeper_forget(&of(route)->keeper);
}

static void free_route(shoal__route_t *route)
{
    shoal__subscriber_t *subscriber = of(route);

    shoal__probe_release(&subscriber->probe);
    shoal__subscriptions_release(&subscriber->subscriptions);
    shoal__conn_release(&subscriber->conn);
    shoal__sentinel_free(subscriber->sentinel);
    shoal__conn_set_release(&subscriber->set);
    shoal__config_release(&subscriber->config);
    shoal__target_release(&subscriber->target);
    shoal__keeper_release(&subscriber->keeper);
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

/* As a client's, but for what is about commands. */
static int read_config(const shoal_options_t *options, shoal__conn_config_t *ret_config)
{
    int rc = shoal__config_read(options, ret_config);

    if (rc < 0)
        return rc;
    ret_config->is_in_place = false; /* RESP2 knows no AUTH while it subscribes */
    ret_config->pipe.is_subscriber = true;
    ret_config->pipe.loads_scripts = false;
    ret_config->pipe.learns = false;
    ret_config->pipe.queue_offline = true;
    ret_config->pipe.greeting.integrity = SHOAL_INTEGRITY_SHAPES;
    ret_config->pipe.greeting.is_settling = false;
    return 0;
}

/* 0 or SHOAL_ENOMEM. */
static int init_conn(shoal__subscriber_t *subscriber, const shoal_options_t *options)
{
    const shoal__conn_plan_t plan = {.config = &subscriber->config,
                                     .target = &subscriber->target,
                                     .set = &subscriber->set,
                                     .id = 1,
                                     .hooks = &conn_hooks,
                                     .owner = subscriber};
    const shoal__sentinel_plan_t sentinels = {.options = options,
                                              .config = &subscriber->config,
                                              .set = &subscriber->set,
                                              .target = &subscriber->target,
                                              .first = &subscriber->conn,
                                              .hooks = &subscriber->hooks,
                                              .owner = subscriber->owner};
    int rc = shoal__conn_init(&subscriber->conn, &plan);

    if (rc < 0 || !options->sentinels.name)
        return rc;
    rc = shoal__sentinel_new(&sentinels, &subscriber->sentinel);
    if (rc < 0)
        shoal__conn_release(&subscriber->conn);
    return rc;
}

/* 0 or SHOAL_ENOMEM. */
static int init_reception(shoal__subscriber_t *subscriber,
                          const shoal_options_t *options)
{
    shoal__reception_t *reception = &subscriber->reception;

    subscriber->asker = (shoal__asker_t){.conn = &subscriber->conn,
                                         .pipe = &subscriber->conn.pipe,
                                         .subscriptions = &subscriber->subscriptions};
    shoal__relay_init(&subscriber->relay, &subscriber->conn,
                      &subscriber->subscriptions);
    subscriber->keyspace.conn = &subscriber->conn;
    reception->ops = &reception_ops;
    reception->owner = &subscriber->subscriptions;
    reception->listeners = &subscriber->subscriptions.listeners;
    reception->hooks = &subscriber->hooks;
    reception->hooks_owner = subscriber->owner;
    shoal__counter_set(
        &reception->probe_us,
        shoal__probe_interval(options->probe_us, options->sentinels.name != NULL));
    shoal__probe_init(&subscriber->probe, &subscriber->conn, &subscriber->subscriptions,
                      reception);
    subscriber->route.post = &reception->post;
    return shoal__post_init(&reception->post);
}

int shoal__subscriber_new(const shoal_options_t *options, uint64_t seed,
                          const shoal__route_hooks_t *hooks, void *owner,
                          shoal__route_t **ret_route)
{
    shoal__subscriber_t *subscriber = shoal__calloc(1, sizeof *subscriber);
    int rc;

    if (!subscriber)
        return SHOAL_ENOMEM;
    subscriber->route = (shoal__route_t){
        .ops = &ops, .counts = hooks->counts, .keeper = &subscriber->keeper};
    subscriber->hooks = *hooks;
    subscriber->owner = owner;
    subscriber->idle_since_us = SHOAL__NEVER_US;
    rc = read_config(options, &subscriber->config);
    if (rc < 0)
        goto fail_config;
    subscriber->route.tls = subscriber->config.dial.tls;
    shoal__target_read(options, &subscriber->endpoints, &subscriber->target);
    rc = shoal__keeper_init(&subscriber->keeper,
                            &(shoal__keeper_plan_t){options, &subscriber->route,
                                                    &subscriber->target, hooks, owner});
    if (rc < 0)
        goto fail_keeper;
    rc = shoal__conn_set_init(&subscriber->set, seed, &hooks->counts->account);
    if (rc < 0)
        goto fail_set;
    shoal__subscriptions_init(&subscriber->subscriptions,
                              shoal__random_next(&subscriber->set.random), on_mark,
                              subscriber);
    rc = init_conn(subscriber, options);
    if (rc < 0)
        goto fail_conn;
    rc = init_reception(subscriber, options);
    if (rc < 0)
        goto fail_post;
    *ret_route = &subscriber->route;
    return 0;

fail_post:
    shoal__conn_release(&subscriber->conn);
    shoal__sentinel_free(subscriber->sentinel);
fail_conn:
    shoal__conn_set_release(&subscriber->set);
fail_set:
    shoal__keeper_release(&subscriber->keeper);
fail_keeper:
    shoal__config_release(&subscriber->config);
fail_config:
    shoal__free(subscriber);
    return rc;
}
