/* SPDX-License-Identifier: MIT */
#include "core/flush/flush_auto.h"

/* Servers read 16 KiB at a time: a longer batch saves them nothing. */
#define BYTES_ENOUGH 16384

/* Half of so many commands keep a server busy for longer than it takes to wake up. */
#define STAGGER_COMMANDS_MIN 64
#define STAGGER_US_DEFAULT 30 /* while the round trip is not known */
#define STAGGER_US_MAX 50

/* So many callers that are awake gather their commands; and so many do it even if the
 * server has nothing to do. */
#define AWAKE_SOME 6
#define AWAKE_MANY 16

/* With company: a server is quick that was once seen to need no longer than the budget and so
 * much for each command in flight.  Behind a proxy close by there may be one far away. */
#define ANSWER_US_PER_COMMAND 10
#define ANSWER_US_MAX 10000 /* no batch waits longer for an answer */

/* A hold must be expected to bring so many commands, in tenths. */
#define HOLD_TENTHS_MIN 15
/* Beyond so many budgets, round trips are long enough for the gate alone. */
#define HOLD_RTTS_MAX 8
/* If so many more commands come during a probe than replies let callers send, that one
 * probe begins a trial. */
#define FLOOD 16

/* Commands have dried up if none came for TAIL_US and so many gaps. */
#define TAIL_GAPS 4
#define TAIL_US 20

void shoal__flush_auto_init(shoal__flush_auto_t *learned)
{
    *learned = (shoal__flush_auto_t){.asked_us = SHOAL__NEVER_US};
    shoal__flush_census_init(&learned->census);
    shoal__flush_tempo_init(&learned->tempo);
    shoal__flush_guard_init(&learned->guard, 0);
}

void shoal__flush_auto_note(shoal__flush_policy_t *policy, uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;
    uint64_t outstanding = policy->queued + policy->inflight;

    if (outstanding > 0 && policy->inflight == 0 &&
        shoal__flush_census_resume(&learned->census, policy->oldest_us)) {
        shoal__flush_tempo_forget(&learned->tempo);
        shoal__flush_guard_forget(&learned->guard, now_us);
        learned->hold_until_us = 0;
    }
    shoal__flush_census_note(&learned->census, outstanding, now_us);
}

void shoal__flush_auto_completed(shoal__flush_policy_t *policy, uint64_t commands,
                                 uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;

    learned->completed += commands;
    shoal__flush_census_completed(&learned->census, commands,
                                  policy->queued + policy->inflight);
    shoal__flush_guard_completed(&learned->guard, commands,
                                 learned->tempo.rtt_us + policy->config.pause_us,
                                 now_us);
}

void shoal__flush_auto_lost(shoal__flush_policy_t *policy, uint64_t commands,
                            uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;

    learned->hold_until_us = learned->stagger_until_us = learned->stagger_us = 0;
    learned->is_quick = false;
    learned->tempo.sample_us = 0;
    learned->asked_us = SHOAL__NEVER_US;
    shoal__flush_auto_completed(policy, commands, now_us);
}

/* ---- holds ---- */

static uint64_t hold_us(const shoal__flush_policy_t *policy)
{
    return policy->config.pause_us;
}

/* No command waits longer than that. */
static uint64_t budget_end_us(const shoal__flush_policy_t *policy)
{
    return shoal__time_after(policy->oldest_us, policy->config.pause_us);
}

/* Could a hold gather company at all, and be ended in time? */
static bool is_worth_holding(shoal__flush_policy_t *policy)
{
    shoal__flush_tempo_t *tempo = &policy->learned.tempo;

    if (!policy->config.has_fine_waker || tempo->gap_ns == SHOAL__NEVER_US ||
        tempo->gap_ns * HOLD_TENTHS_MIN > hold_us(policy) * 10000 ||
        tempo->rtt_us > hold_us(policy) * HOLD_RTTS_MAX)
        return false;
    if (tempo->late_us * 2 < hold_us(policy))
        return true;
    shoal__flush_tempo_doubt(tempo);
    return false;
}

