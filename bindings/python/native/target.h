/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_TARGET_H
#define SHOAL_PYTHON_TARGET_H

/* Where the commands of a call go, if not where each of them says: over a lease, or to nodes
 * of a cluster. */

#include <shoal/command.h>
#include <stdint.h>

typedef struct shoalpy_target {
    shoal_lease_t *lease; /* NULL: the shared connections */
    uint32_t route;       /* of enum shoal_route */
    uint32_t route_slot;
    const char *route_node;
} shoalpy_target_t;

/* NULL: as each command says. */
static inline void shoalpy_target_set(const shoalpy_target_t *target,
                                      shoal_call_t *call)
{
    if (!target)
        return;
    call->lease = target->lease;
    call->route = target->route;
    call->route_slot = target->route_slot;
    call->route_node = target->route_node;
}

#endif
