/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FLUSH_GUARD_H
#define SHOAL_CORE_FLUSH_GUARD_H

/*
 * Decides whether the policy may hold commands to gather more, although every known
 * caller waits already.  More commands come only from callers that do not wait for
 * replies (an open loop).  The guard finds out whether there are such callers, and
 * tests that again:
 *
 *   CLOSED  no holds, but from time to time one as a probe.  In a closed loop a probe
 *           dries up: no more commands come than replies let callers send.  Two probes
 *           that do not dry up begin a trial; each one that does makes probes rarer.
 *   TRIAL   eight epochs with and without holds in an order that cancels drifts:
 *           callers that pause between commands do not dry up, but holds slow them.
 *   OPEN    the trial showed no loss of throughput: hold.  When holds dry up, or the
 *           pace of commands has changed, or after a while, it is tried again.
 *
 * Guarantee: a probe in a closed loop costs one hold; there are eleven in the first two
 * seconds, and then one in 640 ms.
 */

#include <stdbool.h>
#include <stdint.h>

#define SHOAL__GUARD_EPOCHS 8

typedef enum shoal__guard_state {
    SHOAL__GUARD_CLOSED,
    SHOAL__GUARD_TRIAL,
    SHOAL__GUARD_OPEN,
} shoal__guard_state_t;

typedef enum shoal__hold_outcome {
    SHOAL__HOLD_DRIED_UP, /* as in a closed loop */
    SHOAL__HOLD_FLOWED,   /* commands kept coming that no reply let loose */
    SHOAL__HOLD_FLOODED,  /* by far */
} shoal__hold_outcome_t;

typedef struct shoal__flush_guard {
    shoal__guard_state_t state;
    uint64_t probe_us;    /* CLOSED: no probe before then */
    uint64_t interval_us; /* between probes that dry up */
    unsigned flowed;      /* evidence of an open loop: grows with each probe that did
                             not dry up, shrinks with each that did; never below 0 */
    unsigned dried_up;    /* OPEN: holds that dried up, minus holds that did not; never
                             below 0 */
    uint64_t dried_us;    /* OPEN: dry holds begin no trial before then */

    unsigned epoch; /* TRIAL: which; TRIAL, OPEN: since when */
    uint64_t epoch_since_us;
    uint64_t epoch_completed;
    uint64_t epoch_ns[SHOAL__GUARD_EPOCHS]; /* time of one command */

    uint64_t probes; /* so far */
    uint64_t trials;

    uint64_t judged_ns; /* OPEN: the time of one command in the trial */
    unsigned strange;   /* OPEN: epochs in a row with another pace */
    uint64_t trust_us;  /* OPEN: until the next trial; grows with each */
    uint64_t trust_end_us;
} shoal__flush_guard_t;

void shoal__flush_guard_init(shoal__flush_guard_t *guard, uint64_t now_us);

/* The callers may be others from now on. */
void shoal__flush_guard_forget(shoal__flush_guard_t *guard, uint64_t now_us);

/* May commands be held now? */
bool shoal__flush_guard_may_hold(const shoal__flush_guard_t *guard, uint64_t now_us);

/* A hold has ended. */
void shoal__flush_guard_held(shoal__flush_guard_t *guard, shoal__hold_outcome_t outcome,
                             uint64_t now_us);

/* `commands` completed; cycle_us: how long one takes with a hold. */
void shoal__flush_guard_completed(shoal__flush_guard_t *guard, uint64_t commands,
                                  uint64_t cycle_us, uint64_t now_us);

#endif