static void begin_hold(shoal__flush_policy_t *policy, uint64_t from_us)
{
    shoal__flush_auto_t *learned = &policy->learned;
    uint64_t callers = shoal__flush_census_callers(&learned->census);
    uint64_t outstanding = policy->queued + policy->inflight;

    learned->hold_until_us = shoal__time_after(from_us, hold_us(policy));
    learned->hold_from = learned->arrived;
    learned->hold_loosed_from = learned->completed;
    learned->hold_free = callers > outstanding ? callers - outstanding : 0;
}

/* Did more commands come than replies let callers send, and did they come up to the end
 * of the hold? */
static shoal__hold_outcome_t judge_hold(const shoal__flush_policy_t *policy,
                                        uint64_t now_us)
{
    const shoal__flush_auto_t *learned = &policy->learned;
    uint64_t arrived = learned->arrived - learned->hold_from;
    uint64_t loosed =
        learned->hold_free + (learned->completed - learned->hold_loosed_from);
    uint64_t tail_ns =
        shoal__time_since(learned->tempo.arrived_us + TAIL_US, now_us) * 1000;
    bool is_dry = tail_ns > learned->tempo.gap_ns * TAIL_GAPS;

    if (learned->guard.state == SHOAL__GUARD_CLOSED && arrived >= loosed + FLOOD)
        return SHOAL__HOLD_FLOODED;
    if (is_dry)
        return SHOAL__HOLD_DRIED_UP;
    if (learned->guard.state != SHOAL__GUARD_CLOSED || arrived > loosed)
        return SHOAL__HOLD_FLOWED;
    /* If a round trip is longer than the hold, an open loop has as many replies as
     * commands, too.  Then the variation of the peaks decides. */
    return learned->tempo.rtt_us > hold_us(policy) &&
                   shoal__flush_census_is_varied(&learned->census)
               ? SHOAL__HOLD_FLOWED
               : SHOAL__HOLD_DRIED_UP;
}

static void end_hold(shoal__flush_policy_t *policy, uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;
    shoal__hold_outcome_t outcome = judge_hold(policy, now_us);

    learned->hold_until_us = 0;
    shoal__flush_guard_held(&learned->guard, outcome, now_us);
}

/* No more commands are expected.  Flush; or hold once, as a probe. */
static shoal__flush_answer_t flush_or_probe(shoal__flush_policy_t *policy,
                                            shoal_flush_reason_t reason,
                                            uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;

    if (learned->guard.state != SHOAL__GUARD_CLOSED || !is_worth_holding(policy) ||
        !shoal__flush_guard_may_hold(&learned->guard, now_us))
        return shoal__flush_now(reason);
    begin_hold(policy, policy->oldest_us);
    if (learned->hold_until_us <= now_us) {
        learned->hold_until_us = 0;
        return shoal__flush_now(reason);
    }
    return shoal__flush_wait(learned->hold_until_us,
                             shoal__flush_commands_to(policy, BYTES_ENOUGH));
}

/* ---- staggering ---- */

/* How long the second half is to wait: until the server has woken up and has read the
 * first half.  0: there is nothing to be gained. */
static uint64_t stagger_us(shoal__flush_policy_t *policy)
{
    shoal__flush_tempo_t *tempo = &policy->learned.tempo;
    uint64_t us = tempo->rtt_us ? tempo->rtt_us / 2 : STAGGER_US_DEFAULT;

    us = shoal__time_min(us, STAGGER_US_MAX);
    us = shoal__time_min(us, policy->config.pause_us);
    if (!policy->config.has_fine_waker || policy->inflight ||
        policy->queued < STAGGER_COMMANDS_MIN)
        return 0;
    if (us > tempo->late_us)
        return us;
    shoal__flush_tempo_doubt(tempo);
    return 0;
}

static shoal__flush_answer_t flush_half(shoal__flush_policy_t *policy, uint64_t us)
{
    shoal__flush_answer_t answer = shoal__flush_now(SHOAL_FLUSHED_COMPLETE);

    policy->learned.stagger_us = us;
    answer.commands = policy->queued / 2;
    return answer;
}

static shoal__flush_answer_t ask_staggered(shoal__flush_policy_t *policy,
                                           uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;
    uint64_t until_us =
        shoal__time_min(learned->stagger_until_us, budget_end_us(policy));

    if (now_us < until_us && policy->inflight >= learned->stagger_inflight)
        return shoal__flush_wait(until_us,
                                 shoal__flush_commands_to(policy, BYTES_ENOUGH));
    learned->stagger_until_us = 0;
    return shoal__flush_now(SHOAL_FLUSHED_STAGGER);
}

