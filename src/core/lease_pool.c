/* SPDX-License-Identifier: MIT */
#include "core/lease_pool.h"

#include "base/time_us.h"

#define IDLE_MAX 8 /* kept for long: a burst of holders leaves more of them behind */
#define KEPT_US 60000000
#define KEPT_BEYOND_US 5000000

shoal__lease_source_t shoal__lease_pool_source(size_t idle, size_t others, size_t busy,
                                               const shoal__places_t *places)
{
    if (shoal__places_are_short(places))
        return SHOAL__LEASE_WAIT;
    if (idle > 0)
        return SHOAL__LEASE_FROM_POOL;
    return busy < SHOAL__LEASE_CONNECTIONS_MAX &&
                   (others > 0 || shoal__places_have_room(places, false))
               ? SHOAL__LEASE_FROM_DIAL
               : SHOAL__LEASE_WAIT;
}

uint64_t shoal__lease_pool_until_us(size_t younger, uint64_t since_us)
{
    return shoal__time_after(since_us, younger < IDLE_MAX ? KEPT_US : KEPT_BEYOND_US);
}
