/* SPDX-License-Identifier: MIT */
#include "feed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define STEPS_MAX 8
#define STEP_US 10000
#define CHANNELS 64 /* of a list that are remembered, so that they are written once */

struct shoalpy_hub {
    shoal_pubsub_t *pubsub;
    bool is_borrowed;
    bool is_closed;
    _Atomic size_t users; /* its owner, and its feeds */
    pthread_mutex_t lock; /* of what follows */
    shoalpy_feed_t *feeds;
    uint64_t numbered; /* feeds so far */
    shoalpy_events_t events;
};

struct shoalpy_feed {
    shoalpy_hub_t *hub;
    shoalpy_feed_t *next, **link;   /* of the hub's feeds: under its lock */
    bool is_awaited, is_confirming; /* likewise */
    uint64_t number;
    shoal_mailbox_t *mailbox;
    shoal_subscription_t *subscription;
    shoalpy_stream_t stream;
};

/* ---- hubs ---- */

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    shoalpy_hub_t *hub = data;

    (void)client;
    pthread_mutex_lock(&hub->lock);
    shoalpy_events_keep(&hub->events, event);
    pthread_mutex_unlock(&hub->lock);
}

size_t shoalpy_hub_events(shoalpy_hub_t *hub, shoalpy_event_t *events, size_t count_max,
                          uint64_t *ret_lost)
{
    size_t count;

    pthread_mutex_lock(&hub->lock);
    count = shoalpy_events_take(&hub->events, events, count_max, ret_lost);
    pthread_mutex_unlock(&hub->lock);
    return count;
}

int shoalpy_hub_open(shoal_options_t *options, bool is_borrowed,
                     shoalpy_hub_t **ret_hub, shoal_error_t *ret_error)
{
    shoalpy_hub_t *hub = calloc(1, sizeof *hub);
    int rc;

    if (!hub)
        return SHOAL_ENOMEM;
    if (pthread_mutex_init(&hub->lock, NULL) != 0) {
        free(hub);
        return SHOAL_ESYSTEM;
    }
    hub->is_borrowed = is_borrowed;
    atomic_init(&hub->users, 1);
    rc = shoal_options_set_on_event(options, on_event, hub);
    if (rc == 0)
        rc = is_borrowed ? shoal_pubsub_open_borrowed(options, &hub->pubsub, ret_error)
                         : shoal_pubsub_open(options, &hub->pubsub, ret_error);
    if (rc < 0) {
        pthread_mutex_destroy(&hub->lock);
        free(hub);
        return rc;
    }
    *ret_hub = hub;
    return 0;
}

static void leave(shoalpy_hub_t *hub)
{
    if (atomic_fetch_sub(&hub->users, 1) != 1)
        return;
    shoal_pubsub_release(hub->pubsub);
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}

void shoalpy_hub_free(shoalpy_hub_t *hub)
{
    if (hub)
        leave(hub);
}

bool shoalpy_hub_close(shoalpy_hub_t *hub, uint64_t wait_us)
{
    if (!hub->is_borrowed)
        return shoal_pubsub_close_and_wait(hub->pubsub) != SHOAL_ELOOP;
    if (!hub->is_closed)
        (void)shoal_pubsub_close(hub->pubsub, NULL, NULL);
    hub->is_closed = true;
    for (uint64_t waited_us = 0;; waited_us += STEP_US) {
        if (shoal_pubsub_step(hub->pubsub, waited_us ? STEP_US : 0) != 0)
            return true;
        if (waited_us >= wait_us)
            return false;
    }
}

void shoalpy_hub_forget(shoalpy_hub_t *hub)
{
    (void)shoal_pubsub_after_fork_child(hub->pubsub);
}

bool shoalpy_hub_is_connected(shoalpy_hub_t *hub)
{
    shoal_pubsub_stats_t stats = SHOAL_PUBSUB_STATS_INIT;

    return shoal_pubsub_stats(hub->pubsub, &stats) == 0 && stats.is_connected_now;
}

int shoalpy_hub_stats(shoalpy_hub_t *hub, shoal_pubsub_stats_t *ret_stats)
{
    ret_stats->size = sizeof *ret_stats;
    return shoal_pubsub_stats(hub->pubsub, ret_stats);
}

int shoalpy_hub_set_credentials(shoalpy_hub_t *hub, const char *user,
                                const char *password)
{
    return shoal_pubsub_set_credentials(hub->pubsub, user, password);
}

bool shoalpy_hub_is_probed(shoalpy_hub_t *hub)
{
    shoal_pubsub_stats_t stats = SHOAL_PUBSUB_STATS_INIT;

    return shoal_pubsub_stats(hub->pubsub, &stats) == 0 && stats.probe_us_now > 0;
}

void shoalpy_hub_set_prober(shoalpy_hub_t *hub, shoalpy_core_t *core)
{
    (void)shoal_pubsub_set_prober(hub->pubsub, core->client);
}

