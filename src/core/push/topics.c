/* SPDX-License-Identifier: MIT */
#include "core/push/topics.h"

#include "base/alloc.h"
#include "base/hash.h"

#define SLOTS_MIN 16

/* ---- the table ---- */

void shoal__topics_init(shoal__topics_t *topics, uint64_t seed)
{
    *topics = (shoal__topics_t){.seed = seed};
}

static void free_topic(shoal__topic_t *topic)
{
    if (topic->ears != &topic->first)
        shoal__free(topic->ears);
    shoal__free(topic);
}

void shoal__topics_release(shoal__topics_t *topics)
{
    for (uint32_t i = 0; i < topics->slots_count; i++)
        if (topics->slots[i])
            free_topic(topics->slots[i]);
    shoal__free(topics->slots);
    shoal__topics_init(topics, topics->seed);
}

shoal_name_kind_t shoal__topic_kind(shoal_name_kind_t kind, shoal__bytes_t name)
{
    if (kind != SHOAL_NAME_KEYSPACE)
        return kind;
    for (size_t i = 0; i < name.bytes; i++)
        if (name.data[i] == '*' || name.data[i] == '?' || name.data[i] == '[')
            return SHOAL_NAME_PATTERN;
    return SHOAL_NAME_CHANNEL;
}

static uint32_t hash_of(const shoal__topics_t *topics, shoal_name_kind_t kind,
                        shoal__bytes_t name)
{
    return (uint32_t)shoal__hash(name, topics->seed + (uint64_t)kind);
}

static bool is_it(const shoal__topic_t *topic, uint32_t hash, shoal_name_kind_t kind,
                  shoal__bytes_t name)
{
    return topic->hash == hash && topic->kind == (unsigned)kind &&
           topic->bytes == name.bytes &&
           memcmp(topic->data, name.data, name.bytes) == 0;
}

/* Its slot, or the empty one where it would stand.  There is an empty one. */
static uint32_t slot_of(const shoal__topics_t *topics, uint32_t hash,
                        shoal_name_kind_t kind, shoal__bytes_t name)
{
    uint32_t mask = topics->slots_count - 1, at = hash & mask;

    while (topics->slots[at] && !is_it(topics->slots[at], hash, kind, name))
        at = (at + 1) & mask;
    return at;
}

shoal__topic_t *shoal__topics_find(const shoal__topics_t *topics,
                                   shoal_name_kind_t kind, shoal__bytes_t name)
{
    if (topics->slots_count == 0 || !name.data)
        return NULL;
    return topics->slots[slot_of(topics, hash_of(topics, kind, name), kind, name)];
}

/* All topics move to so many slots.  False: no memory. */
static bool resize(shoal__topics_t *topics, uint32_t slots_count)
{
    shoal__topic_t **slots = shoal__calloc(slots_count, sizeof(shoal__topic_t *));

    if (!slots)
        return false;
    for (uint32_t i = 0; i < topics->slots_count; i++) {
        shoal__topic_t *topic = topics->slots[i];
        uint32_t at;
        if (!topic)
            continue;
        at = topic->hash & (slots_count - 1);
        while (slots[at])
            at = (at + 1) & (slots_count - 1);
        slots[at] = topic;
    }
    shoal__free(topics->slots);
    topics->slots = slots;
    topics->slots_count = slots_count;
    return true;
}

/* Room for one more, with a quarter of the slots empty. */
static bool has_room(shoal__topics_t *topics)
{
    if (topics->slots_count == 0)
        return resize(topics, SLOTS_MIN);
    if (topics->count + 1 <= topics->slots_count / 4 * 3)
        return true;
    return topics->slots_count <= UINT32_MAX / 2 &&
           resize(topics, topics->slots_count * 2);
}

