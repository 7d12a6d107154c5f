/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FLUSH_AUTO_H
#define SHOAL_CORE_FLUSH_AUTO_H

/*
 * The rules of `auto`, each removing one failure of fixed pauses:
 *
 *   population  flush as soon as every caller that could contribute already waits:
 *               queued + in flight has reached the most that was outstanding in the
 *               last 12 round trips
 *   gate        with f commands in flight, hold only until about sqrt(f) are queued;
 *               replies and arrivals are the events, no clock is needed
 *
 * Holds never arm a timer shorter than the budget, and after silence everything
 * learned is forgotten, so a burst has no long memory.
 */

#include "core/flush_policy.h"

void shoal__flush_auto_init(shoal__flush_auto_t *learned);
/* queued + inflight may have reached a new peak; called before completions and
 * before a decision. */
void shoal__flush_auto_note(shoal__flush_policy_t *policy, uint64_t now_us);
void shoal__flush_auto_completed(shoal__flush_policy_t *policy, uint64_t commands);
shoal__flush_answer_t shoal__flush_auto_ask(shoal__flush_policy_t *policy,
                                            uint64_t now_us);

#endif
