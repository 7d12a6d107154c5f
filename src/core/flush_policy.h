/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FLUSH_POLICY_H
#define SHOAL_CORE_FLUSH_POLICY_H

/*
 * Decides when queued commands leave.  Knows nothing of sockets, timers or clocks: the
 * caller passes the time in, reports what happens, and acts on the verdict.
 *
 * The caller asks once per loop turn, after it has read everything and taken over
 * every new command; so "now" already means one write for the whole turn.
 *
 * Guarantees: while a command is queued the verdict is never IDLE.  A lone caller
 * (queued + in flight = 1) is never held.  (P1)  No WAIT ends later than the oldest
 * queued command's arrival + the pause or the latency budget.
 */

#include <shoal/options.h>
#include <shoal/stats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shoal__flush_config {
    shoal_flush_mode_t mode;
    uint64_t pause_us;   /* FIXED: the pause; AUTO: the latency budget */
    size_t bytes_max;    /* flush once this many bytes are queued */
    size_t commands_max; /* flush once this many commands are queued */
} shoal__flush_config_t;

typedef enum shoal__flush_verdict {
    SHOAL__FLUSH_IDLE, /* nothing is queued */
    SHOAL__FLUSH_WAIT, /* ask again at wake_us, or when something happens */
    SHOAL__FLUSH_NOW,
} shoal__flush_verdict_t;

typedef struct shoal__flush_answer {
    shoal__flush_verdict_t verdict;
    shoal_flush_reason_t reason; /* for NOW */
    uint64_t wake_us; /* for WAIT; SHOAL__NEVER_US: a reply will come first */
} shoal__flush_answer_t;

/* How many callers there are, learned from what is outstanding; see flush_auto.c. */
#define SHOAL__FLUSH_PEAKS 12
typedef struct shoal__flush_auto {
    uint64_t peaks[SHOAL__FLUSH_PEAKS]; /* most outstanding, of the last cycles */
    unsigned next_peak;
    uint64_t peak;       /* of the present cycle */
    uint64_t cycle_left; /* completions until the present cycle ends */
    uint64_t last_us;    /* something was outstanding then, for the last time */
} shoal__flush_auto_t;

typedef struct shoal__flush_policy {
    shoal__flush_config_t config;
    uint64_t queued; /* commands not written */
    uint64_t queued_bytes;
    uint64_t inflight;   /* written, unanswered */
    uint64_t oldest_us;  /* arrival of the oldest queued command */
    uint64_t flushed_us; /* the former flush; 0: none yet */
    uint64_t decided_us; /* the last verdict NOW; what it leaves behind is younger */
    uint64_t answered;   /* in the present read */
    bool is_urgent;      /* a queued command must not be held */
    shoal__flush_auto_t learned;
} shoal__flush_policy_t;

void shoal__flush_policy_init(shoal__flush_policy_t *policy,
                              const shoal__flush_config_t *config);

/* A command of `bytes` encoded bytes was queued at now_us. */
static inline void shoal__flush_policy_add(shoal__flush_policy_t *policy, size_t bytes,
                                           bool is_urgent, uint64_t now_us)
{
    if (policy->queued == 0)
        policy->oldest_us = now_us;
    policy->queued += 1;
    policy->queued_bytes += bytes;
    policy->is_urgent |= is_urgent;
}

/* Queued commands left for the socket; the call that wrote them took write_us. */
void shoal__flush_policy_flushed(shoal__flush_policy_t *policy, uint64_t commands,
                                 size_t bytes, uint64_t write_us, uint64_t now_us);

/* Queued commands went away unwritten: cancelled or expired. */
void shoal__flush_policy_removed(shoal__flush_policy_t *policy, uint64_t commands,
                                 size_t bytes);

/* Replies arrived: begin, one call for each reply before its callback runs (which may
 * add a command: it must not be counted beside the one it follows), end. */
void shoal__flush_policy_read_begin(shoal__flush_policy_t *policy, uint64_t now_us);
static inline void shoal__flush_policy_answered(shoal__flush_policy_t *policy)
{
    policy->inflight -= 1;
    policy->answered += 1;
}
void shoal__flush_policy_read_end(shoal__flush_policy_t *policy);

/* `commands` replies were read at once. */
void shoal__flush_policy_completed(shoal__flush_policy_t *policy, uint64_t commands,
                                   uint64_t now_us);

/* The connection is gone: nothing is in flight; `queued` commands of `queued_bytes`
 * wait for the next one.  What was learned of the callers is kept. */
void shoal__flush_policy_lost(shoal__flush_policy_t *policy, uint64_t queued,
                              size_t queued_bytes, uint64_t now_us);

shoal__flush_answer_t shoal__flush_policy_ask(shoal__flush_policy_t *policy,
                                              uint64_t now_us);

#endif
