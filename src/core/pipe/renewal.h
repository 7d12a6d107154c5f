/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_RENEWAL_H
#define SHOAL_CORE_RENEWAL_H

/*
 * Replaces a connection that works but leads to the wrong server, such as a primary
 * that was demoted: the pipe drains the connection, then gives it up.
 *
 * Every caller pays for a renewal.  If a server gives cause again and again, renewals
 * begin at least 1 s apart, then 2 s, 4 s and so on up to 30 s.  This starts anew when a
 * command that was turned away has worked, or when nobody asked for 30 s.  (I13)
 */

#include "base/time_us.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct shoal__renewal {
    uint64_t end_us;     /* under way: the connection is given up then, drained or not;
                           else NEVER */
    uint64_t begun_us;   /* the last one */
    uint64_t spacing_us; /* no other begins so soon after it */
    uint64_t asked_us;   /* somebody last asked */
    const char *reason;  /* of the last one, in words; static */
} shoal__renewal_t;

void shoal__renewal_init(shoal__renewal_t *renewal);

/* There is a reason to renew the connection: begin, unless one is under way or the last
 * one was begun too short a while ago.  `reason` is static. */
void shoal__renewal_ask(shoal__renewal_t *renewal, const char *reason, uint64_t now_us);

/* Space the renewals as at first: a command that was turned away has worked, or the
 * program itself is going to ask. */
void shoal__renewal_anew(shoal__renewal_t *renewal);

/* Under way: nothing more is sent. */
static inline bool shoal__renewal_is_under_way(const shoal__renewal_t *renewal)
{
    return renewal->end_us != SHOAL__NEVER_US;
}

/* Is the connection to be given up?  is_drained: nothing is unanswered or about to
 * leave. */
bool shoal__renewal_is_due(const shoal__renewal_t *renewal, bool is_drained,
                           uint64_t now_us);

/* The connection is gone. */
static inline void shoal__renewal_over(shoal__renewal_t *renewal)
{
    renewal->end_us = SHOAL__NEVER_US;
}

#endif
