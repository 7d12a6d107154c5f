/* SPDX-License-Identifier: MIT */
#include "core/push/probe_rule.h"

#include "base/time_us.h"

#define RESTART_INTERVALS_MAX 10

/* Before a connection is made new once more. */
static uint64_t patience(const shoal__probe_facts_t *facts)
{
    static const unsigned intervals[] = {0, 1, 2, 4, 8};
    unsigned count = facts->restarts < sizeof intervals / sizeof *intervals
                         ? intervals[facts->restarts]
                         : RESTART_INTERVALS_MAX;

    return facts->interval_us * count;
}

static shoal__probe_act_t act_at(uint64_t due_us, shoal__probe_act_t act,
                                 uint64_t now_us, uint64_t *ret_wake_us)
{
    *ret_wake_us = due_us > now_us ? due_us : now_us;
    return now_us < due_us ? SHOAL__PROBE_WAIT : act;
}

shoal__probe_act_t shoal__probe_rule(const shoal__probe_facts_t *facts, uint64_t now_us,
                                     uint64_t *ret_wake_us)
{
    *ret_wake_us = now_us;
    if (facts->sent_us == SHOAL__NEVER_US)
        return act_at(facts->heard_us + facts->interval_us, SHOAL__PROBE_PUBLISH,
                      now_us, ret_wake_us);
    if (facts->said == SHOAL__PROBE_FORBIDDEN)
        return SHOAL__PROBE_STOP;
    if (facts->heard_us >= facts->sent_us || facts->said == SHOAL__PROBE_FAILED)
        return SHOAL__PROBE_FORGET;
    if (facts->said == SHOAL__PROBE_TAKEN)
        return act_at(facts->taken_us + facts->interval_us + patience(facts),
                      SHOAL__PROBE_RESTART, now_us, ret_wake_us);
    *ret_wake_us = now_us + facts->interval_us; /* its answer rings no bell */
    return SHOAL__PROBE_WAIT;
}
