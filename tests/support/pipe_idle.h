/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_PIPE_IDLE_H
#define TESTS_SUPPORT_PIPE_IDLE_H

/* True if a pipe owes no result.  The library's own commands do not count, nor do
 * commands that have their result and wait for a reply that will be dropped. */

#include "core/pipe/pipe.h"

static inline bool pipe_is_idle(const shoal__pipe_t *pipe)
{
    const uint16_t settled =
        SHOAL__REQUEST_ZOMBIE | SHOAL__REQUEST_GONE | SHOAL__REQUEST_INTERNAL;

    if (shoal__pipe_held(pipe) > 0)
        return false;
    for (uint64_t at = pipe->ring.head; at != pipe->ring.tail; at++)
        if (!(shoal__request_ring_at(&pipe->ring, at)->flags & settled))
            return false;
    return true;
}

#endif
