/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_TIME_US_H
#define SHOAL_BASE_TIME_US_H

/* Microseconds of a monotonic clock with an unspecified origin.  Reads no clock. */

#include <stdbool.h>
#include <stdint.h>

#define SHOAL__NEVER_US UINT64_MAX

/* now + delay, or never. */
static inline uint64_t shoal__time_after(uint64_t now_us, uint64_t delay_us)
{
    return delay_us >= SHOAL__NEVER_US - now_us ? SHOAL__NEVER_US : now_us + delay_us;
}

static inline uint64_t shoal__time_max(uint64_t a_us, uint64_t b_us)
{
    return a_us > b_us ? a_us : b_us;
}

static inline uint64_t shoal__time_min(uint64_t a_us, uint64_t b_us)
{
    return a_us < b_us ? a_us : b_us;
}

/* b - a, or 0 if a is later. */
static inline uint64_t shoal__time_since(uint64_t a_us, uint64_t b_us)
{
    return b_us > a_us ? b_us - a_us : 0;
}

#endif
