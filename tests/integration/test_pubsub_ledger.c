/* SPDX-License-Identifier: MIT */
/* Numbered messages to several channels, while subscribers' connections are killed, or cut by
 * the server because they read too slowly, and their server is stopped for moments, or killed
 * and started again.  The replies of PUBLISH are the
 * ledger: a message that reached nobody at the server reaches nobody here.  To each receiver
 * the numbers of a name ascend by 1, or a mark stands in between; none comes twice; none comes
 * before SUBSCRIBED, or between SUSPENDED and GAP. */
#include "support/live.h"
#include "support/redis_process.h"

#include <shoal/mailbox.h>
#include <shoal/pubsub.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS 6u
/* Each has a connection, which is dialed ten times a second at most: together they are killed
 * more often. */
#define PUBSUBS 3u
#define NAMES (CHANNELS + 1) /* and a pattern, which all of them match */
#define UNDER_WAY_MAX 500u   /* messages without a reply */
#define KILL_EVERY 4000u
#define RESTART_EVERY 9000u
#define MAILBOX_MAX 1000000u /* messages, of which few are there */
#define LARGE_BYTES 2000     /* of a message while the loop is stuck */
#define UNKNOWN UINT16_MAX
#define LAST_MAX 1000u /* attempts at a last message */

/* One name, as one subscription sees it. */
typedef struct line {
    uint32_t next[CHANNELS]; /* the number that is due; a channel's own line has one */
    bool has_hole[CHANNELS]; /* a mark allows that it is skipped */
    bool is_subscribed;
    bool is_suspended;
} line_t;

typedef struct yard yard_t;

typedef struct reader {
    yard_t *yard;
    const char *what;
    shoal_subscription_t *subscription;
    line_t lines[NAMES]; /* the last one is the pattern's */
    _Atomic uint64_t got, gaps, skipped;
    _Atomic uint32_t newest[2][CHANNELS]; /* by the channel's line, by the pattern's */
    unsigned char *seen[CHANNELS];        /* by any line */
    _Atomic bool has_failed;
    char failure[200];
} reader_t;

typedef enum trouble { KILLS, RESTARTS, CUTS } trouble_t;

struct yard {
    redis_process_t *redis;
    shoal_client_t *client;
    shoal_pubsub_t *pubsubs[PUBSUBS];
    shoal_mailbox_t *mailbox;
    size_t messages;             /* of each channel */
    uint16_t *replies[CHANNELS]; /* how many subscriptions the server sent each to */
    _Atomic size_t under_way;
    _Atomic bool is_over;
    _Atomic bool is_stuck; /* the loop, in a callback */
    reader_t by_callback[PUBSUBS];
    reader_t by_mailbox; /* of the first pubsub as well */
};

__attribute__((format(printf, 2, 3))) static void note_failure(reader_t *reader,
                                                               const char *format, ...)
{
    va_list args;

    if (atomic_load(&reader->has_failed))
        return;
    va_start(args, format);
    vsnprintf(reader->failure, sizeof reader->failure, format, args);
    va_end(args);
    atomic_store(&reader->has_failed, true);
}

static unsigned channel_of(const char *name)
{
    return (unsigned)strtoul(name + strlen("ledger:"), NULL, 10);
}

static line_t *line_of(reader_t *reader, const shoal_item_t *item)
{
    size_t bytes;

    if (shoal_item_name_kind(item) == SHOAL_NAME_PATTERN)
        return &reader->lines[CHANNELS];
    return &reader->lines[channel_of(shoal_item_channel(item, &bytes))];
}

static void open_holes(line_t *line)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        line->has_hole[i] = true;
}

static void on_message(reader_t *reader, const shoal_item_t *item)
{
    size_t bytes;
    line_t *line = line_of(reader, item);
    unsigned channel = channel_of(shoal_item_channel(item, &bytes));
    char text[16] = "";
    const char *payload = shoal_item_payload(item, &bytes);

    memcpy(text, payload, bytes < sizeof text ? bytes : sizeof text - 1);
    uint32_t number = (uint32_t)strtoul(text, NULL, 10);
    uint32_t due = line->next[channel];
    if (!line->is_subscribed || line->is_suspended)
        note_failure(reader, "%s: %u of %u before it was confirmed", reader->what,
                     number, channel);
    if (number < due)
        note_failure(reader, "%s: %u of %u behind %u", reader->what, number, channel,
                     due - 1);
    if (number > due && !line->has_hole[channel])
        note_failure(reader, "%s: %u of %u is missing without a mark, %u came",
                     reader->what, due, channel, number);
    if (number > due)
        reader->skipped += number - due;
    line->has_hole[channel] = false;
    line->next[channel] = number + 1;
    reader->seen[channel][number] = 1;
    reader->got++;
    reader->newest[shoal_item_name_kind(item) == SHOAL_NAME_PATTERN][channel] = number;
}

