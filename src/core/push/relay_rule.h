/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_RELAY_RULE_H
#define SHOAL_CORE_PUSH_RELAY_RULE_H

/*
 * A subscriber's connection is renewed, and no message may be lost or come twice: how far the
 * relay from the present connection to its successor has come, and what follows.
 *
 *   WAITING    no request over the present connection is unanswered, and none is sent
 *   JOINING    both connections subscribe to a channel that nobody else knows, and answer
 *   COUNTING   the server says how many do: two, or they lead to different processes
 *   COPYING    all names are subscribed over the successor, whose messages are dropped
 *   MARKING    the successor is read no more.  Then a marker is published to the channel; the
 *              present connection's messages count until it comes
 *   TAKING     it came: what comes behind it is dropped.  The successor takes over
 *   SKIPPING   the successor is read again: its messages are dropped until the marker
 *   PARTING    and count from there on.  The channel is given up
 *
 * One process puts messages and marker in one order, the same for both connections: Redis and
 * Valkey do, which publish on one thread.
 *
 * Guarantee: no message is dropped over one connection that is not handed over by the other,
 * unless the connection counts as lost, or is renewed as if there were no such relay.
 */

#include <stdbool.h>
#include <stdint.h>

typedef enum shoal__relay_stage {
    SHOAL__RELAY_NONE, /* zero */
    SHOAL__RELAY_WAITING,
    SHOAL__RELAY_JOINING,
    SHOAL__RELAY_COUNTING,
    SHOAL__RELAY_COPYING,
    SHOAL__RELAY_MARKING,
    SHOAL__RELAY_TAKING,
    SHOAL__RELAY_SKIPPING,
    SHOAL__RELAY_PARTING,
    SHOAL__RELAY_STAGE_COUNT
} shoal__relay_stage_t;

typedef struct shoal__relay_facts {
    bool is_done;     /* what the stage is there for has happened */
    bool is_alone;    /* COUNTING: not both connections lead to this process */
    bool is_thwarted; /* the server refused something or dropped a name; no memory */
    bool is_late;     /* it took too long */
    bool is_gone;     /* there is no successor any more */
} shoal__relay_facts_t;

typedef enum shoal__relay_verdict {
    SHOAL__RELAY_STAY,
    SHOAL__RELAY_GO_ON,   /* to the next stage; behind PARTING it is over */
    SHOAL__RELAY_GIVE_UP, /* the successor takes over, and each name gets GAP */
    SHOAL__RELAY_ANEW, /* the same, but another one, because this one has names, or owes
                            answers */
    SHOAL__RELAY_PART, /* the present connection goes on, without the channel */
    SHOAL__RELAY_LOSE  /* messages were dropped: the connection counts as lost */
} shoal__relay_verdict_t;

shoal__relay_verdict_t shoal__relay_rule(shoal__relay_stage_t stage,
                                         const shoal__relay_facts_t *facts);

/* Are no names to be asked for?  They are wanted until it is over. */
static inline bool shoal__relay_holds(shoal__relay_stage_t stage)
{
    return stage != SHOAL__RELAY_NONE && stage != SHOAL__RELAY_PARTING;
}

#endif
