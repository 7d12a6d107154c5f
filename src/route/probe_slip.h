/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_PROBE_SLIP_H
#define SHOAL_ROUTE_PROBE_SLIP_H

/* What became of a probe: written on the thread of the client that published it, read by the
 * loop of the pubsub, which looks when it has to know.  The last holder frees it. */

#include "base/alloc.h"
#include "core/push/probe_rule.h"
#include <stdatomic.h>

typedef struct shoal__probe_slip {
    _Atomic unsigned holders;
    _Atomic uint64_t answered_us; /* written before `said` */
    _Atomic shoal__probe_said_t said;
} shoal__probe_slip_t;

/* Of one holder.  NULL: no memory. */
static inline shoal__probe_slip_t *shoal__probe_slip_new(void)
{
    shoal__probe_slip_t *slip = shoal__calloc(1, sizeof *slip);

    if (slip)
        atomic_store_explicit(&slip->holders, 1, memory_order_relaxed);
    return slip;
}

static inline void shoal__probe_slip_keep(shoal__probe_slip_t *slip)
{
    atomic_fetch_add_explicit(&slip->holders, 1, memory_order_relaxed);
}

/* NULL is allowed. */
static inline void shoal__probe_slip_drop(shoal__probe_slip_t *slip)
{
    if (slip && atomic_fetch_sub_explicit(&slip->holders, 1, memory_order_acq_rel) == 1)
        shoal__free(slip);
}

static inline void shoal__probe_slip_write(shoal__probe_slip_t *slip,
                                           shoal__probe_said_t said, uint64_t now_us)
{
    atomic_store_explicit(&slip->answered_us, now_us, memory_order_relaxed);
    atomic_store_explicit(&slip->said, said, memory_order_release);
}

#endif
