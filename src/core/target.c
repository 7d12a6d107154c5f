/* SPDX-License-Identifier: MIT */
#include "core/target.h"

static void begin_with(shoal__target_t *target, unsigned endpoint)
{
    target->present = endpoint;
    target->name = target->endpoints[endpoint].name;
}

void shoal__target_worked(shoal__target_t *target, const shoal__reached_t *reached)
{
    target->worked = reached->address;
    if (shoal__address_equals(&target->failed, &reached->address))
        target->failed.bytes = 0;
    begin_with(target, reached->endpoint);
}

void shoal__target_failed(shoal__target_t *target, const shoal__reached_t *reached)
{
    if (target->ready > 0)
        return;
    target->failed = reached->address;
    if (shoal__address_equals(&target->worked, &reached->address))
        target->worked.bytes = 0;
    if (reached->endpoint == target->present)
        begin_with(target, (target->present + 1) % target->endpoints_count);
}
