/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_HOLD_RULE_H
#define SHOAL_CORE_HOLD_RULE_H

/*
 * Decides when commands go again that the server refused for now (LOADING, READONLY ...),
 * and what may leave meanwhile.  The caller keeps the commands.
 *
 *     OPEN -- refused --> GATHERING -- all else answered --> WAITING -- due --> PROBING
 *       ^                     ^                                                 |   |
 *       |                     '------------------ refused ----------------------'   |
 *       '------------------------------ answered -----------------------------------'
 *
 * The held commands stand before those that are queued.  The first of them is the probe: it
 * leaves alone, and its answer tells whether the others follow, in their order.  The pause
 * before a probe doubles from 10 ms to 250 ms; its second half is random.  (I13)
 *
 * The scope says what else waits.  ALL: every command.  WRITES: all but read-only ones, and
 * those for the time of a probe.  ALONE: no other; there is no probe, and the order is that
 * of the refused commands among themselves.
 */

#include "base/random.h"
#include "resp/command_info.h"
#include <stdbool.h>
#include <stdint.h>

/* A command without a deadline waits no longer. */
#define SHOAL__HOLD_US_MAX 30000000

typedef enum shoal__hold_state {
    SHOAL__HOLD_OPEN,      /* nothing is held */
    SHOAL__HOLD_GATHERING, /* more of what is in flight may be refused */
    SHOAL__HOLD_WAITING,   /* for due_us */
    SHOAL__HOLD_PROBING    /* the first command is to leave, or not answered yet */
} shoal__hold_state_t;

/* In ascending order: a wider one replaces a narrower one. */
typedef enum shoal__hold_scope {
    SHOAL__HOLD_ALONE,
    SHOAL__HOLD_WRITES,
    SHOAL__HOLD_ALL
} shoal__hold_scope_t;

/* What may leave. */
typedef enum shoal__hold_leave {
    SHOAL__HOLD_LEAVE_ANY,
    SHOAL__HOLD_LEAVE_READS,
    SHOAL__HOLD_LEAVE_PROBE, /* one command, if nothing is in flight */
    SHOAL__HOLD_LEAVE_NONE
} shoal__hold_leave_t;

typedef struct shoal__hold {
    shoal__hold_state_t state;
    shoal__hold_scope_t scope; /* not OPEN */
    uint64_t due_us;           /* of the pause that was planned last */
    uint64_t since_us;         /* not OPEN: the first command was refused */
    uint64_t refusals;         /* since then */
    unsigned doublings;        /* of the pause */
} shoal__hold_t;

/* When a command that is refused now goes again, at the latest. */
uint64_t shoal__hold_next_us(const shoal__hold_t *hold, uint64_t now_us);

/* Until when a command waits. */
uint64_t shoal__hold_end_us(uint64_t submitted_us, uint64_t deadline_us);

/* A command was refused.  The caller keeps it. */
void shoal__hold_refused(shoal__hold_t *hold, shoal__hold_scope_t scope,
                         uint64_t now_us, shoal__random_t *random);

/* A command of this class was answered, and not refused. */
void shoal__hold_answered(shoal__hold_t *hold, shoal__command_class_t command_class);

/* has_passed: nothing is in flight.  True: put the held commands back before the queued
 * ones, then call _put_back(). */
bool shoal__hold_is_due(shoal__hold_t *hold, bool has_passed, uint64_t now_us);
void shoal__hold_put_back(shoal__hold_t *hold);

/* It could not be done: not before due_us again. */
static inline void shoal__hold_put_off(shoal__hold_t *hold, uint64_t due_us)
{
    hold->due_us = due_us;
}

/* The connection is gone. */
void shoal__hold_lost(shoal__hold_t *hold);

/* Nothing is outstanding: there is nothing to hold. */
static inline void shoal__hold_end(shoal__hold_t *hold)
{
    hold->state = SHOAL__HOLD_OPEN;
}

shoal__hold_leave_t shoal__hold_leave(const shoal__hold_t *hold, uint64_t now_us);

/* When to ask shoal__hold_is_due() again; NEVER: when something was answered. */
uint64_t shoal__hold_wake_us(const shoal__hold_t *hold, bool has_passed);

/* Does a command of this class wait for the end of the hold? */
static inline bool shoal__hold_picks(const shoal__hold_t *hold,
                                     shoal__command_class_t command_class)
{
    return hold->scope == SHOAL__HOLD_ALL ||
           (hold->scope == SHOAL__HOLD_WRITES && command_class != SHOAL__CLASS_RO);
}

#endif
