/* SPDX-License-Identifier: MIT */
#include "core/push/subscriptions.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "resp/key_slot.h"
#include <shoal/errors.h>

#define AGAIN_US 50000     /* before what the server turned away is asked again ... */
#define NO_MEMORY_US 10000 /* ... and what there was no memory for */

void shoal__subscriptions_init(shoal__subscriptions_t *subscriptions, uint64_t seed,
                               shoal__mark_fn on_mark, void *owner)
{
    *subscriptions = (shoal__subscriptions_t){
        .on_mark = on_mark, .owner = owner, .loss = SHOAL_GAP_LOST};
    shoal__topics_init(&subscriptions->topics, seed);
    shoal__list_init(&subscriptions->listeners);
    for (size_t i = 0; i < 6; i++)
        shoal__list_init(&subscriptions->pending[i]);
}

static void forget_askings(shoal__subscriptions_t *subscriptions)
{
    for (; subscriptions->count > 0; subscriptions->count--) {
        shoal__free(subscriptions->askings[subscriptions->first]);
        subscriptions->first = (subscriptions->first + 1) % SHOAL__REQUESTS_MAX;
    }
}

void shoal__subscriptions_release(shoal__subscriptions_t *subscriptions)
{
    forget_askings(subscriptions);
    shoal__topics_release(&subscriptions->topics);
}

/* ---- marks ---- */

static void mark(shoal__subscriptions_t *subscriptions, const shoal__topic_t *topic,
                 shoal__listener_t *listener, shoal_item_t item)
{
    item.channel = shoal__topic_name(topic);
    subscriptions->on_mark(subscriptions->owner, listener, &item);
}

static shoal_name_kind_t kind_for(const shoal__topic_t *topic, const shoal__ear_t *ear)
{
    return ear->is_keyspace ? SHOAL_NAME_KEYSPACE : (shoal_name_kind_t)topic->kind;
}

/* The server sends the topic's messages from now on. */
static void tell_confirmed(shoal__subscriptions_t *subscriptions, shoal__topic_t *topic,
                           shoal__ear_t *ear)
{
    shoal_item_t item = {.kind = ear->is_told ? SHOAL_ITEM_GAP : SHOAL_ITEM_SUBSCRIBED,
                         .name_kind = kind_for(topic, ear)};

    if (ear->is_told) {
        item.reason = (shoal_gap_reason_t)topic->reason;
        shoal__counter_add(&subscriptions->gaps, 1);
    }
    ear->is_told = true;
    shoal__counter_add(&ear->listener->confirmed, 1);
    mark(subscriptions, topic, ear->listener, item);
}

/* It does not any more.  Listeners hear of that when it does again. */
static void unconfirm(shoal__subscriptions_t *subscriptions, shoal__topic_t *topic,
                      shoal_gap_reason_t reason)
{
    if (!topic->is_confirmed)
        return;
    topic->is_confirmed = false;
    topic->reason = (unsigned)reason & 7;
    if (topic->ears_count > 0)
        shoal__counter_add(&subscriptions->confirmed, (uint64_t)-1);
    for (uint32_t i = 0; i < topic->ears_count; i++)
        shoal__counter_add(&topic->ears[i].listener->confirmed, (uint64_t)-1);
}

/* ---- what is wanted, and what was asked ---- */

/* Whatever happened to the topic: is the server to be asked?  It may be freed. */
static void wish(shoal__subscriptions_t *subscriptions, shoal__topic_t *topic)
{
    bool is_wanted = topic->ears_count > 0;

    shoal__list_remove(&topic->pending);
    if (is_wanted != topic->is_asked)
        shoal__list_append(&subscriptions->pending[(size_t)topic->kind * 2 + is_wanted],
                           &topic->pending);
    else if (!is_wanted && topic->references == 0)
        shoal__topics_drop(&subscriptions->topics, topic);
}

void shoal__subscriptions_join(shoal__subscriptions_t *subscriptions,
                               shoal__listener_t *listener)
{
    shoal__list_append(&subscriptions->listeners, &listener->node);
}

