/* SPDX-License-Identifier: MIT */
/* Memory runs out at each point of what subscriptions do: nothing is lost silently, nothing
 * leaks, and in the end the names are confirmed.  And what takes 10 s, by a clock that jumps. */
#include "support/failing/failing_trial.h"
#include "support/listener.h"

#include "client/client.h"
#include "core/options.h"
#include "net/clock.h"
#include "route/subscriber/state.h"
#include <stdio.h>

#define YES(kind, name) ">3\r\n+" kind "\r\n+" name "\r\n:1\r\n"
#define MESSAGE(name) ">3\r\n$7\r\nmessage\r\n$1\r\n" name "\r\n$1\r\n1\r\n"
#define PMESSAGE ">4\r\n$8\r\npmessage\r\n$2\r\nz*\r\n$2\r\nzz\r\n$1\r\n1\r\n"

typedef struct stage {
    trial_t *trial;
    shoal_pubsub_t *pubsub;
    shoal_subscription_t *first, *second;
    shoal_mailbox_t *mailbox;
    unsigned messages, confirmed, gaps;
} stage_t;

static void on_item(const shoal_item_t *item, void *data)
{
    stage_t *stage = data;

    stage->messages += shoal_item_kind(item) == SHOAL_ITEM_MESSAGE;
    stage->confirmed += shoal_item_kind(item) == SHOAL_ITEM_SUBSCRIBED;
    stage->gaps += shoal_item_kind(item) == SHOAL_ITEM_GAP;
}

static void step(stage_t *stage, uint64_t since_us, const char *condition)
{
    assert_int_equal(shoal_pubsub_step(stage->pubsub, 0), 0);
    trial_pause(stage->trial, since_us, condition);
}

#define STEP_UNTIL(stage, condition)                                                   \
    do {                                                                               \
        uint64_t since_us_ = waiting_now_us();                                         \
        while (!(condition))                                                           \
            step(stage, since_us_, #condition);                                        \
    } while (0)

/* What cannot be made is not tried again. */
static shoal_subscription_t *subscribe(stage_t *stage, const shoal_name_t *names,
                                       size_t count)
{
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_subscription_t *subscription;
    int rc;

    if (stage->mailbox)
        receiver.mailbox = stage->mailbox;
    else
        receiver.on_item = on_item;
    receiver.data = stage;
    rc = shoal_pubsub_subscribe(stage->pubsub, names, count, &receiver, &subscription);
    assert_true(rc == SHOAL_ENOMEM ? subscription == NULL : rc == 0);
    return subscription;
}

static bool is_settled(const stage_t *stage)
{
    return (!stage->first || shoal_subscription_wait(stage->first, 0) == 0) &&
           (!stage->second || shoal_subscription_wait(stage->second, 0) == 0);
}

/* What waits for a moment, before it asks again, waits for the clock alone. */
static void settle(stage_t *stage)
{
    for (uint64_t since_us = waiting_now_us(); !is_settled(stage);) {
        failing_calls_jump(1000);
        step(stage, since_us, "all names are confirmed");
    }
}

static void answer_all(trial_t *trial)
{
    fake_server_t *server = trial->scene->server;

    fake_server_rule(
        server, &(fake_rule_t){.command = "SUBSCRIBE",
                               .reply = YES("subscribe", "x") YES("subscribe", "y")});
    fake_server_rule(server, &(fake_rule_t){.command = "PSUBSCRIBE",
                                            .reply = YES("psubscribe", "z*")});
    fake_server_rule(server, &(fake_rule_t){.command = "UNSUBSCRIBE",
                                            .reply = YES("unsubscribe", "x")
                                                YES("unsubscribe", "y")});
    fake_server_rule(server, &(fake_rule_t){.command = "PUNSUBSCRIBE",
                                            .reply = YES("punsubscribe", "z*")});
}

static void close_all(stage_t *stage)
{
    shoal_subscription_close(stage->first);
    shoal_subscription_close(stage->second);
    assert_int_equal(shoal_pubsub_close_and_wait(stage->pubsub), 0);
    shoal_pubsub_release(stage->pubsub);
    shoal_mailbox_free(stage->mailbox);
}

static void subscriptions(trial_t *trial)
{
    const shoal_name_t names[] = {{SHOAL_NAME_CHANNEL, "x", 1},
                                  {SHOAL_NAME_CHANNEL, "y", 1},
                                  {SHOAL_NAME_PATTERN, "z*", 2}};
    stage_t stage = {.trial = trial};
    int rc = shoal_pubsub_open_borrowed(trial->scene->options, &stage.pubsub, NULL);

    if (rc < 0) {
        assert_true(rc == SHOAL_ENOMEM || rc == SHOAL_ESYSTEM);
        assert_null(stage.pubsub);
        return;
    }
    stage.first = subscribe(&stage, names, 1);
    stage.second = subscribe(&stage, names, 3);
    settle(&stage);
    if (stage.first) {
        rc = shoal_subscription_add(stage.first, names, 2);
        assert_true(rc == 0 || rc == SHOAL_ENOMEM);
    }
    settle(&stage);
    fake_server_send(trial->scene->server, MESSAGE("x") PMESSAGE);
    if (stage.first) /* or the connection was lost, and that is told */
        STEP_UNTIL(&stage, stage.messages + stage.gaps > 0);
    fake_server_cut(trial->scene->server, FAKE_CUT_FIN);
    if (stage.first)
        STEP_UNTIL(&stage, stage.gaps > 0);
    settle(&stage);
    if (stage.first) {
        rc = shoal_subscription_remove(stage.first, names, 1);
        assert_true(rc == 0 || rc == SHOAL_ENOMEM);
    }
    settle(&stage);
    close_all(&stage);
}

/* A cluster of one node, which owns all slots. */
static void answer_as_cluster(trial_t *trial)
{
    char *slots = scene_alloc(trial->scene, 128);

    snprintf(slots, 128,
             "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n"
             "$4\r\nnod0\r\n",
             fake_server_port(trial->scene->server));
    fake_server_rule(
        trial->scene->server,
        &(fake_rule_t){.command = "CLUSTER", .argument = "SLOTS", .reply = slots});
    assert_int_equal(
        shoal_options_set_topology(trial->scene->options, SHOAL_TOPOLOGY_CLUSTER), 0);
    answer_all(trial);
}

static void mailboxes(trial_t *trial)
{
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, "x", 1};
    const shoal_item_t *items[8];
    stage_t stage = {.trial = trial};
    int rc = shoal_mailbox_new(0, 0, SHOAL_OVERFLOW_NEWEST, &stage.mailbox);

    if (rc == 0)
        rc = shoal_pubsub_open_borrowed(trial->scene->options, &stage.pubsub, NULL);
    if (rc < 0) {
        assert_true(rc == SHOAL_ENOMEM || rc == SHOAL_ESYSTEM);
        shoal_mailbox_free(stage.mailbox);
        return;
    }
    stage.first = subscribe(&stage, &name, 1);
    settle(&stage);
    fake_server_send(trial->scene->server, MESSAGE("x"));
    if (stage.first)
        STEP_UNTIL(&stage, shoal_mailbox_take(stage.mailbox, items, 8) > 0);
    close_all(&stage);
}

