/* SPDX-License-Identifier: MIT */
/* Pubsubs end in every way while messages come: none hangs, nothing is delivered behind an end,
 * and no descriptor stays.  SHOAL_TEST_SCALE=25 makes it 1000 ends. */
#include "support/live.h"
#include "support/lone_fork.h"
#include "support/process_state.h"

#include <pthread.h>
#include <shoal/pubsub.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENDS 40
#define SUBSCRIPTIONS 3
#define STEP_US 1000

typedef enum end {
    CLOSED,           /* with its subscriptions */
    RELEASED,         /* the last reference goes, and nothing else was said */
    CLOSED_BY_ITSELF, /* a callback closes its subscription; then the pubsub goes */
    FORKED,           /* a child ends, and has the parent's pubsub */
    END_COUNT
} end_t;

typedef struct receiver {
    shoal_subscription_t *_Atomic subscription;
    bool closes_itself;
    _Atomic unsigned messages, behind;
    _Atomic bool is_over;
} receiver_t;

static _Atomic bool is_over;
static shoal_client_t *publisher;

static void *publish(void *data)
{
    while (!is_over) {
        live_ask(publisher, "PUBLISH ends 1");
        waiting_sleep_us(100);
    }
    return data;
}

static void on_item(const shoal_item_t *item, void *data)
{
    receiver_t *receiver = data;

    receiver->behind += receiver->is_over;
    if (shoal_item_kind(item) != SHOAL_ITEM_MESSAGE)
        return;
    receiver->messages++;
    if (receiver->closes_itself && receiver->subscription) {
        receiver->is_over = true;
        shoal_subscription_close(receiver->subscription);
        receiver->subscription = NULL;
    }
}

static void begin(shoal_pubsub_t *pubsub, receiver_t *receiver, bool closes_itself)
{
    static const shoal_name_t names[] = {{SHOAL_NAME_CHANNEL, "ends", 4},
                                         {SHOAL_NAME_PATTERN, "e*", 2}};
    shoal_receiver_t how = SHOAL_RECEIVER_INIT;
    shoal_subscription_t *subscription;

    *receiver = (receiver_t){.closes_itself = closes_itself};
    how.on_item = on_item;
    how.data = receiver;
    assert_int_equal(shoal_pubsub_subscribe(pubsub, names, 2, &how, &subscription), 0);
    receiver->subscription = subscription;
}

/* In the child nothing of it works, and nothing hangs. */
static void end_in_child(shoal_pubsub_t *pubsub)
{
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        shoal_pubsub_stats_t stats = SHOAL_PUBSUB_STATS_INIT;
        (void)shoal_pubsub_stats(pubsub, &stats);
        bool is_refused = shoal_pubsub_reconnect(pubsub) < 0;
        shoal_pubsub_release(pubsub);
        busy_fork_exit(is_refused ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void run(end_t end, bool is_borrowed)
{
    receiver_t receivers[SUBSCRIPTIONS];
    shoal_options_t *options = live_options();
    shoal_pubsub_t *pubsub;

    assert_int_equal(is_borrowed ? shoal_pubsub_open_borrowed(options, &pubsub, NULL)
                                 : shoal_pubsub_open(options, &pubsub, NULL),
                     0);
    shoal_options_free(options);
    for (unsigned i = 0; i < SUBSCRIPTIONS; i++)
        begin(pubsub, &receivers[i], end == CLOSED_BY_ITSELF);
    for (unsigned i = 0; i < SUBSCRIPTIONS; i++)
        WAIT_FOR((is_borrowed ? shoal_pubsub_step(pubsub, STEP_US) : 0) == 0 &&
                 receivers[i].messages > 0);
    if (end == FORKED)
        end_in_child(pubsub);
    if (end != RELEASED)
        assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    if (end == RELEASED)
        for (unsigned i = 0; i < SUBSCRIPTIONS; i++) {
            shoal_subscription_close(receivers[i].subscription);
            receivers[i].is_over = true;
        }
    for (unsigned i = 0; i < SUBSCRIPTIONS && end != RELEASED; i++) {
        receivers[i].is_over = true;
        if (receivers[i].subscription)
            shoal_subscription_close(receivers[i].subscription);
    }
    shoal_pubsub_release(pubsub);
    for (unsigned i = 0; i < SUBSCRIPTIONS; i++)
        assert_int_equal(receivers[i].behind, 0);
}

static void test_ends_while_messages_come(void **state)
{
    size_t descriptors;
    pthread_t thread;

    (void)state;
    publisher = live_open(live_options());
    assert_int_equal(pthread_create(&thread, NULL, publish, NULL), 0);
    run(CLOSED, false); /* what the first one opens for all stays open */
    descriptors = process_descriptors();
    for (size_t i = 0; i < live_scaled(ENDS); i++)
        run((end_t)(i % END_COUNT), i / END_COUNT % 2 == 1);
    WAIT_FOR(process_descriptors() == descriptors);
    is_over = true;
    pthread_join(thread, NULL);
    live_finish(publisher);
    print_message("%zu ends\n", live_scaled(ENDS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends_while_messages_come)};

    return cmocka_run_group_tests_name("integration/pubsub_ends", tests, NULL, NULL);
}
