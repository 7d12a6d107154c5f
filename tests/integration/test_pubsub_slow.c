/* SPDX-License-Identifier: MIT */
/* A subscriber that takes nothing from its mailbox under load, with each overflow policy:
 * what is delivered and what is marked as dropped is together what was sent, the marks stand
 * at the holes, memory is bounded, and another subscriber of the same connection misses
 * nothing. */
#include "support/live.h"
#include "support/process_state.h"

#include <shoal/mailbox.h>
#include <shoal/pubsub.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELD_MAX 1000u    /* messages of the mailbox */
#define BYTES_MAX 2097152 /* of it */
#define PAYLOAD_BYTES 1000u
#define UNDER_WAY_MAX 500u /* messages without a reply */
/* Messages that the quick subscriber has not had: a server ends a subscriber that is 32 MB
 * behind. */
#define BEHIND_MAX 10000u
#define RSS_GROWTH_MAX ((size_t)24 * 1024 * 1024)

/* The quick one has a second channel: its message tells that all before it were handed on. */
static const shoal_name_t names[] = {{SHOAL_NAME_CHANNEL, "slow", 4},
                                     {SHOAL_NAME_CHANNEL, "sync", 4}};

/* What a receiver has had so far. */
typedef struct seen {
    size_t got, dropped, holes;
    size_t next; /* the number that is due, or its mark */
    bool has_ended;
} seen_t;

static _Atomic size_t under_way;
static _Atomic size_t quick_got; /* by the callback */
static _Atomic size_t synced;
static _Atomic bool quick_failed;

static void on_reply(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    (void)data;
    (void)result;
    under_way--;
}

static void publish(shoal_client_t *client, size_t number)
{
    char text[PAYLOAD_BYTES];
    const char *argv[] = {"PUBLISH", "slow", text};
    const size_t argvlen[] = {7, 4, sizeof text};

    memset(text, 'x', sizeof text);
    snprintf(text, sizeof text, "%zu", number);
    while (under_way >= UNDER_WAY_MAX)
        waiting_sleep_us(50);
    if (number >= quick_got + BEHIND_MAX)
        WAIT_FOR(number < quick_got + BEHIND_MAX);
    under_way++;
    assert_int_equal(
        shoal_client_submit(client, 3, argv, argvlen, on_reply, NULL, NULL), 0);
}

static size_t number_of(const shoal_item_t *item)
{
    size_t bytes;
    return strtoul(shoal_item_payload(item, &bytes), NULL, 10); /* ends with its NUL */
}

static void on_quick(const shoal_item_t *item, void *data)
{
    size_t bytes;
    (void)data;

    if (shoal_item_kind(item) != SHOAL_ITEM_MESSAGE)
        return;
    if (strcmp(shoal_item_channel(item, &bytes), "sync") == 0)
        synced++;
    else if (number_of(item) != quick_got++)
        quick_failed = true;
}

static void look(seen_t *seen, const shoal_item_t *item)
{
    assert_false(seen->has_ended);
    switch (shoal_item_kind(item)) {
    case SHOAL_ITEM_MESSAGE:
        assert_int_equal(number_of(item), seen->next);
        seen->next++;
        seen->got++;
        break;
    case SHOAL_ITEM_DROPPED:
        assert_true(shoal_item_count(item) > 0);
        seen->next += shoal_item_count(item);
        seen->dropped += shoal_item_count(item);
        seen->holes++;
        break;
    case SHOAL_ITEM_ENDED:
        seen->has_ended = true;
        break;
    case SHOAL_ITEM_SUBSCRIBED:
        assert_int_equal(seen->next, 0);
        break;
    case SHOAL_ITEM_SUSPENDED:
    case SHOAL_ITEM_GAP:
    case SHOAL_ITEM_REJECTED:
        fail_msg("item of kind %d", (int)shoal_item_kind(item));
    }
}

static void take_all(shoal_mailbox_t *mailbox, seen_t *seen)
{
    const shoal_item_t *items[64];
    size_t count;

    while ((count = shoal_mailbox_take(mailbox, items, 64)) > 0) {
        for (size_t i = 0; i < count; i++)
            look(seen, items[i]);
    }
}