int shoal__subscriptions_add(shoal__subscriptions_t *subscriptions,
                             shoal__listener_t *listener, shoal_name_kind_t kind,
                             shoal__bytes_t name)
{
    shoal__topic_t *topic =
        shoal__topics_add(&subscriptions->topics, shoal__topic_kind(kind, name), name);
    shoal__ear_t *ear;

    if (!topic)
        return SHOAL_ENOMEM;
    if (topic->limit == 0)
        topic->limit = SHOAL__REQUEST_NAMES_MAX;
    if (shoal__topic_ear(topic, listener))
        return 0;
    ear = shoal__topic_listen(topic, listener);
    if (!ear) {
        wish(subscriptions, topic);
        return SHOAL_ENOMEM;
    }
    ear->is_keyspace = kind == SHOAL_NAME_KEYSPACE;
    if (topic->ears_count == 1) {
        shoal__counter_add(&subscriptions->wanted, 1);
        shoal__counter_add(&subscriptions->confirmed, topic->is_confirmed);
    }
    wish(subscriptions, topic);
    if (topic->is_confirmed)
        tell_confirmed(subscriptions, topic, ear);
    return 0;
}

/* The ear leaves; the topic may be freed. */
static void leave(shoal__subscriptions_t *subscriptions, shoal__topic_t *topic,
                  shoal__ear_t *ear)
{
    if (topic->is_confirmed)
        shoal__counter_add(&ear->listener->confirmed, (uint64_t)-1);
    shoal__topic_leave(topic, ear);
    if (topic->ears_count == 0) {
        shoal__counter_add(&subscriptions->wanted, (uint64_t)-1);
        shoal__counter_add(&subscriptions->confirmed,
                           (uint64_t) - (int64_t)topic->is_confirmed);
    }
    wish(subscriptions, topic);
}

void shoal__subscriptions_remove(shoal__subscriptions_t *subscriptions,
                                 shoal__listener_t *listener, shoal_name_kind_t kind,
                                 shoal__bytes_t name)
{
    shoal__topic_t *topic =
        shoal__topics_find(&subscriptions->topics, shoal__topic_kind(kind, name), name);
    shoal__ear_t *ear = topic ? shoal__topic_ear(topic, listener) : NULL;

    if (ear)
        leave(subscriptions, topic, ear);
}

void shoal__subscriptions_leave(shoal__subscriptions_t *subscriptions,
                                shoal__listener_t *listener)
{
    uint64_t count;

    while ((count = shoal__counter_get(&listener->count)) > 0) {
        shoal__topic_t *topic = listener->topics[count - 1];
        leave(subscriptions, topic, shoal__topic_ear(topic, listener));
    }
    shoal__list_remove(&listener->node);
}

/* ---- requests ---- */

static shoal__asking_t *head_of(const shoal__subscriptions_t *subscriptions)
{
    return subscriptions->count == 0 ? NULL
                                     : subscriptions->askings[subscriptions->first];
}

/* Must the topic stand in another request than the one before it? */
static bool is_apart(const shoal__subscriptions_t *subscriptions,
                     const shoal__topic_t *topic)
{
    const shoal__topic_t *before =
        SHOAL__LIST_ENTRY(topic->pending.previous, shoal__topic_t, pending);

    return subscriptions->goes_by_slot && topic->kind == SHOAL_NAME_SHARD &&
           shoal__key_slot(shoal__topic_name(topic)) !=
               shoal__key_slot(shoal__topic_name(before));
}

const shoal__asking_t *
shoal__subscriptions_head(const shoal__subscriptions_t *subscriptions)
{
    return head_of(subscriptions);
}

