/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_TOPICS_H
#define SHOAL_CORE_PUSH_TOPICS_H

/*
 * The names that are subscribed, found by their bytes: a hash table, and who listens to each
 * name.
 *
 * A *topic* is a name as the server knows it: a channel, a pattern or a channel of a shard.  A
 * *listener* is a set of topics with one receiver.
 *
 * Memory: at most 120 bytes for a topic with one listener, beside the bytes of its name.
 */

#include "base/bytes.h"
#include "base/counter.h"
#include "base/list.h"
#include <shoal/item.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shoal__topic shoal__topic_t;

/* One thread changes it; any thread reads the counters. */
typedef struct shoal__listener {
    shoal__list_t node;      /* in shoal__subscriptions_t.listeners */
    shoal__topic_t **topics; /* `count` of them, in no order */
    uint32_t room;
    shoal__counter_t count;     /* topics */
    shoal__counter_t confirmed; /* of them: the server sends them now */
    shoal__counter_t rejected;  /* topics that the server refused, so far */
    bool is_hit;                /* it is to hear of a loss; see audience.c */
} shoal__listener_t;

/* A mark for a listener.  The item dies with the call, and lacks epoch and data.  Nothing of
 * whoever calls it may be called. */
typedef void (*shoal__mark_fn)(void *owner, shoal__listener_t *listener,
                               shoal_item_t *mark);

/* A listener of a topic. */
typedef struct shoal__ear {
    shoal__listener_t *listener;
    uint32_t at;      /* the topic's place in listener->topics */
    bool is_told;     /* it heard that the topic was confirmed: messages are for it */
    bool is_keyspace; /* it named the topic as SHOAL_NAME_KEYSPACE */
} shoal__ear_t;

struct shoal__topic {
    shoal__list_t pending; /* the server is to be asked; see subscriptions.c */
    union {
        uint64_t
            request; /* the last one that named it and is not acknowledged; 0: none */
        void *site;  /* ... in an audience: its owner's.  Where the topic is; NULL */
    };
    shoal__ear_t *ears; /* `first`, or memory of its own */
    shoal__ear_t first;
    uint32_t ears_count, ears_room;
    uint32_t hash;
    uint32_t bytes;
    uint16_t limit;            /* most names of the next request that names it */
    uint8_t references;        /* unanswered requests that name it */
    uint8_t attempts;          /* that the server turned away for a while */
    uint8_t kind : 2;          /* CHANNEL, PATTERN or SHARD */
    uint8_t is_asked : 1;      /* the last request for it was a SUBSCRIBE */
    uint8_t is_confirmed : 1;  /* ... and was acknowledged */
    uint8_t reason : 3;        /* why messages may be missing before that */
    uint8_t is_everywhere : 1; /* in an audience: it is at every primary */
    char data[];               /* the name, and a NUL */
};

typedef struct shoal__topics {
    shoal__topic_t **slots;
    uint32_t slots_count; /* a power of 2; 0: none yet */
    uint32_t count;
    uint64_t seed;
} shoal__topics_t;

void shoal__topics_init(shoal__topics_t *topics, uint64_t seed);
/* Frees all topics; no listener has any. */
void shoal__topics_release(shoal__topics_t *topics);

/* The kind that servers know: KEYSPACE is a channel, or a pattern if it can match several. */
shoal_name_kind_t shoal__topic_kind(shoal_name_kind_t kind, shoal__bytes_t name);

/* NULL: there is none. */
shoal__topic_t *shoal__topics_find(const shoal__topics_t *topics,
                                   shoal_name_kind_t kind, shoal__bytes_t name);
/* ... it is made then.  NULL: no memory. */
shoal__topic_t *shoal__topics_add(shoal__topics_t *topics, shoal_name_kind_t kind,
                                  shoal__bytes_t name);
/* Nobody listens to it.  It is freed. */
void shoal__topics_drop(shoal__topics_t *topics, shoal__topic_t *topic);

static inline shoal__bytes_t shoal__topic_name(const shoal__topic_t *topic)
{
    return (shoal__bytes_t){topic->data, topic->bytes};
}

/* The listener's ear; NULL: it does not listen. */
shoal__ear_t *shoal__topic_ear(const shoal__topic_t *topic,
                               const shoal__listener_t *listener);
/* It listens from now on, which it did not.  NULL: no memory, nothing changed. */
shoal__ear_t *shoal__topic_listen(shoal__topic_t *topic, shoal__listener_t *listener);
/* It listens no more.  The topic's last ear takes the place of this one. */
void shoal__topic_leave(shoal__topic_t *topic, shoal__ear_t *ear);

void shoal__listener_init(shoal__listener_t *listener);
/* It listens to nothing. */
void shoal__listener_release(shoal__listener_t *listener);

#endif
