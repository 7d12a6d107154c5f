/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_PACE_H
#define SHOAL_TOOLS_FAULT_PACE_H

/*
 * When bytes that come now are due at the other side: the line's speed, its delay, and a
 * jitter that never changes the order.  The clock is handed in.
 */

#include "base/random.h"
#include "fault_proxy/fault_carriage.h"

typedef struct fault_pace {
    shoal__random_t dice;
    uint64_t free_ns; /* when a slow line has sent all it was given */
    uint64_t last_ns; /* when the latest bytes are due */
} fault_pace_t;

/* How many bytes may share one moment. */
size_t fault_pace_piece_bytes(const fault_carriage_t *carriage);
/* How many bytes may be on the way: of a slow line no more than it needs to be busy, so
 * that its sender notices. */
size_t fault_pace_window(const fault_carriage_t *carriage, size_t bytes_max);
/* When the next `bytes` are due. */
uint64_t fault_pace_due_ns(fault_pace_t *pace, const fault_carriage_t *carriage,
                           size_t bytes, uint64_t now_ns);

#endif
