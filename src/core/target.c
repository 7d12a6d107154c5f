/* SPDX-License-Identifier: MIT */
#include "core/target.h"

#include "base/alloc.h"
#include <stdio.h>

static void begin_with(shoal__target_t *target, unsigned endpoint)
{
    target->present = endpoint;
    target->name = endpoint < target->endpoints_count ? target->endpoints[endpoint].name
                                                      : target->named->name;
}

static void forget_named(shoal__target_t *target)
{
    target->named = NULL;
    if (target->present == target->endpoints_count)
        begin_with(target, 0);
}

bool shoal__target_accepts(const shoal__target_t *target, shoal__role_t role)
{
    const shoal__role_facts_t facts = {.role = role,
                                       .choices = target->known,
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
    if (reached->endpoint < target->endpoints_count) {
        begin_with(target, reached->endpoint);
        forget_named(target);
    } else if (target->named) {
        begin_with(target, reached->endpoint);
    }
}

void shoal__target_vacate(shoal__target_t *target, const shoal__reached_t *reached)
{
    target->failed = reached->address;
    if (shoal__address_equals(&target->worked, &reached->address))
        target->worked.bytes = 0;
}

static void avoid(shoal__target_t *target, const shoal__reached_t *reached)
{
    shoal__target_vacate(target, reached);
    if (reached->endpoint != target->present)
        return;
    if (target->present == target->endpoints_count)
        forget_named(target);
    else
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

/* NULL: no memory, or there were too many. */
static shoal__named_endpoint_t *remember(shoal__target_t *target,
                                         const shoal__redirect_t *redirect)
{
    bool is_ipv6 = strchr(redirect->host, ':') != NULL;
    shoal__named_endpoint_t *named = target->all_named;

    while (named && (named->endpoint.port != redirect->port ||
                     strcmp(named->host, redirect->host) != 0))
        named = named->next;
    if (named || target->all_named_count == SHOAL__NAMED_ENDPOINTS_MAX)
        return named;
    named = shoal__calloc(1, sizeof *named);
    if (!named)
        return NULL;
    snprintf(named->host, sizeof named->host, "%s", redirect->host);
    snprintf(named->name, sizeof named->name, is_ipv6 ? "[%s]:%d" : "%s:%d",
             redirect->host, redirect->port);
    named->endpoint = (shoal__endpoint_t){.name = named->name,
                                          .host = named->host,
                                          .port = redirect->port,
                                          .by = &named->by};
    named->next = target->all_named;
    target->all_named = named;
    target->all_named_count++;
    return named;
}

void shoal__target_redirect(shoal__target_t *target, const shoal__reached_t *reached,
                            const shoal__redirect_t *redirect)
{
    shoal__named_endpoint_t *named = remember(target, redirect);

    shoal__target_leave(target, reached);
    if (!named)
        return;
    named->by = reached->address;
    target->named = named;
    begin_with(target, target->endpoints_count);
}

void shoal__target_release(shoal__target_t *target)
{
    while (target->all_named) {
        shoal__named_endpoint_t *named = target->all_named;
        target->all_named = named->next;
        shoal__free(named);
    }
}
