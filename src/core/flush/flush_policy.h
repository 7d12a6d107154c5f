/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FLUSH_POLICY_H
#define SHOAL_CORE_FLUSH_POLICY_H

/*
 * Decides when queued commands leave.  The policy knows no sockets, timers or clocks:
 * the caller passes the time in, reports what happens, and acts on the verdict.
 *
 * The caller asks once per loop turn, after it has read everything and taken over
 * every new command, and again after each write; so "now" already means one write for
 * the whole turn.
 *
 * Guarantees: while a command is queued the verdict is never IDLE.  The policy never
 * holds a lone caller, the only one in the last cycles (P1).  No WAIT ends later than
 * the oldest queued command's submission + the pause or the latency budget, nor so late
 * that a queued command misses its deadline.  An urgent command is never held.
 * But with company (has_company) and a server close by, commands may wait until what is in
 * flight was answered, 10 ms at most: the server could not begin with them earlier.
 */

#include "core/flush/flush_state.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void shoal__flush_policy_init(shoal__flush_policy_t *policy,
                              const shoal__flush_config_t *config);

/* A command of `bytes` encoded bytes, submitted at submitted_us, was queued. */
static inline void shoal__flush_policy_add(shoal__flush_policy_t *policy, size_t bytes,
                                           bool is_urgent, uint64_t submitted_us)
{
    if (policy->queued == 0)
        policy->oldest_us = submitted_us;
    policy->queued += 1;
    policy->queued_bytes += bytes;
    policy->is_urgent |= is_urgent;
    policy->learned.arrived++;
    shoal__flush_tempo_arrived(&policy->learned.tempo, submitted_us);
}

/* The commands that are added next have so many bytes more. */
static inline void shoal__flush_policy_refer(shoal__flush_policy_t *policy,
                                             size_t bytes)
{
    policy->queued_bytes += bytes;
}

/* Queued commands left for the socket. */
void shoal__flush_policy_flushed(shoal__flush_policy_t *policy, uint64_t commands,
                                 size_t bytes, uint64_t now_us);

/* Queued commands went away unwritten: cancelled or expired. */
void shoal__flush_policy_removed(shoal__flush_policy_t *policy, uint64_t commands,
                                 size_t bytes, uint64_t now_us);

/* Replies arrived: begin, one call for each reply, end.  The call for a reply comes
 * before its callback, which may add a command: the answered and the new command must
 * not be counted at the same time. */
void shoal__flush_policy_read_begin(shoal__flush_policy_t *policy, uint64_t now_us);
static inline void shoal__flush_policy_answered(shoal__flush_policy_t *policy)
{
    policy->inflight -= 1;
    policy->answered += 1;
}
void shoal__flush_policy_read_end(shoal__flush_policy_t *policy, uint64_t now_us);

/* `commands` replies were read at once. */
void shoal__flush_policy_completed(shoal__flush_policy_t *policy, uint64_t commands,
                                   uint64_t now_us);

/* The connection is gone: nothing is in flight; `queued` commands of `queued_bytes`
 * wait for the next one.  What was learned of the callers is kept. */
void shoal__flush_policy_lost(shoal__flush_policy_t *policy, uint64_t queued,
                              size_t queued_bytes, uint64_t now_us);

/* deadline_us: no queued command's deadline is before then. */
shoal__flush_answer_t shoal__flush_policy_ask(shoal__flush_policy_t *policy,
                                              uint64_t deadline_us, uint64_t now_us);

#endif
