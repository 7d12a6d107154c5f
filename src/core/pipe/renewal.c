/* SPDX-License-Identifier: MIT */
#include "core/pipe/renewal.h"

#define DRAIN_US 1000000
#define SPACING_US 1000000

void shoal__renewal_init(shoal__renewal_t *renewal)
{
    *renewal = (shoal__renewal_t){.end_us = SHOAL__NEVER_US};
}

void shoal__renewal_ask(shoal__renewal_t *renewal, const char *reason, uint64_t now_us)
{
    if (shoal__renewal_is_under_way(renewal) || now_us < renewal->next_us)
        return;
    renewal->end_us = now_us + DRAIN_US;
    renewal->next_us = now_us + SPACING_US;
    renewal->reason = reason;
}

bool shoal__renewal_is_due(const shoal__renewal_t *renewal, bool is_drained,
                           uint64_t now_us)
{
    return shoal__renewal_is_under_way(renewal) &&
           (is_drained || now_us >= renewal->end_us);
}
