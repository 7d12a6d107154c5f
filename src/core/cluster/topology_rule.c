/* SPDX-License-Identifier: MIT */
#include "core/cluster/topology_rule.h"

#include "base/time_us.h"

#define SPREAD_US 200000      /* of clients that hear of the same change ... */
#define SPREAD_NODE_US 10000  /* ... for each node more than this with many ... */
#define SPREAD_US_MAX 5000000 /* ... and at most */
#define LACK_PAUSE_US UINT64_C(1000000)      /* before the first repetition ... */
#define LACK_PAUSE_US_MAX UINT64_C(16000000) /* ... and the last one: each is doubled */

static uint64_t spread_us(unsigned nodes)
{
    uint64_t by_nodes_us = (uint64_t)nodes * SPREAD_NODE_US;

    if (by_nodes_us < SPREAD_US)
        return SPREAD_US;
    return by_nodes_us < SPREAD_US_MAX ? by_nodes_us : SPREAD_US_MAX;
}

static uint64_t urgent_gap_us(const shoal__topology_rule_t *rule)
{
    unsigned doublings = rule->in_vain > SHOAL__TOPOLOGY_URGENT_MAX
                             ? rule->in_vain - SHOAL__TOPOLOGY_URGENT_MAX
                             : 0;
    uint64_t gap_us = doublings < 5 ? (uint64_t)SHOAL__TOPOLOGY_GAP_US << doublings
                                    : SHOAL__TOPOLOGY_URGENT_US_MAX;

    return gap_us < SHOAL__TOPOLOGY_URGENT_US_MAX ? gap_us
                                                  : SHOAL__TOPOLOGY_URGENT_US_MAX;
}

void shoal__topology_want(shoal__topology_rule_t *rule, shoal__topology_wish_t wish,
                          unsigned nodes, uint64_t now_us, shoal__random_t *random)
{
    uint64_t gap_us = urgent_gap_us(rule), at_us = now_us;

    if (wish == SHOAL__TOPOLOGY_SOON && rule->soon_us > 0)
        return; /* the first time is as good as any: the soonest of many is no spread */
    if (wish == SHOAL__TOPOLOGY_SOON) {
        at_us += shoal__random_below(random, spread_us(nodes));
        if (rule->in_vain > 0)
            gap_us = SHOAL__TOPOLOGY_CALM_US;
    }
    if (rule->asked_us > 0)
        at_us = shoal__time_max(at_us, rule->asked_us + gap_us);
    if (wish == SHOAL__TOPOLOGY_SOON)
        rule->soon_us = at_us;
    rule->due_us = shoal__time_min(rule->due_us, at_us);
}

static void plan_again(shoal__topology_rule_t *rule, unsigned nodes, uint64_t now_us,
                       shoal__random_t *random)
{
    uint64_t at_us = rule->lacks_us;

    rule->again_us = 0;
    for (uint64_t pause_us = LACK_PAUSE_US; at_us > 0 && pause_us <= LACK_PAUSE_US_MAX;
         pause_us *= 2) {
        at_us += pause_us;
        if (at_us <= now_us)
            continue;
        rule->again_us = at_us + shoal__random_below(random, spread_us(nodes));
        return;
    }
}

void shoal__topology_begin(shoal__topology_rule_t *rule, unsigned nodes,
                           uint64_t now_us, shoal__random_t *random)
{
    rule->is_asking = true;
    rule->soon_us = 0;
    rule->asked_us = now_us;
    rule->due_us = now_us + SHOAL__TOPOLOGY_POLL_US - SHOAL__TOPOLOGY_POLL_US / 10 +
                   shoal__random_below(random, SHOAL__TOPOLOGY_POLL_US / 5);
    plan_again(rule, nodes, now_us, random);
}

void shoal__topology_end(shoal__topology_rule_t *rule, bool is_news)
{
    rule->is_asking = false;
    rule->in_vain = is_news ? 0 : rule->in_vain + 1;
}

void shoal__topology_note_lack(shoal__topology_rule_t *rule, bool lacks_nodes,
                               unsigned nodes, uint64_t now_us, shoal__random_t *random)
{
    if (lacks_nodes && rule->lacks_us > 0)
        return; /* the next question is planned already */
    rule->lacks_us = lacks_nodes ? now_us : 0;
    plan_again(rule, nodes, now_us, random);
}

bool shoal__topology_believes(bool knows_us, uint64_t foreign_us, uint64_t now_us)
{
    return knows_us || (foreign_us > 0 && shoal__time_since(foreign_us, now_us) >=
                                              SHOAL__TOPOLOGY_FOREIGN_US);
}

uint64_t shoal__topology_next_us(const shoal__topology_rule_t *rule)
{
    if (rule->is_asking)
        return rule->asked_us + SHOAL__TOPOLOGY_LATE_US;
    return rule->again_us > 0 ? shoal__time_min(rule->due_us, rule->again_us)
                              : rule->due_us;
}
