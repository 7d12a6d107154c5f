/* SPDX-License-Identifier: MIT */
#include "core/target.h"

static void begin_with(shoal__target_t *target, unsigned endpoint)
{
    target->present = endpoint;
    target->name = target->endpoints[endpoint].name;
}

bool shoal__target_accepts(const shoal__target_t *target, shoal__role_t role)
{
    const shoal__role_facts_t facts = {.role = role,
                                       .choices = target->choices,
                                       .replicas = target->replicas,
                                       .has_company =
                                           shoal__target_has_company(target)};

    return shoal__role_is_accepted(&facts);
}

void shoal__target_worked(shoal__target_t *target, const shoal__reached_t *reached,
                          shoal__role_t role)
{
    target->worked = reached->address;
    if (shoal__address_equals(&target->failed, &reached->address))
        target->failed.bytes = 0;
    if (role != SHOAL__ROLE_REPLICA)
        target->replicas = 0;
    target->is_left = false;
    begin_with(target, reached->endpoint);
}

static void avoid(shoal__target_t *target, const shoal__reached_t *reached)
{
    target->failed = reached->address;
    if (shoal__address_equals(&target->worked, &reached->address))
        target->worked.bytes = 0;
    if (reached->endpoint == target->present)
        begin_with(target, (target->present + 1) % target->endpoints_count);
}

void shoal__target_failed(shoal__target_t *target, const shoal__reached_t *reached,
                          shoal__role_t role)
{
    if (role == SHOAL__ROLE_REPLICA)
        target->replicas++;
    if (!shoal__target_has_company(target))
        avoid(target, reached);
}

void shoal__target_leave(shoal__target_t *target, const shoal__reached_t *reached)
{
    target->is_left = true;
    target->replicas = 0;
    avoid(target, reached);
}
