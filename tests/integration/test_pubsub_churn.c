/* SPDX-License-Identifier: MIT */
/* Many threads subscribe, change and close subscriptions to few names, while their connections
 * are killed: in the end the server has what is wanted, and no item comes after a close. */
#include "support/listener.h"
#include "support/live.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define THREADS 8
#define NAMES 16
#define STEPS 400
#define HELD 3 /* subscriptions of one thread */

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

static shoal_name_t name_of(unsigned n)
{
    return (shoal_name_t){n % 4 == 3 ? SHOAL_NAME_PATTERN : SHOAL_NAME_CHANNEL,
                          names[n], strlen(names[n])};
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
    size_t steps = live_scaled(STEPS);

    for (size_t i = 0; i < steps; i++) {
        change(worker, &worker->held[live_roll(&worker->random) % HELD]);
        if (i % 16 == 0)
            waiting_sleep_us(500);
    }
    return NULL;
}

/* How many connections are subscribed to the name; of a pattern 0. */
static int64_t numsub(shoal_client_t *client, const char *name)
{
    shoal_result_t *result;
    int64_t number;

    assert_int_equal(shoal_client_callf(client, &result, "PUBSUB NUMSUB %s", name), 0);
    number = shoal_reply_integer(shoal_reply_at(shoal_result_reply(result), 1));
    shoal_result_release(result);
    return number;
}

static int64_t numpat(shoal_client_t *client)
{
    shoal_result_t *result;
    int64_t number;

    assert_int_equal(shoal_client_callf(client, &result, "PUBSUB NUMPAT"), 0);
    number = shoal_reply_integer(shoal_result_reply(result));
    shoal_result_release(result);
    return number;
}

static bool is_wanted(const worker_t *workers, unsigned n)
{
    for (unsigned w = 0; w < THREADS; w++)
        for (unsigned h = 0; h < HELD; h++)
            if (workers[w].held[h].subscription && workers[w].held[h].is_wanted[n])
                return true;
    return false;
}

static void check_server(shoal_client_t *client, const worker_t *workers)
{
    int64_t patterns = 0;

    for (unsigned n = 0; n < NAMES; n++) {
        int64_t wanted = is_wanted(workers, n);
        if (name_of(n).kind == SHOAL_NAME_PATTERN)
            patterns += wanted;
        else
            WAIT_FOR(numsub(client, names[n]) == wanted);
    }
    WAIT_FOR(numpat(client) == patterns);
}

static void test_churn(void **state)
{
    static worker_t workers[THREADS];
    shoal_options_t *options = live_options();
    shoal_pubsub_t *pubsub;
    shoal_client_t *client;

    (void)state;
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 10000), 0);
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    client = live_open(options);
    for (unsigned n = 0; n < NAMES; n++)
        snprintf(names[n], sizeof names[n], n % 4 == 3 ? "c%u*" : "c%u", n);
    for (unsigned w = 0; w < THREADS; w++) {
        workers[w].pubsub = pubsub;
        workers[w].random = w + 1;
        pthread_create(&workers[w].thread, NULL, work, &workers[w]);
    }
    for (int i = 0; i < 40; i++) {
        for (unsigned n = 0; n < NAMES; n++) {
            shoal_result_t *result;
            assert_int_equal(
                shoal_client_callf(client, &result, "PUBLISH %s x", names[n]), 0);
            shoal_result_release(result);
        }
        if (i % 8 == 7)
            live_ask(client, "CLIENT KILL TYPE pubsub");
    }
    for (unsigned w = 0; w < THREADS; w++) {
        pthread_join(workers[w].thread, NULL);
        assert_int_equal(workers[w].failures, 0);
    }
    for (unsigned w = 0; w < THREADS; w++)
        for (unsigned h = 0; h < HELD; h++)
            if (workers[w].held[h].subscription)
                assert_int_equal(shoal_subscription_wait(
                                     workers[w].held[h].subscription, WAITING_US_MAX),
                                 0);
    check_server(client, workers);
    for (unsigned w = 0; w < THREADS; w++)
        for (unsigned h = 0; h < HELD; h++)
            shoal_subscription_close(workers[w].held[h].subscription);
    for (unsigned w = 0; w < THREADS; w++)
        for (unsigned h = 0; h < HELD; h++)
            workers[w].held[h].subscription = NULL;
    check_server(client, workers);
    for (unsigned w = 0; w < THREADS; w++)
        for (unsigned h = 0; h < HELD; h++)
            assert_int_equal(workers[w].held[h].late, 0);
    assert_int_equal(listener_stats(pubsub).desyncs, 0);
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
    live_finish(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