/* How many of the list go into one request. */
static uint32_t measure(const shoal__subscriptions_t *subscriptions,
                        const shoal__list_t *list)
{
    uint32_t count = 0, limit = SHOAL__REQUEST_NAMES_MAX;
    size_t bytes = 0;

    for (const shoal__list_t *node = list->next; node != list; node = node->next) {
        const shoal__topic_t *topic = SHOAL__LIST_ENTRY(node, shoal__topic_t, pending);
        if (topic->limit < limit)
            limit = topic->limit;
        bytes += topic->bytes;
        if (count >= limit || (count > 0 && (bytes > SHOAL__REQUEST_NAME_BYTES_MAX ||
                                             is_apart(subscriptions, topic))))
            break;
        count++;
    }
    return count;
}

static void ask(shoal__subscriptions_t *subscriptions, shoal__asking_t *asking,
                shoal__list_t *list)
{
    for (uint32_t i = 0; i < asking->count; i++) {
        shoal__topic_t *topic = SHOAL__LIST_ENTRY(list->next, shoal__topic_t, pending);
        shoal__list_remove(&topic->pending);
        if (!asking->is_subscribe)
            unconfirm(subscriptions, topic, SHOAL_GAP_NONE);
        topic->is_asked = asking->is_subscribe;
        topic->request = asking->number;
        topic->references++;
        asking->topics[i] = topic;
    }
    subscriptions->askings[(subscriptions->first + subscriptions->count++) %
                           SHOAL__REQUESTS_MAX] = asking;
    shoal__counter_add(&subscriptions->requests, 1);
}

static shoal__list_t *first_pending(const shoal__subscriptions_t *subscriptions)
{
    for (size_t i = 0; i < 6; i++)
        if (!shoal__list_is_empty(&subscriptions->pending[i]))
            return (shoal__list_t *)&subscriptions->pending[i];
    return NULL;
}

const shoal__asking_t *shoal__subscriptions_next(shoal__subscriptions_t *subscriptions,
                                                 uint64_t nonce, uint64_t now_us)
{
    shoal__list_t *list = first_pending(subscriptions);
    size_t which = list ? (size_t)(list - subscriptions->pending) : 0;
    shoal__asking_t *asking;
    uint32_t count;

    if (!list || !subscriptions->is_up || now_us < subscriptions->resume_us ||
        subscriptions->count == SHOAL__REQUESTS_MAX)
        return NULL;
    count = measure(subscriptions, list);
    asking = shoal__malloc(sizeof *asking + count * sizeof(shoal__topic_t *));
    if (!asking) {
        subscriptions->resume_us = now_us + NO_MEMORY_US;
        return NULL;
    }
    *asking = (shoal__asking_t){.number = ++subscriptions->numbers,
                                .nonce = nonce,
                                .kind = (shoal_name_kind_t)(which / 2),
                                .is_subscribe = which % 2 == 1,
                                .count = count};
    ask(subscriptions, asking, list);
    return asking;
}

uint64_t shoal__subscriptions_wake_us(const shoal__subscriptions_t *subscriptions,
                                      uint64_t now_us)
{
    if (!subscriptions->is_up || subscriptions->count == SHOAL__REQUESTS_MAX ||
        !first_pending(subscriptions))
        return SHOAL__NEVER_US;
    return shoal__time_max(subscriptions->resume_us, now_us);
}

/* ---- answers ---- */

static void confirm(shoal__subscriptions_t *subscriptions, shoal__topic_t *topic)
{
    topic->request = 0;
    topic->attempts = 0;
    topic->limit = SHOAL__REQUEST_NAMES_MAX;
    topic->is_confirmed = true;
    if (topic->ears_count > 0)
        shoal__counter_add(&subscriptions->confirmed, 1);
    for (uint32_t i = 0; i < topic->ears_count; i++)
        tell_confirmed(subscriptions, topic, &topic->ears[i]);
    topic->reason = SHOAL_GAP_NONE;
}

/* The server gave the name up by itself.  It is asked again. */
static void dropped_unasked(shoal__subscriptions_t *subscriptions,
                            shoal__topic_t *topic)
{
    if (!topic->is_confirmed)
        return;
    unconfirm(subscriptions, topic,
              topic->kind == SHOAL_NAME_SHARD ? SHOAL_GAP_MOVED : SHOAL_GAP_LOST);
    topic->is_asked = false;
    wish(subscriptions, topic);
}