int shoalpy_hub_fd(const shoalpy_hub_t *hub)
{
    return shoal_pubsub_fd(hub->pubsub);
}

static bool is_ready(shoalpy_feed_t *feed)
{
    int rc;

    if (shoal_mailbox_count(feed->mailbox) > 0)
        return true;
    if (!feed->is_confirming)
        return false;
    rc = shoal_subscription_wait(feed->subscription, 0);
    return rc != SHOAL_ETIMEOUT && rc != SHOAL_ELOOP;
}

static size_t collect(shoalpy_hub_t *hub, uint64_t *ready, size_t ready_max)
{
    size_t count = 0;

    pthread_mutex_lock(&hub->lock);
    for (shoalpy_feed_t *feed = hub->feeds; feed && count < ready_max;
         feed = feed->next) {
        if (!feed->is_awaited || !is_ready(feed))
            continue;
        feed->is_awaited = feed->is_confirming = false;
        ready[count++] = feed->number;
    }
    pthread_mutex_unlock(&hub->lock);
    return count;
}

int64_t shoalpy_hub_pump(shoalpy_hub_t *hub, uint64_t *ready, size_t ready_max)
{
    int64_t wait_us = 0;
    size_t count;
    int rc = 0;

    for (int i = 0; i < STEPS_MAX && wait_us == 0 && rc == 0; i++) {
        rc = shoal_pubsub_step(hub->pubsub, 0);
        wait_us = shoal_pubsub_wait_us(hub->pubsub);
    }
    count = collect(hub, ready, ready_max);
    if (rc < 0 && count == 0)
        return rc;
    return (int64_t)count * 2 + (count == ready_max || (rc == 0 && wait_us == 0));
}

/* ---- feeds ---- */

static void enlist(shoalpy_feed_t *feed)
{
    shoalpy_hub_t *hub = feed->hub;

    pthread_mutex_lock(&hub->lock);
    feed->number = ++hub->numbered;
    feed->next = hub->feeds;
    feed->link = &hub->feeds;
    if (feed->next)
        feed->next->link = &feed->next;
    hub->feeds = feed;
    pthread_mutex_unlock(&hub->lock);
    atomic_fetch_add(&hub->users, 1);
}

int shoalpy_feed_open(shoalpy_hub_t *hub, const shoal_name_t *names, size_t count,
                      size_t messages_max, uint64_t bytes_max, int overflow,
                      shoalpy_feed_t **ret_feed)
{
    shoalpy_feed_t *feed = calloc(1, sizeof *feed);
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    int rc;

    if (!feed)
        return SHOAL_ENOMEM;
    feed->hub = hub;
    rc = shoal_mailbox_new(messages_max, bytes_max, (shoal_overflow_t)overflow,
                           &feed->mailbox);
    receiver.mailbox = feed->mailbox;
    if (rc == 0)
        rc = shoal_pubsub_subscribe(hub->pubsub, names, count, &receiver,
                                    &feed->subscription);
    if (rc < 0) {
        shoal_mailbox_free(feed->mailbox);
        free(feed);
        return rc;
    }
    enlist(feed);
    *ret_feed = feed;
    return 0;
}

void shoalpy_feed_free(shoalpy_feed_t *feed)
{
    if (!feed)
        return;
    pthread_mutex_lock(&feed->hub->lock);
    *feed->link = feed->next;
    if (feed->next)
        feed->next->link = feed->link;
    pthread_mutex_unlock(&feed->hub->lock);
    shoal_subscription_close(feed->subscription);
    shoal_mailbox_free(feed->mailbox);
    shoalpy_stream_release(&feed->stream);
    leave(feed->hub);
    free(feed);
}

uint64_t shoalpy_feed_number(const shoalpy_feed_t *feed)
{
    return feed->number;
}

int shoalpy_feed_add(shoalpy_feed_t *feed, const shoal_name_t *names, size_t count)
{
    return shoal_subscription_add(feed->subscription, names, count);
}

int shoalpy_feed_remove(shoalpy_feed_t *feed, const shoal_name_t *names, size_t count)
{
    return shoal_subscription_remove(feed->subscription, names, count);
}

int shoalpy_feed_wait_confirmed(shoalpy_feed_t *feed, uint64_t wait_us)
{
    return shoal_subscription_wait(feed->subscription, wait_us);
}

int shoalpy_feed_wait(shoalpy_feed_t *feed, uint64_t wait_us)
{
    return shoal_mailbox_wait(feed->mailbox, wait_us);
}

int shoalpy_feed_fd(shoalpy_feed_t *feed)
{
    return shoal_mailbox_fd(feed->mailbox);
}

void shoalpy_feed_await(shoalpy_feed_t *feed, bool is_confirming)
{
    pthread_mutex_lock(&feed->hub->lock);
    feed->is_awaited = true;
    feed->is_confirming |= is_confirming;
    pthread_mutex_unlock(&feed->hub->lock);
}

/* ---- items ---- */

typedef struct text {
    const char *data;
    size_t bytes;
} text_t;

