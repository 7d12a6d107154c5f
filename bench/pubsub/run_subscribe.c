/* SPDX-License-Identifier: MIT */

/* Receiving with the library: a callback on the thread of a pubsub, or a mailbox that a thread
 * of ours empties. */

#include "load/shoal_load.h"
#include "pubsub/publisher.h"
#include "pubsub/receipts.h"

#include <shoal/mailbox.h>
#include <shoal/pubsub.h>
#include <stdlib.h>
#include <string.h>

#define CONFIRMED_US 5000000u
#define WAIT_US 50000u /* between two looks at the phase */
#define TAKE_MAX 256u

/* A subscription beside, whose mailbox nobody empties. */
typedef struct sleeper {
    shoal_mailbox_t *mailbox;
    shoal_subscription_t *subscription;
} sleeper_t;

typedef struct subscribe_load {
    run_t *run;
    publisher_t publisher;
    receipts_t receipts;
    shoal_pubsub_t *pubsub;
    shoal_subscription_t *subscription;
    shoal_mailbox_t *mailbox; /* NULL: callbacks */
    crew_t crew;              /* takes from the mailbox */
    sleeper_t *sleepers;      /* strategy->sleepers */
} subscribe_load_t;

/* What is missing where a mark stands shows in the numbers of the messages. */
static void on_mark(subscribe_load_t *load, const shoal_item_t *item)
{
    shoal_item_kind_t kind = shoal_item_kind(item);

    if (kind == SHOAL_ITEM_REJECTED)
        run_fail(load->run, "%s", shoal_item_detail(item));
    if (kind == SHOAL_ITEM_ENDED && run_phase(load->run) != RUN_STOPPING)
        run_fail(load->run, "the subscription has ended");
}

static void on_item(const shoal_item_t *item, void *data)
{
    subscribe_load_t *load = data;
    size_t bytes;

    if (shoal_item_kind(item) != SHOAL_ITEM_MESSAGE) {
        on_mark(load, item);
        return;
    }
    const char *payload = shoal_item_payload(item, &bytes);
    receipts_note(&load->receipts, payload, bytes);
}

static void *take(void *member)
{
    subscribe_load_t *load = member;
    const shoal_item_t *items[TAKE_MAX];

    while (run_phase(load->run) != RUN_STOPPING) {
        (void)!shoal_mailbox_wait(load->mailbox, WAIT_US);
        size_t count = shoal_mailbox_take(load->mailbox, items, TAKE_MAX);
        for (size_t i = 0; i < count; i++)
            on_item(items[i], load);
    }
    return NULL;
}

/* Subscribes to all channels, into the mailbox or, if it is NULL, by callbacks. */
static int subscribe(subscribe_load_t *load, shoal_mailbox_t *mailbox,
                     shoal_subscription_t **ret_subscription)
{
    size_t count = publisher_channels(load->run->options);
    shoal_name_t *names = calloc(count, sizeof *names);
    char(*texts)[PUBLISHER_CHANNEL_BYTES] = calloc(count, sizeof *texts);
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    int rc = SHOAL_ENOMEM;

    receiver.mailbox = mailbox;
    receiver.on_item = mailbox ? NULL : on_item;
    receiver.data = load;
    if (names && texts) {
        for (size_t i = 0; i < count; i++) {
            publisher_channel(i, texts[i], sizeof *texts);
            names[i] = (shoal_name_t){SHOAL_NAME_CHANNEL, texts[i], strlen(texts[i])};
        }
        rc = shoal_pubsub_subscribe(load->pubsub, names, count, &receiver,
                                    ret_subscription);
    }
    free(names);
    free(texts);
    if (rc == 0)
        rc = shoal_subscription_wait(*ret_subscription, CONFIRMED_US);
    return rc == 0 ? 0 : run_fail(load->run, "%s", shoal_strerror(rc));
}

static int subscribe_sleepers(subscribe_load_t *load)
{
    static const shoal_overflow_t policies[] = {
        SHOAL_OVERFLOW_NEWEST, SHOAL_OVERFLOW_OLDEST, SHOAL_OVERFLOW_END};
    uint64_t count = load->run->strategy->sleepers;

    load->sleepers = calloc(count + 1, sizeof *load->sleepers);
    if (!load->sleepers)
        return run_fail(load->run, "out of memory");
    for (uint64_t i = 0; i < count; i++) {
        sleeper_t *sleeper = &load->sleepers[i];
        if (shoal_mailbox_new(0, 0, policies[i % 3], &sleeper->mailbox) != 0)
            return run_fail(load->run, "out of memory");
        if (subscribe(load, sleeper->mailbox, &sleeper->subscription) < 0)
            return -1;
    }
    return 0;
}

static void close_sleepers(subscribe_load_t *load)
{
    for (uint64_t i = 0; load->sleepers && i < load->run->strategy->sleepers; i++) {
        shoal_subscription_close(load->sleepers[i].subscription);
        shoal_mailbox_free(load->sleepers[i].mailbox);
    }
    free(load->sleepers);
}

static int open_pubsub(subscribe_load_t *load)
{
    shoal_options_t *options = shoal_load_options(load->run);
    if (!options)
        return -1;

    int rc = shoal_pubsub_open(options, &load->pubsub, NULL);
    shoal_options_free(options);
    return rc == 0 ? 0 : run_fail(load->run, "%s", shoal_strerror(rc));
}

static int start(run_t *run)
{
    subscribe_load_t *load = calloc(1, sizeof *load);

    run->load = load;
    if (!load)
        return run_fail(run, "out of memory");
    load->run = run;
    if (publisher_start(&load->publisher, run) < 0)
        return -1;
    receipts_init(&load->receipts, run, load->publisher.credits);
    if (run->strategy->mode == MODE_MAILBOX &&
        shoal_mailbox_new(0, 0, SHOAL_OVERFLOW_NEWEST, &load->mailbox) != 0)
        return run_fail(run, "out of memory");
    if (open_pubsub(load) < 0)
        return -1;
    if (load->mailbox && crew_start(&load->crew, run, 1, take, load, 0) < 0)
        return -1;
    if (subscribe(load, load->mailbox, &load->subscription) < 0 ||
        subscribe_sleepers(load) < 0)
        return -1;
    return publisher_go(&load->publisher);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const subscribe_load_t *load = run->load;
    *ret_counters =
        (load_counters_t){.has_messages = true, .lost_messages = load->receipts.lost};
}

static void stop(run_t *run)
{
    subscribe_load_t *load = run->load;
    if (!load)
        return;
    publisher_stop(&load->publisher);
    crew_join(&load->crew);
    shoal_subscription_close(load->subscription);
    close_sleepers(load);
    if (load->pubsub)
        shoal_pubsub_close_and_wait(load->pubsub);
    shoal_pubsub_release(load->pubsub);
    shoal_mailbox_free(load->mailbox);
    free(load);
}

const load_kind_t load_subscribe = {start, count, stop};
