/* SPDX-License-Identifier: MIT */

/* Subscriptions in a real cluster: names of all kinds, events of keys at every primary, new
 * credentials. */

#include "core/options.h"
#include "resp/key_slot.h"
#include "support/cluster_rig.h"
#include "support/listener.h"
#include "support/live.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static cluster_rig_t *rig; /* of all tests; NULL: not started yet */
static shoal_pubsub_t *pubsub;
static shoal_client_t *client;
static listener_t a;

static _Atomic unsigned keyspaces_off; /* primaries of which that was told */

static void on_event(shoal_client_t *from, const shoal_event_t *event, void *data)
{
    (void)from, (void)data;
    keyspaces_off += shoal_event_kind(event) == SHOAL_EVENT_KEYSPACE_OFF;
}

/* A node that a busy machine does not run for a while is not taken for dead: only the tests
 * say who is primary. */
static void open_stage_of(shoal_credentials_fn provider, uint64_t probe_us)
{
    shoal_options_t *options;

    if (!rig)
        rig = cluster_rig_start_patient();
    if (!rig)
        skip();
    options = cluster_rig_options(rig, 1);
    assert_int_equal(shoal_options_set_credentials_provider(options, provider, NULL),
                     0);
    keyspaces_off = 0;
    assert_int_equal(shoal_options_set_on_event(options, on_event, NULL), 0);
    options->probe_us = probe_us; /* shorter than the setter allows */
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    assert_int_equal(shoal_options_set_credentials_provider(options, NULL, NULL), 0);
    client = live_open(options);
}

static void open_stage(void)
{
    open_stage_of(NULL, SHOAL_PROBE_AUTO);
}

static void close_stage(void)
{
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
    live_finish(client);
}

/* ---- names of all kinds ---- */

static void tell_primaries(const char *command)
{
    for (size_t i = 0; i < CLUSTER_NODES; i++)
        cluster_rig_tell(rig, i, command, "+OK");
}

static void names_of_all_kinds_get_their_messages(void **state)
{
    (void)state;
    open_stage();
    tell_primaries("CONFIG SET notify-keyspace-events K$");
    listener_begin(&a, pubsub, "news p:n* s:s1 s:s2 s:s3 k:__keyspace@0__:one");
    listener_wait(&a);
    /* A name is confirmed right before the callback hears of it. */
    WAIT_FOR(a.items == 6);
    LISTENER_HEARS(&a, a.heard); /* in some order: a new transcript */
    live_ask(client, "PUBLISH news 1");
    WAIT_FOR(listener_has(&a, "news=1") && listener_has(&a, "n*>news=1"));
    for (unsigned i = 1; i <= 3; i++) {
        char text[64], expected[64];
        snprintf(text, sizeof text, "SPUBLISH s%u %u", i, i);
        snprintf(expected, sizeof expected, "s%u=%u ", i, i);
        live_ask(client, text);
        WAIT_FOR(listener_has(&a, expected));
    }
    live_ask(client, "SET two 1");
    live_ask(client, "SET one 1");
    WAIT_FOR(listener_has(&a, "__keyspace@0__:one=set"));
    assert_int_equal(a.items, 6 + 2 + 3 + 1);
    listener_remove(&a, "p:n* s:s2 k:__keyspace@0__:one");
    WAIT_FOR(listener_stats(pubsub).names_wanted_now == 3);
    live_ask(client, "SPUBLISH s2 no");
    live_ask(client, "SPUBLISH s3 yes");
    WAIT_FOR(listener_has(&a, "s3=yes"));
    assert_false(listener_has(&a, "s2=no"));
    assert_true(listener_stats(pubsub).is_connected_now);
    assert_in_range(listener_stats(pubsub).connects, 2, 3);
    assert_int_equal(keyspaces_off, 0);
    listener_add(&a, "k:__keyevent@0__:del"); /* which each primary lacks */
    WAIT_FOR(keyspaces_off == CLUSTER_PRIMARIES);
    listener_end(&a);
    close_stage();
}

/* ---- probes ---- */

/* The private channels of each node: of this kind, SHARDCHANNELS or CHANNELS. */
static size_t private_channels(const char *kind)
{
    char text[64];
    shoal_result_t *result;
    size_t count = 0;

    for (size_t i = 0; i < CLUSTER_NODES; i++) {
        shoal_client_t *node =
            live_open(live_options_of_port(redis_process_port(rig->nodes[i].server)));
        snprintf(text, sizeof text, "PUBSUB %s __shoal:*", kind);
        assert_int_equal(shoal_client_callf(node, &result, text), 0);
        count += shoal_reply_count(shoal_result_reply(result));
        shoal_result_release(result);
        live_finish(node);
    }
    return count;
}

/* Three nodes have shards, and the channel is at one of them or at another one. */
static void probes_arrive_at_each_node(void **state)
{
    (void)state;
    open_stage_of(NULL, 200000);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    listener_begin(&a, pubsub, "s:s1 s:s2 s:s3 p:n*");
    WAIT_FOR(a.items == 4);
    uint64_t nodes = listener_stats(pubsub).connects;
    WAIT_FOR(listener_stats(pubsub).probes >= 3 * nodes);
    assert_int_equal(listener_stats(pubsub).probe_restarts, 0);
    assert_int_equal(listener_stats(pubsub).is_probe_forbidden_now, 0);
    assert_int_equal(listener_stats(pubsub).names_wanted_now, 4);
    assert_int_equal(a.items, 4);
    assert_true(private_channels("SHARDCHANNELS") >= nodes - 1);
    assert_int_equal(private_channels("SHARDCHANNELS") + private_channels("CHANNELS"),
                     nodes);
    listener_end(&a);
    close_stage();
}

