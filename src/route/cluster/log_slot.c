/* SPDX-License-Identifier: MIT */
#include "route/cluster/log_slot.h"

#include "core/cluster/fan_rule.h"
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

/* A unit stays together, whatever its commands are.  A command over several slots was
 * accepted because it may be split. */
static unsigned slot_of_itself(const shoal__request_t *request, const char *bytes,
                               shoal__command_book_t *book)
{
    unsigned slot = shoal__request_slot(request, bytes, book);
    shoal__fan_t fan;

    if (slot == SHOAL__SLOT_SEVERAL)
        return SHOAL__SLOT_SPREAD;
    if (slot != SHOAL__SLOT_NONE || (request->flags & SHOAL__REQUEST_UNIT))
        return slot;
    fan = shoal__fan_of_encoded((shoal__bytes_t){bytes, request->bytes});
    return shoal__fan_is_wide(&fan) ? SHOAL__SLOT_SPREAD : SHOAL__SLOT_NONE;
}

unsigned shoal__log_slot(const shoal__request_t *request, const char *bytes,
                         shoal__command_book_t *book)
{
    const shoal__extra_t *extra = request->extra;

    if (extra && extra->refusal < 0)
        return SHOAL__SLOT_SPREAD; /* its result is made there */
    if (extra && extra->route != SHOAL_ROUTE_AUTO)
        return routed_slot(extra);
    return slot_of_itself(request, bytes, book);
}
