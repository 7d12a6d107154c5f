/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_NOISE_H
#define SHOAL_BENCH_NOISE_H

/*
 * Whether two medians differ beyond the noise: by more than what the rounds of either side
 * differ among themselves (highest less lowest) added up, and by more than 2 % of the old
 * one.  With fewer than two rounds on a side the noise is not known.
 */

#include <stdbool.h>
#include <stddef.h>

#define NOISE_FLOOR 0.02

/* The rounds of one figure on one side. */
typedef struct noise_rounds {
    double median;
    double lowest;
    double highest;
    size_t count;
} noise_rounds_t;

typedef enum noise_verdict {
    NOISE_UNKNOWN,
    NOISE_SAME,
    NOISE_BETTER,
    NOISE_WORSE,
} noise_verdict_t;

/* Of `count` values, NaN left out. */
noise_rounds_t noise_rounds_of(double median, const double *values, size_t count);

noise_verdict_t noise_judge(const noise_rounds_t *before, const noise_rounds_t *after,
                            bool more_is_better);

#endif
