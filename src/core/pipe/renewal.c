/* SPDX-License-Identifier: MIT */
#include "core/pipe/renewal.h"

#define DRAIN_US 1000000
#define SPACING_US_MIN 1000000
#define SPACING_US_MAX 30000000

void shoal__renewal_init(shoal__renewal_t *renewal)
{
    *renewal = (shoal__renewal_t){.end_us = SHOAL__NEVER_US};
}

void shoal__renewal_ask(shoal__renewal_t *renewal, const char *reason, uint64_t now_us)
{
    if (shoal__time_since(renewal->asked_us, now_us) >= SPACING_US_MAX)
        renewal->spacing_us = 0;
    renewal->asked_us = now_us;
    if (shoal__renewal_is_under_way(renewal) ||
        shoal__time_since(renewal->begun_us, now_us) < renewal->spacing_us)
        return;
    renewal->end_us = now_us + DRAIN_US;
    renewal->begun_us = now_us;
    renewal->spacing_us =
        renewal->spacing_us == 0
            ? SPACING_US_MIN
            : shoal__time_min(2 * renewal->spacing_us, SPACING_US_MAX);
    renewal->reason = reason;
}

void shoal__renewal_anew(shoal__renewal_t *renewal)
{
    renewal->spacing_us = shoal__time_min(renewal->spacing_us, SPACING_US_MIN);
}

bool shoal__renewal_is_due(const shoal__renewal_t *renewal, bool is_drained,
                           uint64_t now_us)
{
    return shoal__renewal_is_under_way(renewal) &&
           (is_drained || now_us >= renewal->end_us);
}
