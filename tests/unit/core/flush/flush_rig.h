/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CORE_FLUSH_RIG_H
#define TESTS_UNIT_CORE_FLUSH_RIG_H

/* A policy in a given situation, and the owner's calls.  Commands have 20 bytes.
 * Included after <cmocka.h>. */

#include "base/time_us.h"
#include "core/flush/flush_auto.h"
#include "core/flush/flush_policy.h"

#define IDLE SHOAL__FLUSH_IDLE
#define WAIT SHOAL__FLUSH_WAIT
#define NOW SHOAL__FLUSH_NOW
#define NEVER SHOAL__NEVER_US
#define BUDGET_US 100

static const shoal__flush_config_t config_auto = {.mode = SHOAL_FLUSH_AUTO,
                                                  .pause_us = BUDGET_US,
                                                  .bytes_max = 262144,
                                                  .commands_max = 65536,
                                                  .has_fine_waker = true};

static inline void add(shoal__flush_policy_t *policy, uint64_t commands,
                       uint64_t now_us)
{
    for (uint64_t i = 0; i < commands; i++)
        shoal__flush_policy_add(policy, 20, false, now_us);
}

static inline void write_out(shoal__flush_policy_t *policy, uint64_t commands,
                             uint64_t now_us)
{
    shoal__flush_policy_flushed(policy, commands, (size_t)commands * 20, now_us);
}

static inline shoal__flush_answer_t ask(shoal__flush_policy_t *policy, uint64_t now_us)
{
    return shoal__flush_policy_ask(policy, NEVER, now_us);
}

/* A policy that has seen `callers` callers, of whom `inflight` wait for a reply at
 * 1000, and that knows nothing of their pace. */
static inline void prepare(shoal__flush_policy_t *policy, uint64_t callers,
                           uint64_t inflight)
{
    shoal__flush_policy_init(policy, &config_auto);
    add(policy, callers, 990);
    shoal__flush_auto_note(policy, 990);
    policy->decided_us = 990;
    write_out(policy, callers, 990);
    shoal__flush_policy_completed(policy, callers - inflight, 1000);
    shoal__flush_tempo_forget(&policy->learned.tempo);
    policy->learned.guard.probe_us = NEVER;
    assert_int_equal(policy->inflight, inflight);
}

#endif
