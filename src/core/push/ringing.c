/* SPDX-License-Identifier: MIT */
#include "core/push/ringing.h"

#include "base/time_us.h"

bool shoal__ringing_is_due(shoal__ringing_t *ringing, bool has_items, uint64_t now_us)
{
    if (!has_items)
        return true;
    if (!ringing->is_held)
        *ringing = (shoal__ringing_t){.is_held = true, .since_us = now_us};
    return shoal__time_since(ringing->since_us, now_us) >= SHOAL__RINGING_HELD_US;
}
