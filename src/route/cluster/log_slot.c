/* SPDX-License-Identifier: MIT */
#include "route/cluster/log_slot.h"

#include "core/overtaken.h"
#include "resp/command_slot.h"

/* As its caller, or the library, says; NONE: anywhere. */
static unsigned routed_slot(const shoal__extra_t *extra)
{
    switch (extra->route) {
    case SHOAL_ROUTE_ANY:
        return SHOAL__SLOT_NONE;
    case SHOAL_ROUTE_SLOT:
        return extra->route_slot;
    default:
        return SHOAL__SLOT_SPREAD;
    }
}

unsigned shoal__log_slot(const shoal__request_t *request, const char *bytes)
{
    if (request->extra && request->extra->route != SHOAL_ROUTE_AUTO)
        return routed_slot(request->extra);
    return shoal__request_slot(request, bytes);
}
