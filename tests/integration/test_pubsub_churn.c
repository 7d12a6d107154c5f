/* SPDX-License-Identifier: MIT */
/* Many threads subscribe, change and close subscriptions to few names, while their connections
 * are killed: in the end the server has what is wanted, and no item comes after a close. */
#include "support/listener.h"
#include "support/live.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define THREADS 8
#define THREADS_MAX 64 /* at a larger scale */
#define NAMES 32
#define STEPS 16000 /* of all threads */
#define HELD 3      /* subscriptions of one thread */

typedef struct held {
    shoal_subscription_t *subscription; /* NULL: none */
    bool is_wanted[NAMES];
    _Atomic bool is_closed;
    _Atomic uint64_t late; /* items after the close */
} held_t;

typedef struct worker {
    pthread_t thread;
    shoal_pubsub_t *pubsub;
    unsigned random;
    int failures;
    held_t held[HELD];
} worker_t;

static char names[NAMES][8];
static unsigned threads;
static _Atomic unsigned working; /* of them */

static shoal_name_kind_t kind_of(unsigned n)
{
    static const shoal_name_kind_t kinds[] = {SHOAL_NAME_CHANNEL, SHOAL_NAME_SHARD,
                                              SHOAL_NAME_CHANNEL, SHOAL_NAME_PATTERN};

    return kinds[n % 4];
}

static shoal_name_t name_of(unsigned n)
{
    return (shoal_name_t){kind_of(n), names[n], strlen(names[n])};
}

static void on_item(const shoal_item_t *item, void *data)
{
    held_t *held = data;

    (void)item;
    if (atomic_load(&held->is_closed))
        held->late++;
}

/* Of its own thread only. */
static void change(worker_t *worker, held_t *held)
{
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    unsigned n = live_roll(&worker->random) % NAMES;
    shoal_name_t name = name_of(n);
    int rc = 0;

    if (!held->subscription) {
        memset(held->is_wanted, 0, sizeof held->is_wanted);
        atomic_store(&held->is_closed, false);
        receiver.on_item = on_item;
        receiver.data = held;
        rc = shoal_pubsub_subscribe(worker->pubsub, &name, 1, &receiver,
                                    &held->subscription);
        held->is_wanted[n] = true;
    } else if (live_roll(&worker->random) % 8 == 0) {
        shoal_subscription_close(held->subscription);
        atomic_store(&held->is_closed, true);
        held->subscription = NULL;
    } else if (live_roll(&worker->random) % 2) {
        rc = shoal_subscription_add(held->subscription, &name, 1);
        held->is_wanted[n] = true;
    } else {
        rc = shoal_subscription_remove(held->subscription, &name, 1);
        held->is_wanted[n] = false;
    }
    worker->failures += rc != 0;
}

static void *work(void *data)
{
    worker_t *worker = data;
    size_t steps = live_scaled(STEPS) / threads;

    for (size_t i = 0; i < steps; i++) {
        change(worker, &worker->held[live_roll(&worker->random) % HELD]);
        if (i % 16 == 0)
            waiting_sleep_us(2000);
    }
    working--;
    return NULL;
}

static const char *word_of(unsigned n)
{
    return kind_of(n) == SHOAL_NAME_SHARD ? "SHARD" : "";
}

/* How many connections are subscribed to the channel. */
static int64_t numsub(shoal_client_t *client, unsigned n)
{
    char command[64];
    shoal_result_t *result;
    int64_t number;

    snprintf(command, sizeof command, "PUBSUB %sNUMSUB %s", word_of(n), names[n]);
    assert_int_equal(shoal_client_callf(client, &result, command), 0);
    number = shoal_reply_integer(shoal_reply_at(shoal_result_reply(result), 1));
    shoal_result_release(result);
    return number;
}

/* How many patterns, or channels (of shards), the server has. */
static int64_t count_of(shoal_client_t *client, const char *command)
{
    shoal_result_t *result;
    const shoal_reply_t *reply;
    int64_t number;

    assert_int_equal(shoal_client_callf(client, &result, command), 0);
    reply = shoal_result_reply(result);
    number = shoal_reply_type(reply) == SHOAL_REPLY_INTEGER
                 ? shoal_reply_integer(reply)
                 : (int64_t)shoal_reply_count(reply);
    shoal_result_release(result);
    return number;
}

static bool is_wanted(const worker_t *workers, unsigned n)
{
    for (unsigned w = 0; w < threads; w++)
        for (unsigned h = 0; h < HELD; h++)
            if (workers[w].held[h].subscription && workers[w].held[h].is_wanted[n])
                return true;
    return false;
}

