/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_CLOCK_H
#define SHOAL_BENCH_LOAD_CLOCK_H

/* The one time source of every measurement, in nanoseconds. */

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

/* CPU time that the calling thread has used. */
static inline uint64_t clock_thread_cpu_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
