/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_LEASE_POOL_H
#define SHOAL_CORE_LEASE_POOL_H

/* The bounds of the leased connections of one client: where the next holder gets its
 * connection from, and how long an idle connection is kept. */

#include "core/places.h"
#include <stddef.h>
#include <stdint.h>

#define SHOAL__LEASE_CONNECTIONS_MAX 64
#define SHOAL__LEASE_WAITING_MAX 1024

typedef enum shoal__lease_source {
    SHOAL__LEASE_FROM_POOL, /* the connection that became idle last */
    SHOAL__LEASE_FROM_DIAL, /* a new one */
    SHOAL__LEASE_WAIT       /* in line */
} shoal__lease_source_t;

/* `idle` connections wait for a holder, `busy` ones have one, or are being cleaned; `others` are
 * idle, but lead to other servers: one of them can be closed instead. */
shoal__lease_source_t shoal__lease_pool_source(size_t idle, size_t others, size_t busy,
                                               const shoal__places_t *places);

/* Until when a connection is kept that is idle since since_us, if `younger` others became
 * idle after it. */
uint64_t shoal__lease_pool_until_us(size_t younger, uint64_t since_us);

#endif
