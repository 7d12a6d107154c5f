/* SPDX-License-Identifier: MIT */
#include "core/hold_rule.h"

#include "base/time_us.h"

#define PAUSE_US_MIN 10000
#define PAUSE_US_MAX 250000
#define PAUSE_DOUBLINGS 5
#define FORGET_US 1000000 /* so long after a pause, the next one is short again */

static uint64_t pause_us(unsigned doublings)
{
    return shoal__time_min((uint64_t)PAUSE_US_MIN << doublings, PAUSE_US_MAX);
}

static unsigned doublings_at(const shoal__hold_t *hold, uint64_t now_us)
{
    return shoal__time_since(hold->due_us, now_us) >= FORGET_US ? 0 : hold->doublings;
}

/* Is a pause planned that a command shares which is refused now? */
static bool is_planned(const shoal__hold_t *hold)
{
    return hold->state == SHOAL__HOLD_GATHERING || hold->state == SHOAL__HOLD_WAITING;
}

uint64_t shoal__hold_next_us(const shoal__hold_t *hold, uint64_t now_us)
{
    return is_planned(hold) ? shoal__time_max(hold->due_us, now_us)
                            : now_us + pause_us(doublings_at(hold, now_us));
}

uint64_t shoal__hold_end_us(uint64_t submitted_us, uint64_t deadline_us)
{
    return shoal__time_min(deadline_us,
                           shoal__time_after(submitted_us, SHOAL__HOLD_US_MAX));
}

static void plan(shoal__hold_t *hold, uint64_t now_us, shoal__random_t *random)
{
    unsigned doublings = doublings_at(hold, now_us);
    uint64_t half_us = pause_us(doublings) / 2;

    hold->due_us = now_us + half_us + shoal__random_below(random, half_us + 1);
    hold->doublings = doublings < PAUSE_DOUBLINGS ? doublings + 1 : doublings;
}

void shoal__hold_refused(shoal__hold_t *hold, shoal__hold_scope_t scope,
                         uint64_t now_us, shoal__random_t *random)
{
    bool is_wider = hold->state == SHOAL__HOLD_OPEN || scope > hold->scope;

    if (hold->state == SHOAL__HOLD_OPEN) {
        hold->since_us = now_us;
        hold->refusals = 0;
    }
    if (!is_planned(hold))
        plan(hold, now_us, random);
    if (is_wider)
        hold->scope = scope;
    if (is_wider || hold->state == SHOAL__HOLD_PROBING)
        hold->state = SHOAL__HOLD_GATHERING;
    hold->refusals++;
}

void shoal__hold_answered(shoal__hold_t *hold, shoal__command_class_t command_class)
{
    if (hold->state == SHOAL__HOLD_PROBING && shoal__hold_picks(hold, command_class))
        hold->state = SHOAL__HOLD_OPEN;
}

bool shoal__hold_is_due(shoal__hold_t *hold, bool has_passed, uint64_t now_us)
{
    if (hold->scope == SHOAL__HOLD_ALONE)
        has_passed = true;
    if (hold->state == SHOAL__HOLD_GATHERING && has_passed)
        hold->state = SHOAL__HOLD_WAITING;
    return hold->state == SHOAL__HOLD_WAITING && has_passed && now_us >= hold->due_us;
}

void shoal__hold_put_back(shoal__hold_t *hold)
{
    hold->state =
        hold->scope == SHOAL__HOLD_ALONE ? SHOAL__HOLD_OPEN : SHOAL__HOLD_PROBING;
}

void shoal__hold_lost(shoal__hold_t *hold)
{
    if (hold->state != SHOAL__HOLD_OPEN)
        hold->state = SHOAL__HOLD_WAITING;
}

shoal__hold_leave_t shoal__hold_leave(const shoal__hold_t *hold, uint64_t now_us)
{
    if (hold->state == SHOAL__HOLD_OPEN || hold->scope == SHOAL__HOLD_ALONE)
        return SHOAL__HOLD_LEAVE_ANY;
    if (hold->state == SHOAL__HOLD_PROBING)
        return SHOAL__HOLD_LEAVE_PROBE;
    return hold->state == SHOAL__HOLD_WAITING && hold->scope == SHOAL__HOLD_WRITES &&
                   now_us < hold->due_us
               ? SHOAL__HOLD_LEAVE_READS
               : SHOAL__HOLD_LEAVE_NONE;
}

uint64_t shoal__hold_wake_us(const shoal__hold_t *hold, bool has_passed)
{
    return is_planned(hold) && (has_passed || hold->scope == SHOAL__HOLD_ALONE)
               ? hold->due_us
               : SHOAL__NEVER_US;
}
