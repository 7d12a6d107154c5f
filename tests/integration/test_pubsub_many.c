/* SPDX-License-Identifier: MIT */
/* Many channels over one connection, which is lost: all are subscribed again, by requests of
 * 512 names, each with its mark, while commands of another client go on. */
#include "support/live.h"
#include "support/process_state.h"

#include <shoal/mailbox.h>
#include <shoal/pubsub.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 24u
#define REQUEST_NAMES 512u
#define CHANNEL_BYTES_MAX 600u /* resident, for one, marks and requests included */
#define CHANNELS 20000u        /* 100 000 with SHOAL_TEST_SCALE=5 */

typedef struct seen {
    size_t count;
    _Atomic unsigned char *subscribed, *gaps; /* marks of each channel */
    _Atomic size_t subscribed_all, gaps_all, suspended, messages, others;
} seen_t;

static void on_item(const shoal_item_t *item, void *data)
{
    seen_t *seen = data;
    size_t bytes;
    const char *text = shoal_item_channel(item, &bytes);
    size_t number = bytes > 5 ? strtoul(text + 5, NULL, 10) : 0;

    switch (shoal_item_kind(item)) {
    case SHOAL_ITEM_SUBSCRIBED:
        seen->subscribed[number]++;
        seen->subscribed_all++;
        break;
    case SHOAL_ITEM_GAP:
        seen->gaps[number]++;
        seen->gaps_all++;
        break;
    case SHOAL_ITEM_SUSPENDED:
        seen->suspended++;
        break;
    case SHOAL_ITEM_MESSAGE:
        seen->messages++;
        break;
    case SHOAL_ITEM_DROPPED:
    case SHOAL_ITEM_REJECTED:
    case SHOAL_ITEM_ENDED:
        seen->others++;
        break;
    }
}

static shoal_name_t *make_names(size_t count)
{
    shoal_name_t *names = calloc(count, sizeof *names);
    char *texts = malloc(count * NAME_BYTES);

    assert_true(names && texts);
    for (size_t i = 0; i < count; i++) {
        char *text = texts + i * NAME_BYTES;
        int bytes = snprintf(text, NAME_BYTES, "many:%zu", i);
        names[i] = (shoal_name_t){SHOAL_NAME_CHANNEL, text, (size_t)bytes};
    }
    return names;
}

static int64_t ask_number(shoal_client_t *client, const char *text)
{
    shoal_result_t *result;

    assert_int_equal(shoal_client_callf(client, &result, text), 0);
    int64_t number = shoal_reply_integer(shoal_result_reply(result));
    shoal_result_release(result);
    return number;
}

static size_t channels_of_server(shoal_client_t *client)
{
    shoal_result_t *result;

    assert_int_equal(shoal_client_callf(client, &result, "PUBSUB CHANNELS many:*"), 0);
    size_t count = shoal_reply_count(shoal_result_reply(result));
    shoal_result_release(result);
    return count;
}

static shoal_pubsub_stats_t stats_of(shoal_pubsub_t *pubsub)
{
    shoal_pubsub_stats_t stats = SHOAL_PUBSUB_STATS_INIT;
    assert_int_equal(shoal_pubsub_stats(pubsub, &stats), 0);
    return stats;
}

/* Until the channels are back; how long the slowest command of another client took. */
static uint64_t wait_for_gaps(shoal_client_t *client, const seen_t *seen)
{
    uint64_t slowest_us = 0, since_us = waiting_now_us();

    while (seen->gaps_all < seen->count) {
        uint64_t begin_us = waiting_now_us();
        live_ask(client, "PING");
        uint64_t us = waiting_now_us() - begin_us;
        slowest_us = us > slowest_us ? us : slowest_us;
        waiting_pause(since_us, "the channels are back", __FILE__, __LINE__);
    }
    return slowest_us;
}

static void check_marks(const seen_t *seen, unsigned gaps)
{
    for (size_t i = 0; i < seen->count; i++) {
        assert_int_equal(seen->subscribed[i], 1);
        assert_int_equal(seen->gaps[i], gaps);
    }
    assert_int_equal(seen->others, 0);
}

static void lose(shoal_client_t *client, shoal_pubsub_t *pubsub, seen_t *seen)
{
    uint64_t requests = stats_of(pubsub).requests, begin_us = waiting_now_us();

    assert_int_equal(ask_number(client, "CLIENT KILL TYPE pubsub"), 1);
    uint64_t slowest_us = wait_for_gaps(client, seen);
    requests = stats_of(pubsub).requests - requests;
    print_message(
        "%zu channels are back after %.0f ms by %zu requests, commands beside "
        "took %.1f ms at most\n",
        seen->count, (double)(waiting_now_us() - begin_us) / 1e3, (size_t)requests,
        (double)slowest_us / 1e3);
    assert_true(requests <= seen->count / REQUEST_NAMES + 2);
    assert_int_equal(seen->suspended, 1);
    check_marks(seen, 1);
}

static void check_memory(size_t before, size_t count)
{
    size_t now = process_resident_bytes();
    size_t each = now > before ? (now - before) / count : 0;

    print_message("%zu bytes of memory for each channel\n", each);
    assert_true(each < CHANNEL_BYTES_MAX || process_is_sanitized());
}

static void test_all_come_back(void **state)
{
    size_t count = live_scaled(CHANNELS);
    seen_t seen = {.count = count};
    shoal_name_t *names = make_names(count);
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_options_t *options = live_options();
    shoal_pubsub_t *pubsub;
    shoal_subscription_t *subscription;
    shoal_client_t *client = live_open(live_options());
    (void)state;

    seen.subscribed = calloc(count, 1);
    seen.gaps = calloc(count, 1);
    assert_true(seen.subscribed && seen.gaps);
    size_t before = process_resident_bytes();
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    shoal_options_free(options);
    receiver.on_item = on_item;
    receiver.data = &seen;
    assert_int_equal(
        shoal_pubsub_subscribe(pubsub, names, count, &receiver, &subscription), 0);
    WAIT_FOR(seen.subscribed_all == count);
    assert_int_equal(shoal_subscription_wait(subscription, WAITING_US_MAX), 0);
    check_marks(&seen, 0);
    lose(client, pubsub, &seen);
    check_memory(before, count);
    assert_int_equal(channels_of_server(client), count);
    assert_int_equal(stats_of(pubsub).names_confirmed_now, count);
    assert_int_equal(ask_number(client, "PUBLISH many:7 x"), 1);
    WAIT_FOR(seen.messages == 1);
    shoal_subscription_close(subscription);
    WAIT_FOR(channels_of_server(client) == 0);
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
    live_finish(client);
    free((void *)names[0].data);
    free(names);
    free((void *)seen.subscribed);
    free((void *)seen.gaps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_come_back),
    };
    return cmocka_run_group_tests_name("integration/pubsub_many", tests, NULL, NULL);
}