/* Of all names that were confirmed. */
static void on_suspended(reader_t *reader)
{
    for (unsigned i = 0; i < NAMES; i++)
        reader->lines[i].is_suspended = reader->lines[i].is_subscribed;
}

static void on_item(const shoal_item_t *item, void *data)
{
    reader_t *reader = data;

    while (reader->yard->is_stuck)
        waiting_sleep_us(100);
    switch (shoal_item_kind(item)) {
    case SHOAL_ITEM_MESSAGE:
        on_message(reader, item);
        break;
    case SHOAL_ITEM_SUBSCRIBED:
        if (line_of(reader, item)->is_subscribed)
            note_failure(reader, "%s: subscribed twice", reader->what);
        line_of(reader, item)->is_subscribed = true;
        open_holes(line_of(reader, item));
        break;
    case SHOAL_ITEM_GAP:
        reader->gaps++;
        line_of(reader, item)->is_suspended = false;
        open_holes(line_of(reader, item));
        break;
    case SHOAL_ITEM_SUSPENDED:
        on_suspended(reader);
        break;
    case SHOAL_ITEM_DROPPED: /* the mailbox has room for all */
    case SHOAL_ITEM_REJECTED:
        note_failure(reader, "%s: %s", reader->what, shoal_item_detail(item));
        break;
    case SHOAL_ITEM_ENDED:
        break;
    }
}

static void *empty_mailbox(void *data)
{
    yard_t *yard = data;
    const shoal_item_t *items[100];

    while (!yard->is_over) {
        (void)!shoal_mailbox_wait(yard->mailbox, 20000);
        size_t count = shoal_mailbox_take(yard->mailbox, items, 100);
        for (size_t i = 0; i < count; i++)
            on_item(items[i], shoal_item_data(items[i]));
    }
    return NULL;
}

/* ---- the publisher ---- */

static yard_t yard;

static void on_reply(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    uint16_t *reply = data;
    (void)client;

    if (shoal_result_status(result) == 0)
        *reply = (uint16_t)shoal_reply_integer(shoal_result_reply(result));
    else if (shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED)
        *reply = 0;
    yard.under_way--;
}

static void publish(unsigned channel, uint32_t number)
{
    char name[16], text[LARGE_BYTES + 1];
    const char *argv[] = {"PUBLISH", name, text};

    snprintf(name, sizeof name, "ledger:%u", channel);
    snprintf(text, sizeof text, "%-*u", yard.is_stuck ? LARGE_BYTES : 1, number);
    yard.replies[channel][number] = UNKNOWN;
    while (yard.under_way >= UNDER_WAY_MAX)
        waiting_sleep_us(50);
    yard.under_way++;
    assert_int_equal(shoal_client_submit(yard.client, 3, argv, NULL, on_reply,
                                         &yard.replies[channel][number], NULL),
                     0);
}

static uint64_t losses(void)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < PUBSUBS; i++) {
        shoal_pubsub_stats_t stats = SHOAL_PUBSUB_STATS_INIT;
        assert_int_equal(shoal_pubsub_stats(yard.pubsubs[i], &stats), 0);
        count += stats.losses;
    }
    return count;
}

static void kill_subscribers(void)
{
    shoal_result_t *result;

    assert_int_equal(
        shoal_client_callf(yard.client, &result, "CLIENT KILL TYPE pubsub"), 0);
    shoal_result_release(result);
}

static void wait_until_confirmed(void)
{
    for (unsigned i = 0; i < PUBSUBS; i++)
        assert_int_equal(
            shoal_subscription_wait(yard.by_callback[i].subscription, WAITING_US_MAX),
            0);
    assert_int_equal(
        shoal_subscription_wait(yard.by_mailbox.subscription, WAITING_US_MAX), 0);
}

/* Without an answer, because the server was killed, nobody knows: 0. */
static unsigned subscribers(void)
{
    shoal_result_t *result;
    unsigned count = 0;
    size_t bytes = 0;

    assert_int_equal(
        shoal_client_callf(yard.client, &result, "CLIENT LIST TYPE pubsub"), 0);
    const char *text = shoal_reply_string(shoal_result_reply(result), &bytes);
    for (size_t i = 0; i < bytes; i++)
        count += text[i] == '\n';
    shoal_result_release(result);
    return count;
}

