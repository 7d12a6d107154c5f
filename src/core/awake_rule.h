/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_AWAKE_RULE_H
#define SHOAL_CORE_AWAKE_RULE_H

/*
 * When is it worth while for a caller to stay awake until its reply comes?
 *
 * A caller that sleeps costs two changes of threads, and where a CPU goes idle meanwhile
 * also the time that CPU needs to wake, on both ends: with a server close by that is more
 * than the round trip.  A caller that stays awake looks for replies, its own and others',
 * and between its looks gives the CPU away (sched_yield()).  If others run meanwhile, and
 * get results, nothing is lost.  If nobody does, the caller is idle, and may be so no
 * longer than a sleep would cost.
 *
 * If callers were idle in vain, none stays awake for a while, longer each time.
 *
 * The owner serialises the calls that take a rule.
 */

#include <stdbool.h>
#include <stdint.h>

/* So long may a caller be idle. */
#define SHOAL__AWAKE_IDLE_US_MAX 50
/* With longer round trips no caller stays awake.  They include the wake-ups of both ends,
 * if the callers sleep. */
#define SHOAL__AWAKE_RTT_US_MAX 1000

typedef struct shoal__awake_rule {
    unsigned failures; /* in a row, with few results in between */
    uint64_t answered; /* results until the last failure */
    uint64_t pause_us; /* the last pause; 0: none, or long ago */
    uint64_t since_us; /* no caller stays awake before then */
} shoal__awake_rule_t;

/* One caller that is awake. */
typedef struct shoal__awake_call {
    uint64_t seen_us; /* the last look */
    uint64_t seen;    /* what callers had done until then */
    uint64_t idle_us;
} shoal__awake_call_t;

/* May callers stay awake now?  rtt_us: what a round trip takes; 0: not known. */
static inline bool shoal__awake_rule_allows(const shoal__awake_rule_t *rule,
                                            uint64_t rtt_us, uint64_t now_us)
{
    return rtt_us <= SHOAL__AWAKE_RTT_US_MAX && now_us >= rule->since_us;
}

typedef struct shoal__awake_failure {
    uint64_t callers;  /* that were idle for too long */
    uint64_t idle_us;  /* for so long */
    uint64_t answered; /* a count of the results that callers ever got */
} shoal__awake_failure_t;

void shoal__awake_rule_failed(shoal__awake_rule_t *rule,
                              const shoal__awake_failure_t *failure, uint64_t now_us);

/* `done`: a count of what callers did until now, this one and others. */
static inline shoal__awake_call_t shoal__awake_call(uint64_t done, uint64_t now_us)
{
    return (shoal__awake_call_t){.seen_us = now_us, .seen = done};
}
/* The caller looked, and has no result.  May it stay awake? */
static inline bool shoal__awake_call_may_stay(shoal__awake_call_t *call, uint64_t done,
                                              uint64_t now_us)
{
    if (done == call->seen && now_us > call->seen_us)
        call->idle_us += now_us - call->seen_us;
    call->seen = done;
    call->seen_us = now_us;
    return call->idle_us < SHOAL__AWAKE_IDLE_US_MAX;
}

#endif
