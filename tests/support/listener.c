/* SPDX-License-Identifier: MIT */
#include "support/listener.h"

#include <stdio.h>
#include <string.h>

#define NAMES_MAX 64

typedef struct names {
    char text[2048];
    shoal_name_t items[NAMES_MAX];
    size_t count;
} names_t;

static shoal_name_kind_t kind_of(char **word)
{
    static const char letters[] = "cpsk";
    const char *letter;

    if ((*word)[0] == '\0' || (*word)[1] != ':')
        return SHOAL_NAME_CHANNEL;
    letter = strchr(letters, (*word)[0]);
    *word += 2;
    return (shoal_name_kind_t)(letter - letters);
}

static void parse(names_t *names, const char *text)
{
    char *rest;

    names->count = 0;
    snprintf(names->text, sizeof names->text, "%s", text);
    for (char *word = strtok_r(names->text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        shoal_name_t *name = &names->items[names->count++];
        name->kind = kind_of(&word);
        name->data = word;
        name->bytes = strlen(word);
    }
}

static void write_item(char *line, size_t bytes, const shoal_item_t *item)
{
    size_t payload_bytes;
    const char *channel = shoal_item_channel(item, NULL);
    const char *pattern = shoal_item_pattern(item, NULL);
    const char *payload = shoal_item_payload(item, &payload_bytes);
    static const char signs[] = "=+~?#!.";
    shoal_item_kind_t kind = shoal_item_kind(item);

    if (kind == SHOAL_ITEM_MESSAGE)
        snprintf(line, bytes, "%s%s%s=%.*s ", pattern ? pattern : "",
                 pattern ? ">" : "", channel, (int)payload_bytes, payload);
    else
        snprintf(line, bytes, "%c%s ", signs[kind], channel ? channel : "");
}

void listener_on_item(const shoal_item_t *item, void *data)
{
    listener_t *listener = data;
    char line[2048];

    write_item(line, sizeof line, item);
    pthread_mutex_lock(&listener->lock);
    listener->items++;
    listener->epoch = shoal_item_epoch(item);
    if (shoal_item_kind(item) == SHOAL_ITEM_GAP)
        listener->reason = shoal_item_reason(item);
    if (shoal_item_detail(item)[0])
        snprintf(listener->detail, sizeof listener->detail, "%s",
                 shoal_item_detail(item));
    if (listener->bytes + strlen(line) < LISTENER_BYTES) {
        memcpy(listener->heard + listener->bytes, line, strlen(line) + 1);
        listener->bytes += strlen(line);
    }
    pthread_mutex_unlock(&listener->lock);
    if (listener->act)
        listener->act(listener, item);
}

void listener_begin(listener_t *listener, shoal_pubsub_t *pubsub, const char *text)
{
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    names_t names;

    parse(&names, text);
    listener->bytes = 0;
    listener->items = 0;
    listener->heard[0] = listener->detail[0] = '\0';
    pthread_mutex_init(&listener->lock, NULL);
    receiver.on_item = listener_on_item;
    receiver.data = listener;
    assert_int_equal(shoal_pubsub_subscribe(pubsub, names.items, names.count, &receiver,
                                            &listener->subscription),
                     0);
}

void listener_end(listener_t *listener)
{
    shoal_subscription_close(listener->subscription);
    pthread_mutex_destroy(&listener->lock);
}

void listener_add(listener_t *listener, const char *text)
{
    names_t names;

    parse(&names, text);
    assert_int_equal(
        shoal_subscription_add(listener->subscription, names.items, names.count), 0);
}

void listener_remove(listener_t *listener, const char *text)
{
    names_t names;

    parse(&names, text);
    assert_int_equal(
        shoal_subscription_remove(listener->subscription, names.items, names.count), 0);
}

bool listener_has(listener_t *listener, const char *text)
{
    pthread_mutex_lock(&listener->lock);
    bool has = strstr(listener->heard, text) != NULL;
    pthread_mutex_unlock(&listener->lock);
    return has;
}

void listener_hears(listener_t *listener, const char *text, const char *file, int line)
{
    uint64_t since_us = waiting_now_us();
    bool is_it = false;

    while (!is_it) {
        pthread_mutex_lock(&listener->lock);
        is_it = strcmp(listener->heard, text) == 0;
        bool is_other = !is_it && (listener->bytes >= strlen(text) ||
                                   waiting_now_us() - since_us > WAITING_US_MAX);
        if (is_other) /* it will not come any more */
            print_error("heard: %s\nwanted: %s\n", listener->heard, text);
        if (is_it) {
            listener->bytes = 0;
            listener->heard[0] = '\0';
        }
        pthread_mutex_unlock(&listener->lock);
        if (is_other)
            _fail(file, line);
        if (!is_it)
            waiting_sleep_us(200);
    }
}

void listener_wait(listener_t *listener)
{
    assert_int_equal(shoal_subscription_wait(listener->subscription, WAITING_US_MAX),
                     0);
}

shoal_pubsub_stats_t listener_stats(shoal_pubsub_t *pubsub)
{
    shoal_pubsub_stats_t stats = SHOAL_PUBSUB_STATS_INIT;

    assert_int_equal(shoal_pubsub_stats(pubsub, &stats), 0);
    return stats;
}
