/* SPDX-License-Identifier: MIT */
#include "core/flush_auto.h"

#include "base/time_us.h"

/* Servers read 16 KiB at a time: a longer batch saves them nothing. */
#define BYTES_ENOUGH 16384

/* After this long with nothing outstanding, the callers may be others. */
#define SILENCE_US 2000

void shoal__flush_auto_init(shoal__flush_auto_t *learned)
{
    *learned = (shoal__flush_auto_t){0};
}

void shoal__flush_auto_note(shoal__flush_policy_t *policy, uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;
    uint64_t outstanding = policy->queued + policy->inflight;

    if (outstanding == 0)
        return;
    if (policy->inflight == 0 &&
        shoal__time_since(learned->last_us, policy->oldest_us) > SILENCE_US)
        shoal__flush_auto_init(learned);

    learned->last_us = now_us;
    if (outstanding > learned->peak)
        learned->peak = outstanding;
    if (learned->cycle_left == 0)
        learned->cycle_left = outstanding;
}

void shoal__flush_auto_completed(shoal__flush_policy_t *policy, uint64_t commands)
{
    shoal__flush_auto_t *learned = &policy->learned;

    if (commands == 0)
        return;
    if (commands < learned->cycle_left) {
        learned->cycle_left -= commands;
        return;
    }

    /* Every command outstanding at the start of the cycle has completed. */
    learned->peaks[learned->next_peak] = learned->peak;
    learned->next_peak = (learned->next_peak + 1) % SHOAL__FLUSH_PEAKS;
    learned->peak = learned->cycle_left = policy->queued + policy->inflight;
}

/* As many callers as could contribute to this flush. */
static uint64_t population(const shoal__flush_auto_t *learned)
{
    uint64_t most = learned->peak;

    for (unsigned i = 0; i < SHOAL__FLUSH_PEAKS; i++)
        if (learned->peaks[i] > most)
            most = learned->peaks[i];
    return most;
}

static shoal__flush_answer_t now_because(shoal_flush_reason_t reason)
{
    return (shoal__flush_answer_t){
        .verdict = SHOAL__FLUSH_NOW, .reason = reason, .wake_us = SHOAL__NEVER_US};
}

shoal__flush_answer_t shoal__flush_auto_ask(shoal__flush_policy_t *policy,
                                            uint64_t now_us)
{
    uint64_t queued = policy->queued, inflight = policy->inflight;
    uint64_t callers = population(&policy->learned);

    if (policy->queued_bytes >= BYTES_ENOUGH)
        return now_because(SHOAL_FLUSHED_FULL);
    if (callers <= 1)
        return now_because(SHOAL_FLUSHED_LONE);

    /* Nobody is left to wait for, or nobody's reply is due whose arrival would ask
     * again. */
    if (queued + inflight >= callers || inflight == 0)
        return now_because(SHOAL_FLUSHED_COMPLETE);

    /* queued >= floor(sqrt(inflight)) */
    if ((queued + 1) * (queued + 1) > inflight)
        return now_because(SHOAL_FLUSHED_GATE);

    if (shoal__time_since(policy->oldest_us, now_us) >= policy->config.pause_us)
        return now_because(SHOAL_FLUSHED_BUDGET);
    return (shoal__flush_answer_t){
        .verdict = SHOAL__FLUSH_WAIT,
        .wake_us = shoal__time_after(policy->oldest_us, policy->config.pause_us)};
}
