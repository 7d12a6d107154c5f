/* SPDX-License-Identifier: MIT */
#include "core/credentials_rule.h"

#include "base/time_us.h"

#define FORGIVEN_US 120000000

/* After so many failures, or refusals, in a row: at least 1. */
static uint64_t pause_us(unsigned count)
{
    uint64_t us = SHOAL__CREDENTIALS_PAUSE_US_MIN;

    while (--count > 0 && us < SHOAL__CREDENTIALS_PAUSE_US_MAX)
        us *= 2;
    return shoal__time_min(us, SHOAL__CREDENTIALS_PAUSE_US_MAX);
}

void shoal__credentials_rule_init(shoal__credentials_rule_t *rule, uint64_t timeout_us)
{
    *rule = (shoal__credentials_rule_t){.timeout_us = timeout_us};
}

bool shoal__credentials_rule_asks(shoal__credentials_rule_t *rule, uint64_t now_us)
{
    if (rule->is_asking || now_us < rule->next_us)
        return false;
    rule->is_asking = true;
    rule->is_refused = false;
    rule->asked_us = now_us;
    return true;
}

bool shoal__credentials_rule_is_late(const shoal__credentials_rule_t *rule,
                                     uint64_t now_us)
{
    return rule->is_asking &&
           now_us >= shoal__time_after(rule->asked_us, rule->timeout_us);
}

static void end_question(shoal__credentials_rule_t *rule)
{
    rule->is_asking = false;
    rule->has_outcome = true;
}

void shoal__credentials_rule_given(shoal__credentials_rule_t *rule, uint64_t refresh_us,
                                   uint64_t now_us)
{
    end_question(rule);
    rule->failures = 0;
    rule->next_us =
        refresh_us == 0
            ? SHOAL__NEVER_US
            : shoal__time_after(
                  now_us, shoal__time_max(refresh_us, SHOAL__CREDENTIALS_PAUSE_US_MIN));
}

void shoal__credentials_rule_failed(shoal__credentials_rule_t *rule, uint64_t now_us)
{
    end_question(rule);
    rule->next_us = now_us + pause_us(++rule->failures);
}

void shoal__credentials_rule_refused(shoal__credentials_rule_t *rule, uint64_t now_us)
{
    if (rule->is_asking || rule->is_refused) /* another answer is awaited anyway */
        return;
    rule->is_refused = true;
    if (shoal__time_since(rule->refused_us, now_us) >= FORGIVEN_US)
        rule->refusals = 0;
    rule->refused_us = now_us;
    rule->next_us = shoal__time_min(
        rule->next_us,
        shoal__time_max(now_us, rule->asked_us + pause_us(++rule->refusals)));
}

uint64_t shoal__credentials_rule_wake_us(const shoal__credentials_rule_t *rule)
{
    return rule->is_asking ? shoal__time_after(rule->asked_us, rule->timeout_us)
                           : rule->next_us;
}
