/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_FORK_GUARD_H
#define SHOAL_NET_FORK_GUARD_H

/* Tells a forked child from its parent for the price of a load, where asking for the
 * process id would be a system call.  (I14) */

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