/* It connects when the first name is wanted, and hangs up 10 s after the last one. */
static void hanging_up(trial_t *trial)
{
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, "x", 1};
    fake_server_t *server = trial->scene->server;
    stage_t stage = {.trial = trial};

    if (shoal_pubsub_open_borrowed(trial->scene->options, &stage.pubsub, NULL) < 0)
        return;
    assert_int_equal(shoal_pubsub_step(stage.pubsub, 0), 0);
    assert_int_equal(fake_server_accepted(server), 0);
    stage.first = subscribe(&stage, &name, 1);
    settle(&stage);
    bool was_there = stage.first != NULL;
    shoal_subscription_close(stage.first);
    stage.first = NULL;
    if (was_there)
        STEP_UNTIL(&stage, fake_server_received(server, 0, "UNSUBSCRIBE", "x") > 0);
    failing_calls_jump(9000000);
    for (int i = 0; i < 3; i++)
        assert_int_equal(shoal_pubsub_step(stage.pubsub, 0), 0);
    assert_true(!was_there || fake_server_open_now(server) == 1);
    failing_calls_jump(1000001);
    STEP_UNTIL(&stage, fake_server_open_now(server) == 0);
    close_all(&stage);
}

/* ---- a renewal without a gap ---- */

static shoal__subscriber_t *route_of(const stage_t *stage)
{
    return (shoal__subscriber_t *)shoal__client_route((shoal_client_t *)stage->pubsub);
}

/* What a server would say of the channel that it does not know before: each once. */
static void play_server(const stage_t *stage, shoal__relay_stage_t *played)
{
    const shoal__relay_t *relay = &route_of(stage)->relay;
    fake_server_t *server = stage->trial->scene->server;
    char text[160];

    /* A PING that comes now is held, too. */
    if (relay->stage == *played) {
        fake_server_release(server);
        return;
    }
    *played = relay->stage;
    if (relay->stage == SHOAL__RELAY_JOINING) {
        snprintf(text, sizeof text, ">3\r\n+subscribe\r\n+%s\r\n:1\r\n",
                 relay->channel);
        fake_server_send(server, text);
    } else if (relay->stage == SHOAL__RELAY_MARKING) {
        snprintf(text, sizeof text, ">3\r\n$7\r\nmessage\r\n$24\r\n%s\r\n$16\r\n%s\r\n",
                 relay->channel, relay->marker);
        fake_server_send(server, text);
    }
    fake_server_release(server);
}