/* The server has each name that is wanted, once, and no other. */
static void check_server(shoal_client_t *client, const worker_t *workers)
{
    int64_t wanted[SHOAL_NAME_KEYSPACE] = {0};

    for (unsigned n = 0; n < NAMES; n++) {
        int64_t is_one = is_wanted(workers, n);
        wanted[kind_of(n)] += is_one;
        if (kind_of(n) != SHOAL_NAME_PATTERN)
            WAIT_FOR(numsub(client, n) == is_one);
    }
    WAIT_FOR(count_of(client, "PUBSUB NUMPAT") == wanted[SHOAL_NAME_PATTERN]);
    WAIT_FOR(count_of(client, "PUBSUB CHANNELS") == wanted[SHOAL_NAME_CHANNEL]);
    WAIT_FOR(count_of(client, "PUBSUB SHARDCHANNELS") == wanted[SHOAL_NAME_SHARD]);
}

/* Messages, and losses, while threads are at work: a connection is dialed ten times a second at
 * most. */
static void disturb(shoal_client_t *client)
{
    uint64_t killed_us = 0;

    for (int i = 0; i < 40 || working > 0; i++) {
        for (unsigned n = 0; n < NAMES; n++) {
            shoal_result_t *result;
            assert_int_equal(
                shoal_client_callf(client, &result,
                                   *word_of(n) ? "SPUBLISH %s x" : "PUBLISH %s x",
                                   names[n]),
                0);
            shoal_result_release(result);
        }
        if (waiting_now_us() - killed_us > 50000) {
            live_ask(client, "CLIENT KILL TYPE pubsub");
            killed_us = waiting_now_us();
        }
    }
}

static void test_churn(void **state)
{
    static worker_t workers[THREADS_MAX];
    shoal_options_t *options = live_options();
    shoal_pubsub_t *pubsub;
    shoal_client_t *client;

    (void)state;
    threads = live_scaled(STEPS) > STEPS ? THREADS_MAX : THREADS;
    working = threads;
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 10000), 0);
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    client = live_open(options);
    for (unsigned n = 0; n < NAMES; n++)
        snprintf(names[n], sizeof names[n], n % 4 == 3 ? "c%u*" : "c%u", n);
    for (unsigned w = 0; w < threads; w++) {
        workers[w].pubsub = pubsub;
        workers[w].random = w + 1;
        pthread_create(&workers[w].thread, NULL, work, &workers[w]);
    }
    disturb(client);
    for (unsigned w = 0; w < threads; w++) {
        pthread_join(workers[w].thread, NULL);
        assert_int_equal(workers[w].failures, 0);
    }
    for (unsigned w = 0; w < threads; w++)
        for (unsigned h = 0; h < HELD; h++)
            if (workers[w].held[h].subscription)
                assert_int_equal(shoal_subscription_wait(
                                     workers[w].held[h].subscription, WAITING_US_MAX),
                                 0);
    check_server(client, workers);
    for (unsigned w = 0; w < threads; w++)
        for (unsigned h = 0; h < HELD; h++)
            shoal_subscription_close(workers[w].held[h].subscription);
    for (unsigned w = 0; w < threads; w++)
        for (unsigned h = 0; h < HELD; h++)
            workers[w].held[h].subscription = NULL;
    check_server(client, workers);
    for (unsigned w = 0; w < threads; w++)
        for (unsigned h = 0; h < HELD; h++)
            assert_int_equal(workers[w].held[h].late, 0);
    assert_int_equal(listener_stats(pubsub).desyncs, 0);
    print_message("%zu steps of %u threads, %zu losses, %zu messages\n",
                  live_scaled(STEPS), threads, (size_t)listener_stats(pubsub).losses,
                  (size_t)listener_stats(pubsub).messages);
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
    live_finish(client);
}

/* ---- wishes without end ---- */

static _Atomic bool is_tired;

/* The server has the name still: it is confirmed at once, again and again. */
static void leave_and_return(listener_t *listener, const shoal_item_t *item)
{
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, "x", 1};

    if (shoal_item_kind(item) != SHOAL_ITEM_SUBSCRIBED || is_tired)
        return;
    shoal_subscription_remove(listener->subscription, &name, 1);
    shoal_subscription_add(listener->subscription, &name, 1);
}

/* A subscription changes its names without pause: the loop still hears the others. */
static void test_wishes_without_end(void **state)
{
    static listener_t restless, patient;
    shoal_options_t *options = live_options();
    shoal_pubsub_t *pubsub;
    shoal_client_t *client;

    (void)state;
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    client = live_open(options);
    restless.act = leave_and_return;
    listener_begin(&restless, pubsub, "x");
    WAIT_FOR(restless.items > 10);
    listener_begin(&patient, pubsub, "y");
    listener_wait(&patient);
    live_ask(client, "PUBLISH y 1");
    LISTENER_HEARS(&patient, "+y y=1 ");
    is_tired = true;
    listener_end(&restless);
    listener_end(&patient);
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
    live_finish(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_churn),
        cmocka_unit_test(test_wishes_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
