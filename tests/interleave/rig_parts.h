/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_RIG_PARTS_H
#define TESTS_INTERLEAVE_RIG_PARTS_H

/* Between the loop of the rig, its connection and its checks. */

#include "core/pipe/request_ring.h"
#include "interleave/rig.h"
#include <stdbool.h>

void rig_loop_begin(void);
/* Has the loop's thread something to read?  What to watch for that. */
bool rig_socket_is_readable(void);
const void *rig_socket(void);
void rig_socket_read(void);

/* Check from now on that the seat's count of callers that are awake is exact whenever the
 * loop is parked.  lacks_memory: fail one growth of a caller's. */
void rig_checks_begin(shoal_client_t *client, const shoal__request_ring_t *ring,
                      bool lacks_memory);
/* A caller polls: it must not keep results from others. */
void rig_check_poll(void);
extern rig_seen_t rig_seen_now;

#endif