shoal__topic_t *shoal__topics_add(shoal__topics_t *topics, shoal_name_kind_t kind,
                                  shoal__bytes_t name)
{
    uint32_t hash = hash_of(topics, kind, name), at;
    shoal__topic_t *topic;

    if (!has_room(topics))
        return NULL;
    at = slot_of(topics, hash, kind, name);
    if (topics->slots[at])
        return topics->slots[at];
    topic = shoal__calloc(1, sizeof *topic + name.bytes + 1);
    if (!topic)
        return NULL;
    shoal__list_init(&topic->pending);
    topic->hash = hash;
    topic->kind = (unsigned)kind & 3;
    topic->bytes = (uint32_t)name.bytes;
    if (name.bytes)
        memcpy(topic->data, name.data, name.bytes);
    topic->ears = &topic->first;
    topic->ears_room = 1;
    topics->slots[at] = topic;
    topics->count++;
    return topic;
}

void shoal__topics_drop(shoal__topics_t *topics, shoal__topic_t *topic)
{
    uint32_t mask = topics->slots_count - 1, hole = topic->hash & mask, at;

    while (topics->slots[hole] != topic)
        hole = (hole + 1) & mask;
    /* Those behind it that would not be found across the hole move into it. */
    for (at = (hole + 1) & mask; topics->slots[at]; at = (at + 1) & mask) {
        uint32_t home = topics->slots[at]->hash & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        topics->slots[hole] = topics->slots[at];
        hole = at;
    }
    topics->slots[hole] = NULL;
    topics->count--;
    free_topic(topic);
    /* Without memory it stays as large as it is. */
    if (topics->slots_count > SLOTS_MIN && topics->count < topics->slots_count / 8)
        (void)resize(topics, topics->slots_count / 2);
}

/* ---- who listens ---- */

void shoal__listener_init(shoal__listener_t *listener)
{
    *listener = (shoal__listener_t){.topics = NULL};
    shoal__list_init(&listener->node);
}

void shoal__listener_release(shoal__listener_t *listener)
{
    shoal__free(listener->topics);
    listener->topics = NULL;
    listener->room = 0;
}

shoal__ear_t *shoal__topic_ear(const shoal__topic_t *topic,
                               const shoal__listener_t *listener)
{
    for (uint32_t i = 0; i < topic->ears_count; i++)
        if (topic->ears[i].listener == listener)
            return &topic->ears[i];
    return NULL;
}

static bool has_room_for_topic(shoal__listener_t *listener)
{
    uint32_t room = listener->room ? listener->room * 2 : 4;
    shoal__topic_t **topics;

    if (shoal__counter_get(&listener->count) < listener->room)
        return true;
    topics = shoal__realloc(listener->topics, room * sizeof(shoal__topic_t *));
    if (!topics)
        return false;
    listener->topics = topics;
    listener->room = room;
    return true;
}

static bool has_room_for_ear(shoal__topic_t *topic)
{
    uint32_t room = topic->ears_room * 2;
    bool is_inside = topic->ears == &topic->first;
    shoal__ear_t *ears;

    if (topic->ears_count < topic->ears_room)
        return true;
    ears = shoal__realloc(is_inside ? NULL : topic->ears, room * sizeof *ears);
    if (!ears)
        return false;
    if (is_inside)
        *ears = topic->first;
    topic->ears = ears;
    topic->ears_room = room;
    return true;
}

shoal__ear_t *shoal__topic_listen(shoal__topic_t *topic, shoal__listener_t *listener)
{
    uint64_t count = shoal__counter_get(&listener->count);
    shoal__ear_t *ear;

    if (!has_room_for_topic(listener) || !has_room_for_ear(topic))
        return NULL;
    ear = &topic->ears[topic->ears_count++];
    *ear = (shoal__ear_t){.listener = listener, .at = (uint32_t)count};
    listener->topics[count] = topic;
    shoal__counter_set(&listener->count, count + 1);
    return ear;
}

void shoal__topic_leave(shoal__topic_t *topic, shoal__ear_t *ear)
{
    shoal__listener_t *listener = ear->listener;
    uint64_t last = shoal__counter_get(&listener->count) - 1;

    if (ear->at != last) { /* the listener's last topic takes its place */
        shoal__topic_t *moved = listener->topics[last];
        shoal__ear_t *its_ear = shoal__topic_ear(moved, listener);
        listener->topics[ear->at] = moved;
        if (its_ear) /* always: what a listener has, has it */
            its_ear->at = ear->at;
    }
    shoal__counter_set(&listener->count, last);
    *ear = topic->ears[--topic->ears_count];
}