/* It is not if most messages came before its connection was back. */
static void await_cut(void)
{
    for (unsigned i = 0; i < 100 && subscribers() > 0; i++)
        waiting_sleep_us(10000);
}

/* One time in four messages go on before the subscriptions are back.  They are when the server
 * has all subscribers, which none of those that it ended is: statistics may lag behind a loss. */
static void make_trouble(trouble_t trouble, unsigned *random)
{
    if (trouble == RESTARTS) {
        redis_process_kill(yard.redis);
        assert_true(redis_process_restart(yard.redis));
    } else if (trouble == KILLS) {
        kill_subscribers();
    } else {
        await_cut();
        yard.is_stuck = false;
    }
    if (live_roll(random) % 4 == 0) {
        redis_process_pause(yard.redis);
        waiting_sleep_us(2000);
        redis_process_resume(yard.redis);
    }
    if (live_roll(random) % 4 == 0)
        return;
    WAIT_FOR(subscribers() == PUBSUBS);
    wait_until_confirmed();
}

static void publish_all(trouble_t trouble)
{
    uint32_t every = trouble == KILLS ? KILL_EVERY : RESTART_EVERY;
    unsigned random = 4711;

    for (uint32_t number = 1; number < yard.messages; number++) {
        for (unsigned i = 0; i < CHANNELS; i++)
            publish(i, number);
        if (number * CHANNELS % every < CHANNELS)
            make_trouble(trouble, &random);
        else if (trouble == CUTS && number * CHANNELS % every > every / 3)
            yard.is_stuck = true;
    }
}

/* ---- a run ---- */

/* The options of the server that the test stops, and a quick return. */
static shoal_options_t *make_options(void)
{
    shoal_options_t *options = live_options_of_port(redis_process_port(yard.redis));
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    return options;
}

static void subscribe(reader_t *reader, const char *what, shoal_pubsub_t *pubsub,
                      shoal_mailbox_t *mailbox)
{
    static const shoal_name_t names[] = {
        {SHOAL_NAME_CHANNEL, "ledger:0", 8},    {SHOAL_NAME_CHANNEL, "ledger:1", 8},
        {SHOAL_NAME_CHANNEL, "ledger:2", 8},    {SHOAL_NAME_CHANNEL, "ledger:3", 8},
        {SHOAL_NAME_CHANNEL, "ledger:4", 8},    {SHOAL_NAME_CHANNEL, "ledger:5", 8},
        {SHOAL_NAME_PATTERN, "l[ea]dger:*", 11}};
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;

    _Static_assert(sizeof names / sizeof *names == NAMES, "one for each line");
    reader->yard = &yard;
    reader->what = what;
    for (unsigned i = 0; i < CHANNELS; i++) {
        reader->seen[i] = calloc(yard.messages + LAST_MAX, 1);
        assert_non_null(reader->seen[i]);
    }
    receiver.on_item = mailbox ? NULL : on_item;
    receiver.mailbox = mailbox;
    receiver.data = reader;
    assert_int_equal(
        shoal_pubsub_subscribe(pubsub, names, NAMES, &receiver, &reader->subscription),
        0);
}

/* What a receiver has seen was sent to it: the server says so itself. */
static void check_reader(const reader_t *reader)
{
    size_t unknown = 0;

    if (reader->has_failed)
        fail_msg("%s", reader->failure);
    for (unsigned i = 0; i < CHANNELS; i++) {
        for (size_t number = 0; number < yard.messages + LAST_MAX; number++) {
            unknown += yard.replies[i][number] == UNKNOWN;
            if (reader->seen[i][number] && yard.replies[i][number] == 0)
                fail_msg("%s: %zu of %u has come, and reached nobody", reader->what,
                         number, i);
        }
    }
    print_message("%s: %zu messages, %zu unknown: got %zu, skipped %zu behind %zu "
                  "gaps; %zu losses of all pubsubs\n",
                  reader->what, yard.messages * CHANNELS, unknown, (size_t)reader->got,
                  (size_t)reader->skipped, (size_t)reader->gaps, (size_t)losses());
}

static bool has_all(const reader_t *reader, uint32_t number)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        if (reader->newest[0][i] != number || reader->newest[1][i] != number)
            return reader->has_failed;
    return true;
}

/* Publishes to all channels; whether the server had a channel and a pattern of each pubsub to
 * send them to. */