/* ---- events of keys ---- */

#define KEYS 60

/* It stays. */
static void events_of_keys_come_from_another_primary(void)
{
    static const char key[] = "key1";
    unsigned slot = shoal__key_slot((shoal__bytes_t){key, strlen(key)});
    size_t owner = cluster_rig_agreed_owner(rig, key), node = cluster_rig_add(rig);

    cluster_rig_tell(rig, node, "CONFIG SET notify-keyspace-events E$", "+OK");
    cluster_rig_join(rig, node);
    LISTENER_HEARS(&a, a.heard);
    cluster_rig_move(rig, slot, owner, node);
    LISTENER_HEARS(&a, "?__keyevent@0__:set ");
    assert_int_equal(a.reason, SHOAL_GAP_NODE);
    live_ask(client, "SET key1 1");
    live_ask(client, "SET key2 1");
    WAIT_FOR(listener_has(&a, "=key1 ") && listener_has(&a, "=key2 "));
    assert_int_equal(a.bytes, 2 * strlen("__keyevent@0__:set=key1 ")); /* each once */
    LISTENER_HEARS(&a, a.heard);
}

static void events_of_keys_come_from_every_primary(void **state)
{
    char text[64];
    (void)state;

    open_stage();
    tell_primaries("CONFIG SET notify-keyspace-events E$");
    listener_begin(&a, pubsub, "k:__keyevent@0__:set");
    listener_wait(&a);
    LISTENER_HEARS(&a, "+__keyevent@0__:set ");
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(text, sizeof text, "SET key%u 1", i);
        live_ask(client, text);
    }
    WAIT_FOR(a.items == 1 + KEYS);
    for (unsigned i = 0; i < KEYS; i++) { /* each once */
        snprintf(text, sizeof text, "__keyevent@0__:set=key%u ", i);
        assert_true(listener_has(&a, text));
    }

    events_of_keys_come_from_another_primary();
    /* The replica of a primary takes its place: it is a new primary. */
    cluster_rig_failover(rig, 3, "");
    WAIT_FOR(listener_has(&a, "?__keyevent@0__:set "));
    assert_false(listener_has(&a, "~"));
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(text, sizeof text, "SET other%u 1", i);
        live_ask(client, text);
    }
    for (unsigned i = 0; i < KEYS; i++) { /* marks may stand between */
        snprintf(text, sizeof text, "__keyevent@0__:set=other%u ", i);
        WAIT_FOR(listener_has(&a, text));
    }
    listener_end(&a);
    close_stage();
}

/* ---- new credentials ---- */

/* The default user takes any password. */
static void give_another(shoal_credentials_request_t *request, void *data)
{
    static _Atomic unsigned questions;
    char password[16];

    (void)data;
    snprintf(password, sizeof password, "p%u", ++questions);
    assert_int_equal(shoal_credentials_give(request, NULL, password,
                                            questions == 1 ? 300 : UINT64_MAX),
                     0);
}

/* Each node's connection is renewed, and no name has a gap. */
static void new_credentials_make_no_gap(void **state)
{
    char text[64];
    unsigned number = 0;

    (void)state;
    open_stage_of(give_another, SHOAL_PROBE_AUTO);
    listener_begin(&a, pubsub, "news s:s1 s:s2 s:s3 k:__keyevent@0__:set");
    listener_wait(&a);
    WAIT_FOR(a.items == 5);
    LISTENER_HEARS(&a, a.heard);
    uint64_t connects = listener_stats(pubsub).connects;
    for (uint64_t since_us = waiting_now_us();
         listener_stats(pubsub).connects < 2 * connects || number < 4;) {
        snprintf(text, sizeof text, "SPUBLISH s%u %u", number % 3 + 1, number);
        live_ask(client, text);
        number++;
        waiting_sleep_us(1000); /* the transcript has room for 8000 */
        assert_true(waiting_now_us() - since_us < WAITING_US_MAX);
    }
    snprintf(text, sizeof text, "s%u=%u ", (number - 1) % 3 + 1, number - 1);
    WAIT_FOR(listener_has(&a, text));
    for (unsigned i = 0; i < number; i++) {
        snprintf(text, sizeof text, "s%u=%u ", i % 3 + 1, i);
        const char *first = strstr(a.heard, text);
        assert_non_null(first);
        assert_null(strstr(first + 1, text));
    }
    assert_int_equal(listener_stats(pubsub).gaps, 0);
    assert_int_equal(listener_stats(pubsub).losses, 0);
    listener_end(&a);
    close_stage();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_all_kinds_get_their_messages),
        cmocka_unit_test(probes_arrive_at_each_node),
        cmocka_unit_test(events_of_keys_come_from_every_primary),
        cmocka_unit_test(new_credentials_make_no_gap),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests_name("cluster_pubsub", tests, NULL, NULL);
    cluster_rig_stop(rig);
    return failed;
}
