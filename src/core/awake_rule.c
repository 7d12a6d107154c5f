/* SPDX-License-Identifier: MIT */
#include "core/awake_rule.h"

#include "base/time_us.h"

/* Now and then a server, or a machine, stops for a moment.  A failure that comes after so
 * many results for each caller costs less than staying awake has gained; if it took longer,
 * because other programs got the CPU, after as many more. */
#define RESULTS_ENOUGH 16
#define FAILURES_MAX 3

#define PAUSE_US_MIN 20000
#define PAUSE_US_MAX 640000

void shoal__awake_rule_failed(shoal__awake_rule_t *rule,
                              const shoal__awake_failure_t *failure, uint64_t now_us)
{
    uint64_t results = failure->answered - rule->answered;
    uint64_t enough =
        failure->callers * RESULTS_ENOUGH * failure->idle_us / SHOAL__AWAKE_IDLE_US_MAX;

    rule->answered = failure->answered;
    if (results >= enough) {
        rule->failures = 0;
        rule->pause_us = 0;
        return;
    }
    if (++rule->failures < FAILURES_MAX)
        return;
    rule->failures = 0;
    rule->pause_us = rule->pause_us ? shoal__time_min(2 * rule->pause_us, PAUSE_US_MAX)
                                    : PAUSE_US_MIN;
    rule->since_us = now_us + rule->pause_us;
}
