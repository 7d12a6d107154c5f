/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_JUDGE_THREAD_BARS_H
#define SHOAL_BENCH_JUDGE_THREAD_BARS_H

/* What is asked of so many blocking threads on one client, against as many with a plain
 * connection each.  All are ratios; NaN: nothing is asked. */

#include <stdint.h>

typedef struct thread_bars {
    double throughput_min;       /* to the pool's */
    double p50_max;              /* to the pool's */
    double p99_max;              /* to the pool's */
    double cpu_max;              /* of both ends per command, to the pool's */
    double mutex_throughput_min; /* to that of a mutex queue before hiredis */
} thread_bars_t;

/* Between two counts that have bars, those of the lower one hold. */
thread_bars_t thread_bars(uint64_t threads);

#endif
