/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_READS_H
#define SHOAL_ROUTE_READS_H

/*
 * Puts replicas before a route to one server: commands that replicas may execute go to
 * them, all others the way that they go without.  It takes the place of the route's table,
 * and calls it.
 *
 * Loop thread.
 */

#include "core/options.h"
#include "net/conn.h"
#include "route/route.h"

typedef struct shoal__reads_plan {
    const shoal_options_t *options;    /* borrowed */
    shoal__conn_t *primary;            /* borrowed: the route's first connection */
    const shoal__route_hooks_t *hooks; /* of the route; copied */
    void *owner;                       /* of the hooks */
} shoal__reads_plan_t;

/* Do nothing if the options want no replicas.  0, or SHOAL_ENOMEM: the route is as it
 * was.  From then on the route's own table says how to free all. */
int shoal__reads_init(shoal__route_t *route, const shoal__reads_plan_t *plan);

#endif