static shoal__flush_answer_t ask_held(shoal__flush_policy_t *policy, uint64_t now_us)
{
    uint64_t until_us =
        shoal__time_min(policy->learned.hold_until_us, budget_end_us(policy));

    if (now_us < until_us)
        return shoal__flush_wait(until_us,
                                 shoal__flush_commands_to(policy, BYTES_ENOUGH));
    end_hold(policy, now_us);
    return shoal__flush_now(SHOAL_FLUSHED_BUDGET);
}

/* ---- company ---- */

/* Each read of another connection brings commands for this one: if they left at once, batches
 * would be split further and further.  While the server has something to do, waiting for its
 * answer costs them no more than the way there and back. */
static bool is_worth_awaiting(shoal__flush_policy_t *policy)
{
    shoal__flush_auto_t *learned = &policy->learned;
    uint64_t busy_us = policy->inflight * ANSWER_US_PER_COMMAND;
    uint64_t rtt_us = learned->tempo.rtt_us;

    if (!policy->config.has_company || !policy->is_near)
        return false;
    learned->is_quick |= rtt_us > 0 && rtt_us <= policy->config.pause_us + busy_us;
    return learned->is_quick;
}

static shoal__flush_answer_t ask_answered(const shoal__flush_policy_t *policy,
                                          uint64_t now_us)
{
    uint64_t until_us = shoal__time_after(policy->flushed_us, ANSWER_US_MAX);

    return policy->inflight > 0 && now_us < until_us
               ? shoal__flush_wait(until_us,
                                   shoal__flush_commands_to(policy, BYTES_ENOUGH))
               : shoal__flush_now(SHOAL_FLUSHED_COMPLETE);
}

/* ---- the decision ---- */

/* The commands that can be queued within half of the budget. */
static uint64_t reach(const shoal__flush_policy_t *policy)
{
    uint64_t gap_ns = policy->learned.tempo.gap_ns;

    if (gap_ns == SHOAL__NEVER_US || gap_ns == 0)
        return UINT64_MAX;
    return 1 + policy->config.pause_us * 1000 / (2 * gap_ns);
}

/* Are so many queued commands worth a flush while replies are due? */
static bool opens_gate(const shoal__flush_policy_t *policy, uint64_t queued)
{
    /* queued >= floor(sqrt(inflight)) */
    return (queued + 1) * (queued + 1) > policy->inflight;
}

/* So many more commands end a hold of the gate. */
static uint64_t commands_to_gate(const shoal__flush_policy_t *policy, uint64_t callers)
{
    uint64_t queued = policy->queued, more = 1;

    while (queued + more + policy->inflight < callers &&
           !opens_gate(policy, queued + more))
        more++;
    return more;
}

/* Callers that are awake cost no wake-ups, and wait for their replies in any case.  So
 * half of them gather a batch, while the server works for the others.  A few are better
 * off one by one, and some more should not let a server stand still that has nothing to
 * do. */
static shoal__flush_answer_t ask_awake(const shoal__flush_policy_t *policy,
                                       uint64_t now_us)
{
    uint64_t callers = policy->awake, queued = policy->queued;
    bool is_free = policy->inflight == 0;

    if (callers <= 1)
        return shoal__flush_now(SHOAL_FLUSHED_LONE);
    if (callers < AWAKE_SOME || queued * 2 >= callers)
        return shoal__flush_now(SHOAL_FLUSHED_GATE);
    if (is_free &&
        (policy->is_still || (callers < AWAKE_MANY && queued * 4 >= callers)))
        return shoal__flush_now(SHOAL_FLUSHED_COMPLETE);
    return now_us < budget_end_us(policy) ? shoal__flush_wait(budget_end_us(policy), 1)
                                          : shoal__flush_now(SHOAL_FLUSHED_BUDGET);
}