void shoal__subscriptions_hear(shoal__subscriptions_t *subscriptions,
                               const shoal__push_t *push)
{
    shoal__topic_t *topic =
        shoal__topics_find(&subscriptions->topics, push->name_kind, push->name);
    const shoal__asking_t *head = head_of(subscriptions);
    bool is_subscribe = push->kind == SHOAL__PUSH_CONFIRMED;

    if (!topic)
        return;
    if (head && topic->request == head->number && head->is_subscribe == is_subscribe) {
        if (is_subscribe)
            confirm(subscriptions, topic);
        else
            topic->request = 0;
    } else if (!is_subscribe) {
        dropped_unasked(subscriptions, topic);
    }
}

/* The topic leaves all who listen to it. */
static void reject(shoal__subscriptions_t *subscriptions, shoal__topic_t *topic,
                   const char *detail)
{
    while (topic->ears_count > 0) {
        shoal__ear_t *ear = &topic->ears[topic->ears_count - 1];
        shoal__listener_t *listener = ear->listener;
        shoal_item_t item = {.kind = SHOAL_ITEM_REJECTED,
                             .name_kind = kind_for(topic, ear),
                             .detail = detail};
        leave(subscriptions, topic, ear); /* a request still names the topic */
        shoal__counter_add(&listener->rejected, 1);
        shoal__counter_add(&subscriptions->rejected, 1);
        mark(subscriptions, topic, listener, item);
    }
}

bool shoal__subscriptions_may_pass(shoal__bytes_t error)
{
    static const char *const words[] = {"LOADING ",   "MOVED ",       "ASK ",
                                        "TRYAGAIN ",  "CLUSTERDOWN ", "BUSY ",
                                        "MASTERDOWN "};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (shoal__bytes_start(error, words[i]))
            return true;
    return false;
}

bool shoal__subscriptions_is_answered(const shoal__subscriptions_t *subscriptions)
{
    const shoal__asking_t *head = head_of(subscriptions);

    if (!head || (head->kind == SHOAL_NAME_SHARD && !head->is_subscribe))
        return false;
    for (uint32_t i = 0; i < head->count; i++)
        if (head->topics[i]->request != 0)
            return false;
    return true;
}

/* A name of a request that was refused. */
static void refuse(shoal__subscriptions_t *subscriptions, const shoal__asking_t *asking,
                   shoal__topic_t *topic, shoal__bytes_t error)
{
    bool is_for_now = shoal__subscriptions_may_pass(error);

    topic->request = 0;
    if (!asking->is_subscribe)
        return; /* the server does not know the name: that is what was wanted */
    topic->is_asked = false;
    if (is_for_now ? topic->attempts++ >= SHOAL__ASKED_AGAIN_MAX : asking->count == 1)
        reject(subscriptions, topic, error.data);
    else if (!is_for_now)
        topic->limit = (uint16_t)((asking->count + 1) / 2);
    wish(subscriptions, topic);
}

void shoal__subscriptions_refused(shoal__subscriptions_t *subscriptions,
                                  uint64_t number, shoal__bytes_t error,
                                  uint64_t now_us)
{
    shoal__asking_t *head = head_of(subscriptions);
    unsigned attempts = 0;

    if (!head || head->number != number)
        return;
    head->is_over = true;
    for (uint32_t i = 0; i < head->count; i++)
        if (head->topics[i]->request == number) {
            refuse(subscriptions, head, head->topics[i], error);
            attempts = head->topics[i]->attempts;
        }
    if (shoal__subscriptions_may_pass(error))
        subscriptions->resume_us = now_us + ((uint64_t)AGAIN_US << attempts) / 2;
}