/* The names that a list has already; pickle finds them by the order of their memo. */
typedef struct writer {
    shoalpy_stream_t *stream;
    bool as_text;
    bool has_marks;
    unsigned memos;
    struct {
        text_t name;
        unsigned char memo;
    } seen[CHANNELS];
} writer_t;

static void write_text(writer_t *writer, const char *data, size_t bytes)
{
    if (!data)
        shoalpy_stream_opcode(writer->stream, OP_NONE);
    else if (writer->as_text && shoalpy_is_text(data, bytes))
        shoalpy_stream_text(writer->stream, data, bytes);
    else
        shoalpy_stream_short_bytes(writer->stream, data, bytes);
}

static unsigned slot_of(const char *data, size_t bytes)
{
    unsigned hash = (unsigned)bytes;

    /* Names often differ at their ends. */
    for (size_t i = bytes > 8 ? bytes - 8 : 0; i < bytes; i++)
        hash = hash * 31 + (unsigned char)data[i];
    return hash % CHANNELS;
}

static void write_name(writer_t *writer, const char *data, size_t bytes)
{
    unsigned slot;
    const text_t *seen;

    if (!data) {
        shoalpy_stream_opcode(writer->stream, OP_NONE);
        return;
    }
    slot = slot_of(data, bytes);
    seen = &writer->seen[slot].name;
    if (seen->data && seen->bytes == bytes && memcmp(seen->data, data, bytes) == 0) {
        shoalpy_stream_opcode(writer->stream, OP_BINGET);
        shoalpy_stream_opcode(writer->stream, writer->seen[slot].memo);
        return;
    }
    write_text(writer, data, bytes);
    if (writer->memos > UINT8_MAX)
        return;
    shoalpy_stream_opcode(writer->stream, OP_MEMOIZE);
    writer->seen[slot].name = (text_t){data, bytes};
    writer->seen[slot].memo = (unsigned char)writer->memos++;
}

static void write_message(writer_t *writer, const shoal_item_t *item)
{
    size_t bytes;
    const char *data = shoal_item_channel(item, &bytes);

    write_name(writer, data, bytes);
    data = shoal_item_payload(item, &bytes);
    write_text(writer, data, bytes);
    data = shoal_item_pattern(item, &bytes);
    if (shoal_item_name_kind(item) == SHOAL_NAME_SHARD) {
        writer->has_marks = true;
        shoalpy_stream_integer(writer->stream, SHOAL_NAME_SHARD);
    } else {
        write_name(writer, data, bytes);
    }
    shoalpy_stream_opcode(writer->stream, OP_TUPLE3);
}

static void write_mark(writer_t *writer, const shoal_item_t *item)
{
    shoalpy_stream_t *stream = writer->stream;
    const char *detail = shoal_item_detail(item);
    size_t bytes;
    const char *name = shoal_item_channel(item, &bytes);

    writer->has_marks = true;
    shoalpy_stream_opcode(stream, OP_MARK);
    shoalpy_stream_integer(stream, (int64_t)shoal_item_kind(item));
    shoalpy_stream_integer(stream, (int64_t)shoal_item_name_kind(item));
    write_text(writer, name, bytes);
    shoalpy_stream_integer(stream, (int64_t)shoal_item_count(item));
    shoalpy_stream_integer(stream, (int64_t)shoal_item_reason(item));
    shoalpy_stream_bytes(stream, detail, strlen(detail));
    shoalpy_stream_integer(stream, (int64_t)shoal_item_epoch(item));
    shoalpy_stream_opcode(stream, OP_TUPLE);
}

int64_t shoalpy_feed_take(shoalpy_feed_t *feed, size_t count_max, bool as_text)
{
    writer_t writer = {.stream = &feed->stream, .as_text = as_text};
    const shoal_item_t *items[SHOALPY_FEED_ITEMS_MAX];
    size_t count;

    if (count_max > SHOALPY_FEED_ITEMS_MAX)
        count_max = SHOALPY_FEED_ITEMS_MAX;
    count = shoal_mailbox_take(feed->mailbox, items, count_max);
    if (count == 0) { /* a feed that is idle holds no memory */
        shoalpy_stream_release(&feed->stream);
        return 0;
    }
    shoalpy_stream_begin(&feed->stream);
    shoalpy_stream_opcode(&feed->stream, OP_EMPTY_LIST);
    shoalpy_stream_opcode(&feed->stream, OP_MARK);
    for (size_t i = 0; i < count; i++) {
        if (shoal_item_kind(items[i]) == SHOAL_ITEM_MESSAGE)
            write_message(&writer, items[i]);
        else
            write_mark(&writer, items[i]);
    }
    shoalpy_stream_opcode(&feed->stream, OP_APPENDS);
    if (!shoalpy_stream_end(&feed->stream))
        return SHOAL_ENOMEM;
    return (int64_t)feed->stream.bytes * 2 + writer.has_marks;
}

const char *shoalpy_feed_data(const shoalpy_feed_t *feed)
{
    return feed->stream.data;
}
