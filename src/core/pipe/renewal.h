/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_RENEWAL_H
#define SHOAL_CORE_RENEWAL_H

/*
 * When a pipe leaves a connection that works, for another one: the credentials changed, the
 * name leads to another server now, or the server is no primary any more.
 *
 *   WANTED      a successor is to be dialed, at start_us
 *   PREPARING   it is dialed and greeted, while commands use the present connection
 *   DRAINING    it is greeted: nothing more is sent over the present connection but the
 *               rest of a unit, and what was sent is answered, for 1 s at most.  If others
 *               say that its server is no primary any more, it is left sooner, when that
 *               server has been silent for 100 ms, or for four round trips if that is
 *               longer; but not while it executes a command that blocks
 *
 * In place there is nothing to prepare, and the drain has no end but the last answer.
 *
 * Renewals begin at least 1 s apart, and 2 s, 4 s and so on up to 30 s if there is cause
 * again and again, or if they fail.  This starts anew when a command that was turned away
 * has worked, when the program itself asks, or when nobody asked for 30 s.  (I13)
 */

#include "base/time_us.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum shoal__renewal_state {
    SHOAL__RENEWAL_NONE, /* zero */
    SHOAL__RENEWAL_WANTED,
    SHOAL__RENEWAL_PREPARING,
    SHOAL__RENEWAL_DRAINING
} shoal__renewal_state_t;

typedef struct shoal__renewal {
    shoal__renewal_state_t state;
    bool is_pressing;    /* PREPARING: the present connection is of no use meanwhile */
    bool is_in_place;    /* no successor: AUTH over the present connection, drained */
    bool is_deposed;     /* its server is no primary any more, as others say */
    uint64_t start_us;   /* WANTED: begin then */
    uint64_t end_us;     /* DRAINING: it is over then, whatever is unanswered */
    uint64_t begun_us;   /* the last one was begun */
    uint64_t spacing_us; /* no other begins so soon after it */
    uint64_t asked_us;   /* somebody last asked */
    const char *reason;  /* of the last one, in words; static */
} shoal__renewal_t;

void shoal__renewal_init(shoal__renewal_t *renewal);

/* There is a reason to renew the connection.  It is ignored if a renewal is under way, or
 * if the last one was begun too short a while ago.  `reason` is static.  is_pressing: the
 * server refuses everything on the present connection. */
void shoal__renewal_ask(shoal__renewal_t *renewal, const char *reason, bool is_pressing,
                        uint64_t now_us);

/* The target has changed: the connection must be replaced by one that is dialed from now
 * on, as soon as the spacing allows.  A renewal that is under way is over; the caller drops
 * the successor. */
void shoal__renewal_want(shoal__renewal_t *renewal, const char *reason,
                         uint64_t now_us);

/* The same; but the present connection stays, and says AUTH when everything was answered,
 * however long that takes. */
void shoal__renewal_want_in_place(shoal__renewal_t *renewal, const char *reason,
                                  uint64_t now_us);

/* Behind _want: it is because others say that the server is no primary any more. */
static inline void shoal__renewal_depose(shoal__renewal_t *renewal)
{
    renewal->is_deposed = true;
}

/* Space the renewals as at first: a command that was turned away has worked, or the
 * program itself is going to ask. */
void shoal__renewal_anew(shoal__renewal_t *renewal);

/* Is a successor to be dialed now?  Then PREPARING. */
bool shoal__renewal_begins(shoal__renewal_t *renewal, uint64_t now_us);

/* PREPARING: the successor is greeted; or it failed, or AUTH in place was refused, and the same
 * is wanted later. */
void shoal__renewal_drain(shoal__renewal_t *renewal, uint64_t now_us);
void shoal__renewal_failed(shoal__renewal_t *renewal, uint64_t now_us);

/* PREPARING: the successor led to a replica, and the primary may have another address, which
 * is tried soon. */
void shoal__renewal_elsewhere(shoal__renewal_t *renewal, uint64_t now_us);

/* How long a server may be silent that was deposed, if a round trip takes rtt_us (0: not
 * known). */
uint64_t shoal__renewal_silence_us(uint64_t rtt_us);

/* When the present connection is left, whatever is unanswered; the silence of its server
 * was long enough then (NEVER: it says nothing).  NEVER if it is not DRAINING. */
uint64_t shoal__renewal_end_us(const shoal__renewal_t *renewal,
                               uint64_t silence_ends_us);

/* The connection is gone, or has made way. */
static inline void shoal__renewal_over(shoal__renewal_t *renewal)
{
    renewal->state = SHOAL__RENEWAL_NONE;
}

/* Is there a successor to look after? */
static inline bool shoal__renewal_is_under_way(const shoal__renewal_t *renewal)
{
    return renewal->state >= SHOAL__RENEWAL_PREPARING;
}

/* Nothing more is sent. */
static inline bool shoal__renewal_is_draining(const shoal__renewal_t *renewal)
{
    return renewal->state == SHOAL__RENEWAL_DRAINING;
}

/* Commands that the server refused wait for the successor; also if that is to be dialed
 * now, and only nobody was there to begin. */
static inline bool shoal__renewal_is_awaited(const shoal__renewal_t *renewal,
                                             uint64_t now_us)
{
    return renewal->state == SHOAL__RENEWAL_DRAINING ||
           (renewal->is_pressing &&
            (renewal->state == SHOAL__RENEWAL_PREPARING ||
             (renewal->state == SHOAL__RENEWAL_WANTED && now_us >= renewal->start_us)));
}

/* When to look again, if nothing but time passes. */
static inline uint64_t shoal__renewal_wake_us(const shoal__renewal_t *renewal,
                                              uint64_t silence_ends_us)
{
    return renewal->state == SHOAL__RENEWAL_WANTED
               ? renewal->start_us
               : shoal__renewal_end_us(renewal, silence_ends_us);
}

#endif
