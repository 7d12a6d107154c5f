/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_LANE_CHOICE_H
#define SHOAL_ROUTE_LANE_CHOICE_H

/* Which commands take the bulk lane, and which home have the others?  Finds their keys, and
 * asks core/lane_rule.h.  Commands that stay together (has_more) go together. */

#include "route/lanes.h"

/* Must the route look at each command? */
bool shoal__lane_choice_is_due(const shoal__lanes_t *lanes, uint64_t now_us);

/* What a side of the mailbox holds for the lane.  Marks its requests: those that are still
 * APART are to be pushed to the lane, not leased ones aside; `attempts` of the others, leased
 * ones aside, is the number of their home, and to be 0 again when they are pushed. */
shoal__lanes_share_t shoal__lane_choice(shoal__lanes_t *lanes,
                                        const shoal__mailbox_side_t *side,
                                        uint64_t now_us);

#endif