static shoal__flush_answer_t decide(shoal__flush_policy_t *policy, uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;
    uint64_t queued = policy->queued, inflight = policy->inflight;
    uint64_t callers = shoal__flush_census_callers(&learned->census);
    uint64_t split_us;

    if (policy->queued_bytes >= BYTES_ENOUGH)
        return shoal__flush_now(SHOAL_FLUSHED_FULL);
    if (policy->awake > 0)
        return ask_awake(policy, now_us);
    if (callers <= 1)
        return shoal__flush_now(SHOAL_FLUSHED_LONE);
    if (learned->awaits_answer)
        return ask_answered(policy, now_us);
    if (learned->stagger_until_us)
        return ask_staggered(policy, now_us);
    if (learned->hold_until_us)
        return ask_held(policy, now_us);

    /* Every caller waits already, or no reply is due whose arrival would ask again. */
    if (queued + inflight >= callers || inflight == 0) {
        split_us = queued >= callers ? stagger_us(policy) : 0;
        return split_us ? flush_half(policy, split_us)
                        : flush_or_probe(policy, SHOAL_FLUSHED_COMPLETE, now_us);
    }

    if (opens_gate(policy, queued) || queued >= reach(policy))
        return flush_or_probe(policy, SHOAL_FLUSHED_GATE, now_us);
    if (now_us >= budget_end_us(policy))
        return shoal__flush_now(SHOAL_FLUSHED_BUDGET);
    /* Without a fine waker the wake-up may come late: look at each command. */
    return shoal__flush_wait(
        budget_end_us(policy),
        policy->config.has_fine_waker ? commands_to_gate(policy, callers) : 1);
}

/* How late did the wake-up of the last answer come, if it came? */
static void notice_wake(shoal__flush_auto_t *learned, uint64_t now_us)
{
    if (now_us >= learned->asked_us)
        shoal__flush_tempo_woke(&learned->tempo, learned->asked_us, now_us);
    learned->asked_us = SHOAL__NEVER_US;
}

shoal__flush_answer_t shoal__flush_auto_ask(shoal__flush_policy_t *policy,
                                            uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;
    shoal__flush_answer_t answer;

    notice_wake(learned, now_us);
    shoal__flush_tempo_look(&learned->tempo, now_us);
    if (policy->config.pause_us == 0)
        return shoal__flush_now(policy->queued + policy->inflight == 1
                                    ? SHOAL_FLUSHED_LONE
                                    : SHOAL_FLUSHED_TURN);
    answer = decide(policy, now_us);
    learned->asked_us = answer.wake_us;
    return answer;
}

shoal__flush_answer_t shoal__flush_auto_rest(shoal__flush_policy_t *policy,
                                             uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;
    shoal__flush_answer_t answer = {
        .verdict = SHOAL__FLUSH_IDLE, .wake_us = SHOAL__NEVER_US, .wake_after = 1};

    notice_wake(learned, now_us);
    learned->stagger_until_us = 0;
    if (learned->hold_until_us && now_us >= learned->hold_until_us)
        end_hold(policy, now_us);
    if (learned->hold_until_us) {
        /* Commands that come meanwhile do not wake the loop. */
        answer.wake_us = learned->hold_until_us;
        answer.wake_after = shoal__flush_commands_to(policy, BYTES_ENOUGH);
    }
    learned->asked_us = answer.wake_us;
    return answer;
}

void shoal__flush_auto_flushed(shoal__flush_policy_t *policy, uint64_t now_us)
{
    shoal__flush_auto_t *learned = &policy->learned;

    /* A probe that this flush cuts short counts as a probe. */
    if (learned->hold_until_us && learned->guard.state == SHOAL__GUARD_CLOSED)
        end_hold(policy, now_us);
    learned->hold_until_us = learned->stagger_until_us = 0;
    learned->awaits_answer = is_worth_awaiting(policy);
    if (learned->awaits_answer) {
        learned->stagger_us = 0;
        return;
    }
    if (learned->stagger_us && policy->queued) {
        uint64_t late_us = learned->tempo.late_us;
        learned->stagger_until_us = now_us + learned->stagger_us - late_us;
        learned->stagger_inflight = policy->inflight;
    } else if (learned->guard.state != SHOAL__GUARD_CLOSED &&
               shoal__flush_guard_may_hold(&learned->guard, now_us) &&
               shoal__flush_census_callers(&learned->census) > 1 &&
               policy->awake == 0 && is_worth_holding(policy)) {
        begin_hold(policy, now_us);
    }
    learned->stagger_us = 0;
}
