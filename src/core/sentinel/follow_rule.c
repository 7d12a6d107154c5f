/* SPDX-License-Identifier: MIT */
#include "core/sentinel/follow_rule.h"

shoal__follow_t shoal__follow_rule(const shoal__follow_facts_t *facts)
{
    if (facts->is_waiting)
        return facts->is_news ? SHOAL__FOLLOW_RENEW : SHOAL__FOLLOW_NOTHING;
    if (facts->is_elsewhere)
        return facts->is_news || !facts->is_renewed ? SHOAL__FOLLOW_LEAVE
                                                    : SHOAL__FOLLOW_NOTHING;
    if (!facts->is_news || !facts->is_renewed)
        return SHOAL__FOLLOW_NOTHING;
    return facts->is_following ? SHOAL__FOLLOW_STAY : SHOAL__FOLLOW_RENEW;
}