static void answer_renewals(trial_t *trial)
{
    fake_server_t *server = trial->scene->server;

    fake_server_rule(server, &(fake_rule_t){.command = "PUBSUB",
                                            .reply = "*2\r\n$1\r\nx\r\n:2\r\n"});
    fake_server_rule(server, &(fake_rule_t){.command = "PUBLISH", .reply = ":2\r\n"});
    answer_all(trial);
}

static void renewals(trial_t *trial)
{
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, "x", 1};
    shoal__relay_stage_t played = SHOAL__RELAY_NONE;
    stage_t stage = {.trial = trial};

    if (shoal_pubsub_open_borrowed(trial->scene->options, &stage.pubsub, NULL) < 0)
        return;
    stage.first = subscribe(&stage, &name, 1);
    settle(&stage);
    if (stage.first) {
        shoal__subscriber_t *route = route_of(&stage);
        fake_server_hold(trial->scene->server, "PING");
        route->route.ops->reconnect(&route->route, shoal__clock_us());
        for (uint64_t since_us = waiting_now_us();
             route->relay.stage != SHOAL__RELAY_NONE || route->conn.line->epoch == 1;
             step(&stage, since_us, "it is renewed")) {
            play_server(&stage, &played);
            route->conn.pipe.renewal.start_us = 0; /* no second between attempts */
            shoal__conn_touch(&route->conn);
            if (route->relay.facts.is_thwarted)
                route->relay.end_us = 0; /* nor 2 for an answer that cannot come */
        }
        fake_server_forget_rules(trial->scene->server);
        answer_renewals(trial);
        fake_server_release(trial->scene->server);
        settle(&stage);
        fake_server_send(trial->scene->server, MESSAGE("x"));
        STEP_UNTIL(&stage, stage.messages > 0);
    }
    close_all(&stage);
}

/* ---- probes ---- */

#define PROBE_US 1000 /* the setter wants a second */

static void answer_probed(fake_server_t *server)
{
    fake_server_rule(server, &(fake_rule_t){.command = "SUBSCRIBE",
                                            .argument = "x",
                                            .reply = YES("subscribe", "x")});
    fake_server_rule(server, &(fake_rule_t){.command = "SUBSCRIBE", .reply = ""});
    fake_server_rule(server, &(fake_rule_t){.command = "UNSUBSCRIBE", .reply = ""});
    fake_server_rule(server, &(fake_rule_t){.command = "PUBLISH", .reply = ":1\r\n"});
}

static void open_prober(trial_t *trial)
{
    answer_probed(trial->scene->server);
    trial_open_ready(trial, true);
}

/* What a server would say of the channel that it does not know before; then the PING behind it,
 * which is held, is answered. */
static void confirm_channel(const stage_t *stage, uint64_t *played)
{
    const shoal__probe_t *probe = &route_of(stage)->probe;
    fake_server_t *server = stage->trial->scene->server;
    char text[160];

    if (probe->is_asking && probe->number != *played) {
        snprintf(text, sizeof text, ">3\r\n+subscribe\r\n+%s\r\n:1\r\n",
                 probe->channel);
        fake_server_send(server, text);
        *played = probe->number;
    }
    fake_server_release(server);
}

/* The server takes what is published, and delivers nothing of it. */
static void probes(trial_t *trial)
{
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, "x", 1};
    stage_t stage = {.trial = trial};
    fake_server_t *server = trial->scene->server;
    uint64_t played = 0;

    trial->scene->options->probe_us = PROBE_US;
    if (shoal_pubsub_open_borrowed(trial->scene->options, &stage.pubsub, NULL) < 0)
        return;
    assert_int_equal(shoal_pubsub_set_prober(stage.pubsub, trial->scene->client), 0);
    stage.first = subscribe(&stage, &name, 1);
    settle(&stage);
    fake_server_hold(server, "PING");
    for (uint64_t since_us = waiting_now_us();
         stage.first && listener_stats(stage.pubsub).probe_restarts == 0;) {
        confirm_channel(&stage, &played);
        step(&stage, since_us, "the connection is made new");
    }
    assert_int_equal(shoal_pubsub_set_prober(stage.pubsub, NULL), 0);
    fake_server_prepare_rules(server);
    answer_probed(server);
    fake_server_forget_rules(server);
    fake_server_release(server);
    settle(&stage);
    if (stage.first)
        STEP_UNTIL(&stage, stage.gaps > 0);
    fake_server_send(server, MESSAGE("x"));
    if (stage.first)
        STEP_UNTIL(&stage, stage.messages > 0);
    close_all(&stage);
}

static const failing_scenario_t scenarios[] = {
    {"subscriptions", answer_all, subscriptions},
    {"subscriptions in a cluster", answer_as_cluster, subscriptions},
    {"mailboxes", answer_all, mailboxes},
    {"hanging up", answer_all, hanging_up},
    {"renewals", answer_renewals, renewals},
    {"probes", open_prober, probes},
};

int main(void)
{
    return failing_main("fault/allocation_pubsub", scenarios,
                        sizeof scenarios / sizeof *scenarios);
}