typedef struct yard {
    shoal_client_t *client;
    shoal_pubsub_t *pubsub;
    shoal_mailbox_t *mailbox;
    shoal_subscription_t *slow, *quick;
} yard_t;

static void subscribe(yard_t *yard, shoal_mailbox_t *mailbox,
                      shoal_subscription_t **ret_subscription)
{
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;

    receiver.mailbox = mailbox;
    receiver.on_item = mailbox ? NULL : on_quick;
    assert_int_equal(shoal_pubsub_subscribe(yard->pubsub, names, mailbox ? 1 : 2,
                                            &receiver, ret_subscription),
                     0);
    assert_int_equal(shoal_subscription_wait(*ret_subscription, WAITING_US_MAX), 0);
}

static void begin(yard_t *yard, shoal_overflow_t overflow)
{
    shoal_options_t *options = live_options();

    quick_got = 0;
    yard->client = live_open(live_options());
    assert_int_equal(shoal_pubsub_open(options, &yard->pubsub, NULL), 0);
    shoal_options_free(options);
    assert_int_equal(shoal_mailbox_new(HELD_MAX, BYTES_MAX, overflow, &yard->mailbox),
                     0);
    subscribe(yard, yard->mailbox, &yard->slow);
    subscribe(yard, NULL, &yard->quick);
}

static void finish(yard_t *yard)
{
    shoal_subscription_close(yard->slow);
    shoal_subscription_close(yard->quick);
    assert_int_equal(shoal_pubsub_close_and_wait(yard->pubsub), 0);
    shoal_pubsub_release(yard->pubsub);
    shoal_mailbox_free(yard->mailbox);
    live_finish(yard->client);
}

/* Nothing is taken while `count` messages come, the last of which is number `end` - 1. */
static void sleep_through(yard_t *yard, size_t count, size_t end)
{
    for (size_t number = end - count; number < end; number++)
        publish(yard->client, number);
    size_t before = synced;
    live_ask(yard->client, "PUBLISH sync x");
    WAIT_FOR(synced > before);
    assert_int_equal(quick_got, end);
    assert_false(quick_failed);
}

static void check_memory(size_t before)
{
    size_t now = process_resident_bytes();

    if (now > before + RSS_GROWTH_MAX && !process_is_sanitized())
        fail_msg("resident memory grew from %zu to %zu", before, now);
}

/* Two times it sleeps, and takes what there is. */
static void run(shoal_overflow_t overflow, size_t count)
{
    yard_t yard = {0};
    seen_t seen = {0};

    begin(&yard, overflow);
    size_t before = process_resident_bytes();
    for (size_t turn = 1; turn <= 2; turn++) {
        sleep_through(&yard, count, turn * count);
        check_memory(before);
        take_all(yard.mailbox, &seen);
        assert_int_equal(seen.next, turn * count);
        assert_int_equal(seen.got + seen.dropped, turn * count);
        assert_int_equal(seen.dropped, shoal_mailbox_dropped(yard.mailbox));
        assert_int_equal(seen.holes, turn);
        assert_true(seen.got >= turn * HELD_MAX / 2 && seen.got <= turn * HELD_MAX);
    }
    finish(&yard);
}

static void test_newest_are_dropped(void **state)
{
    (void)state;
    run(SHOAL_OVERFLOW_NEWEST, live_scaled(20000));
}

static void test_oldest_are_dropped(void **state)
{
    (void)state;
    run(SHOAL_OVERFLOW_OLDEST, live_scaled(20000));
}

static void test_the_subscription_ends(void **state)
{
    size_t count = live_scaled(20000);
    yard_t yard = {0};
    seen_t seen = {0};
    (void)state;

    begin(&yard, SHOAL_OVERFLOW_END);
    sleep_through(&yard, count, count);
    take_all(yard.mailbox, &seen);
    assert_true(seen.has_ended);
    assert_int_equal(seen.holes, 1);
    assert_true(seen.got > 0 && seen.got <= HELD_MAX);
    sleep_through(&yard, 10, count + 10);
    take_all(yard.mailbox, &seen); /* nothing follows */
    finish(&yard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newest_are_dropped),
        cmocka_unit_test(test_oldest_are_dropped),
        cmocka_unit_test(test_the_subscription_ends),
    };
    return cmocka_run_group_tests_name("integration/pubsub_slow", tests, NULL, NULL);
}
