/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_PROBE_RULE_H
#define SHOAL_CORE_PUSH_PROBE_RULE_H

/*
 * Decides when a subscriber that hears nothing is probed, and when its connection is made new.
 *
 * The connection may answer PING, and yet lead to a server that gets no publications any more.
 * So a client publishes to a private channel of the connection after an interval without a
 * message.  If the server took the publication, and one more interval is silent as well, the
 * connection leads nowhere.  A publication that failed proves nothing.
 *
 * Connections that are made new in a row wait 0, 1, 2, 4, 8, 10, 10 ... intervals more.
 */

#include <stdbool.h>
#include <stdint.h>

/* What became of a publication. */
typedef enum shoal__probe_said {
    SHOAL__PROBE_UNSAID,    /* no answer yet */
    SHOAL__PROBE_TAKEN,     /* the server took it */
    SHOAL__PROBE_FAILED,    /* it says nothing about the connection */
    SHOAL__PROBE_FORBIDDEN, /* to the client, for good (NOPERM) */
    SHOAL__PROBE_SAID_COUNT
} shoal__probe_said_t;

typedef struct shoal__probe_facts {
    uint64_t interval_us;
    uint64_t
        heard_us;     /* the last message; before any, when the channel was confirmed */
    uint64_t sent_us; /* when the probe was sent that is under way; NEVER: none is */
    uint64_t taken_us; /* TAKEN: when that was known */
    unsigned restarts; /* connections made new since a message was heard */
    shoal__probe_said_t said;
} shoal__probe_facts_t;

typedef enum shoal__probe_act {
    SHOAL__PROBE_WAIT, /* until wake_us */
    SHOAL__PROBE_PUBLISH,
    SHOAL__PROBE_FORGET,  /* the probe that is under way; silence begins now, or when a
                             message came */
    SHOAL__PROBE_RESTART, /* make the connection new */
    SHOAL__PROBE_STOP     /* no probe any more */
} shoal__probe_act_t;

#define SHOAL__PROBE_US 30000000

/* The interval that the options name (SHOAL_PROBE_AUTO), 0: no probe.  may_change: another server
 * may take the place of one of ours. */
static inline uint64_t shoal__probe_interval(uint64_t probe_us, bool may_change)
{
    if (probe_us != UINT64_MAX)
        return probe_us;
    return may_change ? SHOAL__PROBE_US : 0;
}

/* ret_wake_us: when to look again, if nothing happens. */
shoal__probe_act_t shoal__probe_rule(const shoal__probe_facts_t *facts, uint64_t now_us,
                                     uint64_t *ret_wake_us);

#endif
