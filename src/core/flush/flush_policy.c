/* SPDX-License-Identifier: MIT */
#include "core/flush/flush_policy.h"

#include "base/time_us.h"
#include "core/flush/flush_auto.h"

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
                                 size_t bytes, uint64_t now_us)
{
    bool was_idle = policy->inflight == 0;

    forget_queued(policy, commands, bytes);
    policy->inflight += commands;
    policy->flushed_us = now_us;
    policy->decided -= shoal__time_min(commands, policy->decided);
    if (policy->decided == 0)
        policy->oldest_us = policy->decided_us;
    if (was_idle && commands)
        shoal__flush_tempo_written(&policy->learned.tempo, now_us);
    if (policy->config.mode == SHOAL_FLUSH_AUTO && commands)
        shoal__flush_auto_flushed(policy, now_us);
}

void shoal__flush_policy_removed(shoal__flush_policy_t *policy, uint64_t commands,
                                 size_t bytes, uint64_t now_us)
{
    forget_queued(policy, commands, bytes);
    shoal__flush_auto_completed(policy, commands, now_us);
}

void shoal__flush_policy_read_begin(shoal__flush_policy_t *policy, uint64_t now_us)
{
    policy->answered = 0;
    shoal__flush_auto_note(policy, now_us);
}

void shoal__flush_policy_read_end(shoal__flush_policy_t *policy, uint64_t now_us)
{
    if (policy->answered) {
        shoal__flush_tempo_answered(&policy->learned.tempo, now_us);
        shoal__flush_auto_completed(policy, policy->answered, now_us);
    }
    policy->answered = 0;
}

void shoal__flush_policy_completed(shoal__flush_policy_t *policy, uint64_t commands,
                                   uint64_t now_us)
{
    assert(commands <= policy->inflight);
    shoal__flush_policy_read_begin(policy, now_us);
    policy->inflight -= commands;
    policy->answered = commands;
    shoal__flush_policy_read_end(policy, now_us);
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
    shoal__flush_auto_lost(policy, outstanding, now_us);
}

uint64_t shoal__flush_commands_to(const shoal__flush_policy_t *policy, size_t bytes)
{
    uint64_t mean_bytes = policy->queued ? policy->queued_bytes / policy->queued : 0;

    if (policy->queued_bytes >= bytes)
        return 1;
    return (bytes - policy->queued_bytes) / (mean_bytes ? mean_bytes : 64) + 1;
}

static shoal__flush_answer_t ask_fixed(const shoal__flush_policy_t *policy,
                                       uint64_t now_us)
{
    /* A command that arrived while the flush was being written is older than it. */
    uint64_t since_us = shoal__time_min(policy->flushed_us, policy->oldest_us);

    if (policy->flushed_us == 0 ||
        shoal__time_since(since_us, now_us) >= policy->config.pause_us)
        return shoal__flush_now(SHOAL_FLUSHED_BUDGET);
    return shoal__flush_wait(
        shoal__time_after(since_us, policy->config.pause_us),
        shoal__flush_commands_to(policy, policy->config.bytes_max));
}

static shoal__flush_answer_t decide(shoal__flush_policy_t *policy, uint64_t now_us)
{
    const shoal__flush_config_t *config = &policy->config;

    if (policy->queued_bytes >= config->bytes_max ||
        policy->queued >= config->commands_max)
        return shoal__flush_now(SHOAL_FLUSHED_FULL);
    if (policy->is_urgent)
        return shoal__flush_now(SHOAL_FLUSHED_URGENT);

    /* Holding a lone caller adds latency and cannot gather company.  (P1) */
    bool is_alone = policy->queued + policy->inflight == 1;

    switch (config->mode) {
    case SHOAL_FLUSH_OFF:
        return shoal__flush_now(is_alone ? SHOAL_FLUSHED_LONE : SHOAL_FLUSHED_TURN);
    case SHOAL_FLUSH_FIXED:
        return is_alone ? shoal__flush_now(SHOAL_FLUSHED_LONE)
                        : ask_fixed(policy, now_us);
    case SHOAL_FLUSH_AUTO:
        break;
    }
    return shoal__flush_auto_ask(policy, now_us);
}

/* Would a command that waits until then have too little time left for its round trip? */
static bool is_too_late(const shoal__flush_policy_t *policy, uint64_t deadline_us,
                        uint64_t wake_us)
{
    return shoal__time_after(wake_us, policy->learned.tempo.rtt_us) >= deadline_us;
}

shoal__flush_answer_t shoal__flush_policy_ask(shoal__flush_policy_t *policy,
                                              uint64_t deadline_us, uint64_t now_us)
{
    bool is_auto = policy->config.mode == SHOAL_FLUSH_AUTO;
    shoal__flush_answer_t answer;

    if (is_auto)
        shoal__flush_auto_note(policy, now_us);
    if (policy->queued == 0)
        return is_auto ? shoal__flush_auto_rest(policy, now_us)
                       : (shoal__flush_answer_t){.verdict = SHOAL__FLUSH_IDLE,
                                                 .wake_us = SHOAL__NEVER_US,
                                                 .wake_after = 1};

    answer = decide(policy, now_us);
    if (answer.verdict == SHOAL__FLUSH_WAIT && deadline_us != SHOAL__NEVER_US &&
        is_too_late(policy, deadline_us, answer.wake_us))
        answer = shoal__flush_now(SHOAL_FLUSHED_DEADLINE);
    if (answer.verdict == SHOAL__FLUSH_NOW) {
        policy->decided_us = now_us;
        policy->decided = policy->queued;
    }
    return answer;
}
