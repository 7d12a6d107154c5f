/* SPDX-License-Identifier: MIT */
#include "core/flush_policy.h"

#include "base/time_us.h"
#include "core/flush_auto.h"

#include <assert.h>

void shoal__flush_policy_init(shoal__flush_policy_t *policy,
                              const shoal__flush_config_t *config)
{
    *policy = (shoal__flush_policy_t){.config = *config};
    shoal__flush_auto_init(&policy->learned);
}

static void forget_queued(shoal__flush_policy_t *policy, uint64_t commands,
                          size_t bytes)
{
    assert(commands <= policy->queued && bytes <= policy->queued_bytes);
    policy->queued -= commands;
    policy->queued_bytes -= bytes;

    /* What stays may be younger than oldest_us, and not urgent: both err towards
     * flushing. */
    if (policy->queued == 0)
        policy->is_urgent = false;
}

void shoal__flush_policy_flushed(shoal__flush_policy_t *policy, uint64_t commands,
                                 size_t bytes, uint64_t write_us, uint64_t now_us)
{
    (void)write_us;
    forget_queued(policy, commands, bytes);
    policy->inflight += commands;
    policy->flushed_us = now_us;
    policy->oldest_us = policy->decided_us;
}

void shoal__flush_policy_removed(shoal__flush_policy_t *policy, uint64_t commands,
                                 size_t bytes)
{
    forget_queued(policy, commands, bytes);
    shoal__flush_auto_completed(policy, commands);
}

void shoal__flush_policy_read_begin(shoal__flush_policy_t *policy, uint64_t now_us)
{
    policy->answered = 0;
    shoal__flush_auto_note(policy, now_us);
}

void shoal__flush_policy_read_end(shoal__flush_policy_t *policy)
{
    shoal__flush_auto_completed(policy, policy->answered);
    policy->answered = 0;
}

void shoal__flush_policy_completed(shoal__flush_policy_t *policy, uint64_t commands,
                                   uint64_t now_us)
{
    assert(commands <= policy->inflight);
    shoal__flush_policy_read_begin(policy, now_us);
    policy->inflight -= commands;
    policy->answered = commands;
    shoal__flush_policy_read_end(policy);
}

void shoal__flush_policy_lost(shoal__flush_policy_t *policy, uint64_t queued,
                              size_t queued_bytes, uint64_t now_us)
{
    uint64_t outstanding = policy->queued + policy->inflight;

    shoal__flush_auto_note(policy, now_us);
    if (policy->queued == 0)
        policy->oldest_us = now_us;
    policy->queued = queued;
    policy->queued_bytes = queued_bytes;
    policy->inflight = 0;
    if (queued == 0)
        policy->is_urgent = false;
    shoal__flush_auto_completed(policy, outstanding);
}

static shoal__flush_answer_t now_because(shoal_flush_reason_t reason)
{
    return (shoal__flush_answer_t){
        .verdict = SHOAL__FLUSH_NOW, .reason = reason, .wake_us = SHOAL__NEVER_US};
}

static shoal__flush_answer_t ask_fixed(const shoal__flush_policy_t *policy,
                                       uint64_t now_us)
{
    /* A command that arrived while the flush was being written is older than it. */
    uint64_t since_us = shoal__time_min(policy->flushed_us, policy->oldest_us);

    if (policy->flushed_us == 0 ||
        shoal__time_since(since_us, now_us) >= policy->config.pause_us)
        return now_because(SHOAL_FLUSHED_BUDGET);

    return (shoal__flush_answer_t){
        .verdict = SHOAL__FLUSH_WAIT,
        .wake_us = shoal__time_after(since_us, policy->config.pause_us)};
}

static shoal__flush_answer_t decide(shoal__flush_policy_t *policy, uint64_t now_us)
{
    const shoal__flush_config_t *config = &policy->config;

    if (policy->queued == 0)
        return (shoal__flush_answer_t){.verdict = SHOAL__FLUSH_IDLE,
                                       .wake_us = SHOAL__NEVER_US};
    if (policy->queued_bytes >= config->bytes_max ||
        policy->queued >= config->commands_max)
        return now_because(SHOAL_FLUSHED_FULL);
    if (policy->is_urgent)
        return now_because(SHOAL_FLUSHED_URGENT);

    /* Holding a lone caller adds latency and cannot gather company.  (P1) */
    bool is_alone = policy->queued + policy->inflight == 1;

    switch (config->mode) {
    case SHOAL_FLUSH_OFF:
        return now_because(is_alone ? SHOAL_FLUSHED_LONE : SHOAL_FLUSHED_TURN);
    case SHOAL_FLUSH_FIXED:
        return is_alone ? now_because(SHOAL_FLUSHED_LONE) : ask_fixed(policy, now_us);
    case SHOAL_FLUSH_AUTO:
        break;
    }
    return shoal__flush_auto_ask(policy, now_us);
}

shoal__flush_answer_t shoal__flush_policy_ask(shoal__flush_policy_t *policy,
                                              uint64_t now_us)
{
    shoal__flush_auto_note(policy, now_us);

    shoal__flush_answer_t answer = decide(policy, now_us);
    if (answer.verdict == SHOAL__FLUSH_NOW)
        policy->decided_us = now_us;
    return answer;
}
