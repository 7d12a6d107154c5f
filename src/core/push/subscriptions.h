/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_SUBSCRIPTIONS_H
#define SHOAL_CORE_PUSH_SUBSCRIPTIONS_H

/*
 * What is wanted of a server, and what the server has confirmed: the registry of names of one
 * connection, and of those that follow it.
 *
 * The owner tells what listeners want, and which answers came; the registry says which requests
 * are to be sent (the difference), and which marks listeners get.  It knows no socket and no
 * clock.
 *
 * A request names up to 512 names of one kind, of 64 KiB at most, and a PING follows it.  At
 * most eight requests are unanswered.  A name is confirmed if the last request for it was a
 * SUBSCRIBE, and was acknowledged.
 *
 * If the server refuses a request of several names, each half of them is asked alone, until
 * those that are forbidden stand alone: 2 * log2(names) requests for each of them at most.
 *
 * Guarantees: no mark or message of a name before its SUBSCRIBED; after a loss GAP stands
 * right behind each name's new confirmation; a name that the server neither acknowledged nor
 * refused when the PING is answered ends the connection.  (U1, U3, U4)
 */

#include "core/push/item.h"
#include "core/push/topics.h"
#include "resp/push.h"

#define SHOAL__REQUEST_NAMES_MAX 512
#define SHOAL__REQUEST_NAME_BYTES_MAX 65536
#define SHOAL__REQUESTS_MAX 8
#define SHOAL__ASKED_AGAIN_MAX 5

/* A request that was sent, or is to be.  Behind it goes PING, with the nonce. */
typedef struct shoal__asking {
    uint64_t number; /* from 1, ascending */
    uint64_t nonce;
    shoal_name_kind_t kind; /* CHANNEL, PATTERN or SHARD */
    bool is_subscribe;      /* else the names are given up */
    bool is_over;           /* the server refused it */
    uint32_t count;
    shoal__topic_t *topics[];
} shoal__asking_t;

typedef struct shoal__subscriptions {
    shoal__topics_t topics;
    shoal__list_t listeners;
    shoal__list_t pending[6]; /* by kind, and whether to subscribe */
    shoal__asking_t *askings[SHOAL__REQUESTS_MAX]; /* unanswered; a ring */
    unsigned first, count;                         /* of that ring */
    uint64_t numbers;                              /* given to requests */
    bool is_up;              /* there is a connection that takes requests */
    bool goes_by_slot;       /* a request names channels of one slot of shards */
    uint64_t resume_us;      /* no request before */
    shoal_gap_reason_t loss; /* the reason of the next loss; LOST again behind it */
    shoal__mark_fn on_mark;
    void *owner;
    /* Any thread reads them: topics that somebody listens to; those of them that are
     * confirmed; marks GAP and REJECTED; requests. */
    shoal__counter_t wanted, confirmed, gaps, rejected, requests;
} shoal__subscriptions_t;

void shoal__subscriptions_init(shoal__subscriptions_t *subscriptions, uint64_t seed,
                               shoal__mark_fn on_mark, void *owner);
/* All listeners have left. */
void shoal__subscriptions_release(shoal__subscriptions_t *subscriptions);

/* ---- what listeners want ---- */

/* The listener takes part from now on: it hears of losses. */
void shoal__subscriptions_join(shoal__subscriptions_t *subscriptions,
                               shoal__listener_t *listener);
/* It listens to nothing any more. */
void shoal__subscriptions_leave(shoal__subscriptions_t *subscriptions,
                                shoal__listener_t *listener);
/* It listens to one more name; to one less.  What already is so is right.  0 or
 * SHOAL_ENOMEM. */
int shoal__subscriptions_add(shoal__subscriptions_t *subscriptions,
                             shoal__listener_t *listener, shoal_name_kind_t kind,
                             shoal__bytes_t name);
void shoal__subscriptions_remove(shoal__subscriptions_t *subscriptions,
                                 shoal__listener_t *listener, shoal_name_kind_t kind,
                                 shoal__bytes_t name);

/* ---- the connection ---- */

/* A connection is there, and knows no name. */
void shoal__subscriptions_begin(shoal__subscriptions_t *subscriptions);
/* It is gone, and why. */
void shoal__subscriptions_lost(shoal__subscriptions_t *subscriptions,
                               const char *detail);

/* The request that is to be sent next, with a PING behind it; it counts as sent, and lives
 * until it is fenced or lost.  NULL: none for now, or no memory for it. */
const shoal__asking_t *shoal__subscriptions_next(shoal__subscriptions_t *subscriptions,
                                                 uint64_t nonce, uint64_t now_us);
/* When to ask for it, if nothing happens; NEVER. */
uint64_t shoal__subscriptions_wake_us(const shoal__subscriptions_t *subscriptions,
                                      uint64_t now_us);

/* CONFIRMED or DROPPED came. */
void shoal__subscriptions_hear(shoal__subscriptions_t *subscriptions,
                               const shoal__push_t *push);
/* Does the error say that the server cannot do it now, or not here? */
bool shoal__subscriptions_may_pass(shoal__bytes_t error);
/* The oldest request that is unanswered; NULL: there is none. */
const shoal__asking_t *
shoal__subscriptions_head(const shoal__subscriptions_t *subscriptions);
/* Have all its names their answers, and no other request?  Never of shards that are given up:
 * what a slot that leaves drops unasked looks like an answer. */
bool shoal__subscriptions_is_answered(const shoal__subscriptions_t *subscriptions);
/* The server answered the request with an error. */
void shoal__subscriptions_refused(shoal__subscriptions_t *subscriptions,
                                  uint64_t number, shoal__bytes_t error,
                                  uint64_t now_us);
/* The PING behind the request was answered with this nonce.  False: out of step, the
 * connection must be given up. */
bool shoal__subscriptions_fenced(shoal__subscriptions_t *subscriptions, uint64_t number,
                                 uint64_t nonce);
/* The PING was answered with this error.  One that may pass (a server that loads its data takes
 * names, and refuses PING) shows that the PING's turn has come, as a nonce does.  False: as
 * above. */
bool shoal__subscriptions_turned_away(shoal__subscriptions_t *subscriptions,
                                      uint64_t number, shoal__bytes_t error);

#endif