bool shoal__subscriptions_fenced(shoal__subscriptions_t *subscriptions, uint64_t number,
                                 uint64_t nonce)
{
    shoal__asking_t *head = head_of(subscriptions);

    if (!head || head->number != number || head->nonce != nonce)
        return false;
    for (uint32_t i = 0; i < head->count; i++)
        if (head->topics[i]->request == number && !head->is_over)
            return false;
    subscriptions->first = (subscriptions->first + 1) % SHOAL__REQUESTS_MAX;
    subscriptions->count--;
    for (uint32_t i = 0; i < head->count; i++) {
        head->topics[i]->references--;
        wish(subscriptions, head->topics[i]);
    }
    shoal__free(head);
    return true;
}

bool shoal__subscriptions_turned_away(shoal__subscriptions_t *subscriptions,
                                      uint64_t number, shoal__bytes_t error)
{
    const shoal__asking_t *head = head_of(subscriptions);

    return head && shoal__subscriptions_may_pass(error) &&
           shoal__subscriptions_fenced(subscriptions, number, head->nonce);
}

/* ---- connections ---- */

void shoal__subscriptions_begin(shoal__subscriptions_t *subscriptions)
{
    subscriptions->is_up = true;
    subscriptions->resume_us = 0;
}

/* The server knows no topic any more.  Topics that nobody listens to go to `idle`. */
static void forget_asked(shoal__subscriptions_t *subscriptions, shoal__list_t *idle)
{
    const shoal__topics_t *topics = &subscriptions->topics;

    for (uint32_t i = 0; i < topics->slots_count; i++) {
        shoal__topic_t *topic = topics->slots[i];
        if (!topic)
            continue;
        topic->request = 0;
        topic->references = 0;
        topic->attempts = 0;
        topic->limit = SHOAL__REQUEST_NAMES_MAX;
        topic->is_asked = false;
        if (topic->is_confirmed) {
            topic->is_confirmed = false;
            topic->reason = (unsigned)subscriptions->loss & 7;
        }
        shoal__list_remove(&topic->pending);
        if (topic->ears_count == 0)
            shoal__list_append(idle, &topic->pending);
    }
}

/* All that is wanted is to be asked, in the order in which it was wanted, by and large. */
static void ask_anew(shoal__subscriptions_t *subscriptions)
{
    shoal__list_t *list = &subscriptions->listeners;

    for (shoal__list_t *node = list->next; node != list; node = node->next) {
        const shoal__listener_t *listener =
            SHOAL__LIST_ENTRY(node, shoal__listener_t, node);
        for (uint64_t at = 0; at < shoal__counter_get(&listener->count); at++)
            if (shoal__list_is_empty(&listener->topics[at]->pending))
                wish(subscriptions, listener->topics[at]);
    }
}

static void suspend(shoal__subscriptions_t *subscriptions, const char *detail)
{
    shoal__list_t *list = &subscriptions->listeners;

    for (shoal__list_t *node = list->next; node != list; node = node->next) {
        shoal__listener_t *listener = SHOAL__LIST_ENTRY(node, shoal__listener_t, node);
        shoal_item_t item = {.kind = SHOAL_ITEM_SUSPENDED,
                             .reason = subscriptions->loss,
                             .detail = detail};
        if (shoal__counter_get(&listener->confirmed) == 0)
            continue;
        shoal__counter_set(&listener->confirmed, 0);
        subscriptions->on_mark(subscriptions->owner, listener, &item);
    }
}

void shoal__subscriptions_lost(shoal__subscriptions_t *subscriptions,
                               const char *detail)
{
    shoal__list_t idle;

    if (!subscriptions->is_up)
        return;
    subscriptions->is_up = false;
    forget_askings(subscriptions);
    shoal__list_init(&idle);
    forget_asked(subscriptions, &idle);
    ask_anew(subscriptions);
    while (!shoal__list_is_empty(&idle)) {
        shoal__topic_t *topic = SHOAL__LIST_ENTRY(idle.next, shoal__topic_t, pending);
        wish(subscriptions, topic);
    }
    shoal__counter_set(&subscriptions->confirmed, 0);
    suspend(subscriptions, detail);
    subscriptions->loss = SHOAL_GAP_LOST;
}
