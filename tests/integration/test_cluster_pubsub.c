/* SPDX-License-Identifier: MIT */

/* Subscriptions in a real cluster: names of all kinds, slots that move while messages are
 * published, an owner that dies, events of keys at every primary. */

#include "resp/key_slot.h"
#include "support/cluster_rig.h"
#include "support/listener.h"
#include "support/live.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cluster_rig_t *patient; /* for most tests; NULL: not started yet */
static cluster_rig_t *rig;
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
static void open_stage_of(bool is_shared, shoal_credentials_fn provider)
{
    shoal_options_t *options;

    if (is_shared && !patient)
        patient = cluster_rig_start_patient();
    rig = is_shared ? patient : cluster_rig_start_patient();
    if (!rig)
        skip();
    options = cluster_rig_options(rig, 1);
    assert_int_equal(shoal_options_set_credentials_provider(options, provider, NULL),
                     0);
    keyspaces_off = 0;
    assert_int_equal(shoal_options_set_on_event(options, on_event, NULL), 0);
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    assert_int_equal(shoal_options_set_credentials_provider(options, NULL, NULL), 0);
    client = live_open(options);
}

static void open_stage(bool is_shared)
{
    open_stage_of(is_shared, NULL);
}

static void close_stage(void)
{
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
    live_finish(client);
}

static unsigned slot_of(const char *name)
{
    return shoal__key_slot((shoal__bytes_t){name, strlen(name)});
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
    open_stage(true);
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

/* ---- events of keys ---- */

#define KEYS 60

static void events_of_keys_come_from_every_primary(void **state)
{
    char text[64];
    (void)state;

    open_stage(true);
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

/* ---- channels of shards while slots move, and while an owner dies ---- */

#define CHANNELS 16
#define NUMBERS_MAX 200000
#define GAP (-1)

/* What came of one channel, and which numbers were published for sure. */
typedef struct track {
    int heard[NUMBERS_MAX];
    _Atomic unsigned count;
    bool is_unclear[NUMBERS_MAX];
    _Atomic int published;
    unsigned gaps, moves;
} track_t;

static track_t *tracks;
static _Atomic bool is_over;
static _Atomic unsigned suspensions;

static void note(unsigned channel, int what)
{
    track_t *track = &tracks[channel];

    if (track->count < NUMBERS_MAX) {
        track->heard[track->count] = what;
        track->count++; /* others look at what is before it */
    }
}

static void on_item(const shoal_item_t *item, void *data)
{
    const char *channel = shoal_item_channel(item, NULL);
    size_t bytes;
    const char *payload = shoal_item_payload(item, &bytes);
    char number[16];
    (void)data;

    if (shoal_item_kind(item) == SHOAL_ITEM_MESSAGE) {
        snprintf(number, sizeof number, "%.*s", (int)bytes, payload);
        note((unsigned)atoi(channel + 1), atoi(number));
    } else if (shoal_item_kind(item) == SHOAL_ITEM_GAP) {
        note((unsigned)atoi(channel + 1), GAP);
    }
    suspensions += shoal_item_kind(item) == SHOAL_ITEM_SUSPENDED;
}

static void *publish(void *data)
{
    (void)data;
    for (int n = 1; !is_over && n < NUMBERS_MAX / 2; n++)
        for (unsigned i = 0; i < CHANNELS; i++) {
            shoal_result_t *result;
            tracks[i].is_unclear[n] = true;
            if (shoal_client_callf(client, &result, "SPUBLISH c%u %d", i, n) < 0)
                continue;
            /* No answer: it may have been published, even twice. */
            tracks[i].is_unclear[n] =
                shoal_result_status(result) < 0 || shoal_result_error(result);
            tracks[i].published = n;
            shoal_result_release(result);
        }
    return NULL;
}

/* Numbers ascend by 1, or a gap stands between; none comes twice. */
static void check_track(unsigned channel)
{
    track_t *track = &tracks[channel];
    bool is_gap = false;
    int last = 0;

    for (unsigned i = 0; i < track->count; i++) {
        int number = track->heard[i];
        if (number == GAP) {
            is_gap = true;
            track->gaps++;
            continue;
        }
        if (number <= last && !track->is_unclear[number])
            fail_msg("c%u: %d behind %d", channel, number, last);
        for (int n = last + 1; n < number && !is_gap; n++)
            if (!track->is_unclear[n])
                fail_msg("c%u: %d is missing before %d", channel, n, number);
        is_gap = false;
        last = number > last ? number : last;
    }
}

static bool all_heard_since(const int *since)
{
    for (unsigned i = 0; i < CHANNELS; i++) {
        const track_t *track = &tracks[i];
        unsigned count = track->count;
        if (count == 0 || track->heard[count - 1] <= since[i])
            return false;
    }
    return true;
}

/* Wait until each channel gets a message that was published from now on. */
static void await_delivery(void)
{
    int since[CHANNELS];

    for (unsigned i = 0; i < CHANNELS; i++)
        since[i] = tracks[i].published;
    WAIT_FOR(all_heard_since(since));
}

static void begin_load(pthread_t *thread)
{
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_name_t names[CHANNELS];
    char texts[CHANNELS][8];

    tracks = calloc(CHANNELS, sizeof *tracks);
    is_over = false;
    suspensions = 0;
    for (unsigned i = 0; i < CHANNELS; i++) {
        snprintf(texts[i], sizeof texts[i], "c%u", i);
        names[i] = (shoal_name_t){SHOAL_NAME_SHARD, texts[i], strlen(texts[i])};
    }
    receiver.on_item = on_item;
    assert_int_equal(
        shoal_pubsub_subscribe(pubsub, names, CHANNELS, &receiver, &a.subscription), 0);
    listener_wait(&a);
    assert_int_equal(pthread_create(thread, NULL, publish, NULL), 0);
    await_delivery();
}

static void end_load(pthread_t thread, bool only_moved)
{
    await_delivery();
    is_over = true;
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < CHANNELS; i++) {
        check_track(i);
        if (only_moved)
            assert_int_equal(tracks[i].gaps, tracks[i].moves);
    }
    shoal_subscription_close(a.subscription);
    close_stage();
    free(tracks);
}

static void channels_follow_their_slots(void **state)
{
    pthread_t thread;
    (void)state;

    open_stage(true);
    begin_load(&thread);
    for (unsigned i = 0; i < CHANNELS / 2; i++) {
        char name[8];
        snprintf(name, sizeof name, "c%u", i);
        size_t from = cluster_rig_first_owner(slot_of(name));
        cluster_rig_move(rig, slot_of(name), from, (from + 1) % CLUSTER_PRIMARIES);
        tracks[i].moves++;
    }
    await_delivery();
    assert_int_equal(listener_stats(pubsub).rejected, 0);
    end_load(thread, true);
    assert_int_equal(suspensions, 0);
}

static void an_owner_dies(void **state)
{
    pthread_t thread;
    (void)state;

    open_stage(false);
    begin_load(&thread);
    redis_process_kill(rig->nodes[0].server);
    WAIT_FOR(suspensions > 0);
    cluster_rig_failover(rig, 3, " TAKEOVER");
    end_load(thread, false);
    assert_int_equal(suspensions, 1);
    cluster_rig_stop(rig);
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
    open_stage_of(true, give_another);
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
        cmocka_unit_test(channels_follow_their_slots),
        cmocka_unit_test(events_of_keys_come_from_every_primary),
        cmocka_unit_test(new_credentials_make_no_gap),
        cmocka_unit_test(an_owner_dies),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests_name("cluster_pubsub", tests, NULL, NULL);
    cluster_rig_stop(patient);
    return failed;
}
