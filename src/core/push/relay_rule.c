/* SPDX-License-Identifier: MIT */
#include "core/push/relay_rule.h"

/* Nothing was dropped yet that was to be handed over. */
static shoal__relay_verdict_t before_the_marker(shoal__relay_stage_t stage,
                                                const shoal__relay_facts_t *facts)
{
    bool has_failed = facts->is_thwarted || facts->is_late;

    if (facts->is_gone)
        return SHOAL__RELAY_PART;
    if (stage >= SHOAL__RELAY_COPYING && has_failed)
        return SHOAL__RELAY_ANEW;
    /* The successor may owe an answer, with which nobody could take it over. */
    if (stage == SHOAL__RELAY_JOINING && !facts->is_done)
        return facts->is_late ? SHOAL__RELAY_ANEW : SHOAL__RELAY_STAY;
    if (has_failed || facts->is_alone)
        return SHOAL__RELAY_GIVE_UP;
    return facts->is_done ? SHOAL__RELAY_GO_ON : SHOAL__RELAY_STAY;
}

/* The present connection's messages are dropped; or the successor, which carries now, skips. */
static shoal__relay_verdict_t behind_the_marker(const shoal__relay_facts_t *facts)
{
    if (facts->is_done)
        return SHOAL__RELAY_GO_ON;
    return facts->is_gone || facts->is_thwarted || facts->is_late ? SHOAL__RELAY_LOSE
                                                                  : SHOAL__RELAY_STAY;
}

shoal__relay_verdict_t shoal__relay_rule(shoal__relay_stage_t stage,
                                         const shoal__relay_facts_t *facts)
{
    switch (stage) {
    case SHOAL__RELAY_WAITING:
    case SHOAL__RELAY_JOINING:
    case SHOAL__RELAY_COUNTING:
    case SHOAL__RELAY_COPYING:
        return before_the_marker(stage, facts);
    case SHOAL__RELAY_MARKING:
        if (!facts->is_done)
            return before_the_marker(stage, facts);
        return facts->is_gone ? SHOAL__RELAY_LOSE : SHOAL__RELAY_GO_ON;
    case SHOAL__RELAY_TAKING:
    case SHOAL__RELAY_SKIPPING:
        return behind_the_marker(facts);
    case SHOAL__RELAY_PARTING:
        return facts->is_done || facts->is_thwarted ? SHOAL__RELAY_GO_ON
                                                    : SHOAL__RELAY_STAY;
    case SHOAL__RELAY_NONE:
    case SHOAL__RELAY_STAGE_COUNT:
        break;
    }
    return SHOAL__RELAY_STAY;
}
