/* SPDX-License-Identifier: MIT */
#include "core/extra.h"

#include "base/alloc.h"
#include <string.h>

/* One block: the extra, the values of each command, the references. */
shoal__extra_t *shoal__extra_new(size_t commands, size_t references)
{
    size_t bytes = sizeof(shoal__extra_t);
    shoal__extra_t *extra;

    if (references > 0)
        bytes += commands * sizeof(shoal__values_t) +
                 references * sizeof(shoal__reference_t);
    extra = shoal__calloc(1, bytes);
    if (!extra)
        return NULL;
    extra->owners = commands;
    if (references > 0)
        extra->values = (shoal__values_t *)(extra + 1);
    return extra;
}

shoal__reference_t *shoal__extra_references(const shoal__extra_t *extra,
                                            size_t commands)
{
    return (shoal__reference_t *)(extra->values + commands);
}

bool shoal__extra_take_route(shoal__extra_t *extra, const shoal_call_t *call)
{
    size_t bytes = call->route == SHOAL_ROUTE_NODE ? strlen(call->route_node) + 1 : 0;

    extra->route = (uint8_t)call->route;
    extra->route_slot = (uint16_t)call->route_slot;
    if (bytes == 0)
        return true;
    extra->route_node = shoal__malloc(bytes);
    if (extra->route_node)
        memcpy(extra->route_node, call->route_node, bytes);
    return extra->route_node != NULL;
}

void shoal__extra_free(shoal__extra_t *extra)
{
    if (extra)
        shoal__free(extra->route_node);
    shoal__free(extra);
}

void shoal__extra_drop_last(shoal__extra_t *extra)
{
    if (extra->on_release)
        extra->on_release(extra->release_data);
    shoal__extra_free(extra);
}
