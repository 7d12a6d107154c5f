/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_CLOCK_H
#define SHOAL_TOOLS_FAULT_CLOCK_H

/* The proxy's clock: that of its timer, in nanoseconds. */

#include <stdint.h>
#include <time.h>

static inline uint64_t fault_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
