/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_PARTING_H
#define SHOAL_ROUTE_PARTING_H

/* The commands of a side of the mailbox go to different connections: to leases, to the bulk
 * lane, and to the homes of their keys.
 *
 * Loop thread. */

#include "net/mailbox.h"
#include "route/lanes.h"
#include "route/leases.h"

/* Either all of them are placed, or none is: false, no memory. */
bool shoal__parting_place(shoal__lanes_t *lanes, shoal__leases_t *leases,
                          const shoal__mailbox_side_t *side, uint64_t now_us);

#endif
