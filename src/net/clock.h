/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_CLOCK_H
#define SHOAL_NET_CLOCK_H

/* The only place that reads a clock: monotonic, in microseconds. */

#include <stdint.h>
#include <time.h>

static inline uint64_t shoal__clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

#endif