static bool publish_to_both(uint32_t number)
{
    unsigned both = 0;

    wait_until_confirmed();
    for (unsigned i = 0; i < CHANNELS; i++)
        publish(i, number);
    WAIT_FOR(yard.under_way == 0);
    for (unsigned i = 0; i < CHANNELS; i++)
        both += yard.replies[i][number] == 2 * PUBSUBS;
    return both == CHANNELS;
}

/* Without troubles a last message reaches every line; it may be a later one, because a loss
 * may not be known yet. */
static void publish_last(void)
{
    uint32_t number = (uint32_t)yard.messages;

    yard.is_stuck = false;
    while (!publish_to_both(number)) {
        number++;
        waiting_sleep_us(10000);
        assert_true(number < yard.messages + LAST_MAX);
    }
    for (unsigned i = 0; i < PUBSUBS; i++)
        WAIT_FOR(has_all(&yard.by_callback[i], number));
    WAIT_FOR(has_all(&yard.by_mailbox, number));
}

/* Of what the server holds for a subscriber; it needs no disk. */
static const char *const limits[] = {"--client-output-buffer-limit", "pubsub 1mb 0 0",
                                     "--save", "", NULL};

static void begin(size_t messages)
{
    shoal_options_t *options;

    memset(&yard, 0, sizeof yard);
    yard.messages = messages / CHANNELS;
    yard.redis = redis_process_start(limits);
    if (!yard.redis)
        skip();
    for (unsigned i = 0; i < CHANNELS; i++) {
        yard.replies[i] = calloc(yard.messages + LAST_MAX, sizeof *yard.replies[i]);
        assert_non_null(yard.replies[i]);
    }
    yard.client = live_open(make_options());
    options = make_options();
    for (unsigned i = 0; i < PUBSUBS; i++)
        assert_int_equal(shoal_pubsub_open(options, &yard.pubsubs[i], NULL), 0);
    shoal_options_free(options);
    assert_int_equal(
        shoal_mailbox_new(MAILBOX_MAX, 0, SHOAL_OVERFLOW_NEWEST, &yard.mailbox), 0);
}

static void finish(void)
{
    shoal_subscription_close(yard.by_mailbox.subscription);
    for (unsigned i = 0; i < PUBSUBS; i++) {
        shoal_subscription_close(yard.by_callback[i].subscription);
        assert_int_equal(shoal_pubsub_close_and_wait(yard.pubsubs[i]), 0);
        shoal_pubsub_release(yard.pubsubs[i]);
    }
    shoal_mailbox_free(yard.mailbox);
    live_finish(yard.client);
    redis_process_stop(yard.redis);
    for (unsigned i = 0; i < CHANNELS; i++) {
        free(yard.replies[i]);
        for (unsigned n = 0; n < PUBSUBS; n++)
            free(yard.by_callback[n].seen[i]);
        free(yard.by_mailbox.seen[i]);
    }
}

/* Messages are on their way already when the subscriptions begin. */
static void run(size_t messages, trouble_t trouble)
{
    pthread_t thread;

    begin(messages);
    assert_int_equal(pthread_create(&thread, NULL, empty_mailbox, &yard), 0);
    for (unsigned i = 0; i < CHANNELS; i++)
        publish(i, 0);
    for (unsigned i = 0; i < PUBSUBS; i++)
        subscribe(&yard.by_callback[i], "by callback", yard.pubsubs[i], NULL);
    subscribe(&yard.by_mailbox, "by mailbox", yard.pubsubs[0], yard.mailbox);
    uint64_t since_us = waiting_now_us();
    publish_all(trouble);
    print_message("%.1f losses in a second\n",
                  (double)losses() * 1e6 / (double)(waiting_now_us() - since_us));
    publish_last();
    yard.is_over = true;
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < PUBSUBS; i++) {
        check_reader(&yard.by_callback[i]);
        assert_true(yard.by_callback[i].gaps > 0);
    }
    check_reader(&yard.by_mailbox);
    finish();
}

static void test_killed_connections(void **state)
{
    (void)state;
    run(live_scaled(40000), KILLS);
}

static void test_restarted_servers(void **state)
{
    (void)state;
    run(live_scaled(36000), RESTARTS);
}

static void test_slow_readers(void **state)
{
    (void)state;
    run(live_scaled(36000), CUTS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_connections),
        cmocka_unit_test(test_restarted_servers),
        cmocka_unit_test(test_slow_readers),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("integration/pubsub_ledger", tests, NULL, NULL);
}
