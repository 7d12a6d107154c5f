/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_COUNTER_H
#define SHOAL_BASE_COUNTER_H

/* A number that one thread writes and any thread may read, at the price of a plain one:
 * a relaxed load and a relaxed store, never a locked instruction. */

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t shoal__counter_t;

static inline uint64_t shoal__counter_get(const shoal__counter_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static inline void shoal__counter_set(shoal__counter_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, value, memory_order_relaxed);
}

static inline void shoal__counter_add(shoal__counter_t *counter, uint64_t value)
{
    shoal__counter_set(counter, shoal__counter_get(counter) + value);
}

#endif
