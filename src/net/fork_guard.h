/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_FORK_GUARD_H
#define SHOAL_NET_FORK_GUARD_H

/* Tells whether this process is the forked child of the one that opened the client.
 * The test costs one load; asking for the process id would cost a system call.
 * (I14) */

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint64_t shoal__fork_count; /* of this process and those above it */

/* A number that differs between a process and its children. */
static inline uint64_t shoal__fork_generation(void)
{
    return atomic_load_explicit(&shoal__fork_count, memory_order_relaxed);
}

/* Begin to count; before the first client.  0 or an errno, negated. */
int shoal__fork_guard_start(void);

#endif
