/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FLUSH_AUTO_H
#define SHOAL_CORE_FLUSH_AUTO_H

/*
 * The rules of `auto`.  Each rule removes one fault of fixed pauses:
 *
 *   population  flush as soon as every caller that could contribute already waits:
 *               queued + in flight has reached the number of callers (flush_census)
 *   gate        with f commands in flight, hold only until about sqrt(f) are queued;
 *               replies and arrivals are the events, no clock is needed.  Few callers
 *               of a server close by: until half of them have queued
 *   stagger     many callers that all wait at once leave in two halves, the second
 *               when the server has begun with the first: from then on client and
 *               server work at the same time instead of in turns
 *   hold        commands that come whether or not replies do (flush_guard) are
 *               gathered for the latency budget, counted from the flush before
 *
 * After silence everything learned is forgotten, so a burst has no long memory.
 */

#include "base/time_us.h"
#include "core/flush/flush_state.h"

void shoal__flush_auto_init(shoal__flush_auto_t *learned);
/* queued + inflight may have reached a new peak; called before completions and
 * before a decision. */
void shoal__flush_auto_note(shoal__flush_policy_t *policy, uint64_t now_us);
void shoal__flush_auto_completed(shoal__flush_policy_t *policy, uint64_t commands,
                                 uint64_t now_us);
void shoal__flush_auto_flushed(shoal__flush_policy_t *policy, uint64_t now_us);
/* `commands` that were outstanding ended with their connection. */
void shoal__flush_auto_lost(shoal__flush_policy_t *policy, uint64_t commands,
                            uint64_t now_us);
/* Commands are queued: what now?  Nothing is queued: when to look again? */
shoal__flush_answer_t shoal__flush_auto_ask(shoal__flush_policy_t *policy,
                                            uint64_t now_us);
shoal__flush_answer_t shoal__flush_auto_rest(shoal__flush_policy_t *policy,
                                             uint64_t now_us);

/* About so many more commands make a batch of so many bytes; 1 at least. */
uint64_t shoal__flush_commands_to(const shoal__flush_policy_t *policy, size_t bytes);

static inline shoal__flush_answer_t shoal__flush_now(shoal_flush_reason_t reason)
{
    return (shoal__flush_answer_t){
        .verdict = SHOAL__FLUSH_NOW, .reason = reason, .wake_us = SHOAL__NEVER_US};
}

static inline shoal__flush_answer_t shoal__flush_wait(uint64_t wake_us,
                                                      uint64_t wake_after)
{
    return (shoal__flush_answer_t){.verdict = SHOAL__FLUSH_WAIT,
                                   .wake_us = wake_us,
                                   .wake_after = wake_after ? wake_after : 1};
}

#endif
