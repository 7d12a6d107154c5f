/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_JUDGE_STEP_SLICES_H
#define SHOAL_BENCH_JUDGE_STEP_SLICES_H

/*
 * When latency is back where it was, as a pure function of what was recorded: the time
 * after a step down is cut into slices, and the first slice whose median is within 5 %
 * of the base ends the search.
 */

#include <stddef.h>
#include <stdint.h>

#define STEP_SLICE_NS 10000000u
#define STEP_TOLERANCE 1.05

typedef struct step_sample {
    uint64_t at_ns; /* when the reply came, since the step */
    uint64_t latency_ns;
} step_sample_t;

/* NaN without samples.  Sorts them by latency. */
double step_median_ns(step_sample_t *samples, size_t count);

/* The end of that slice in milliseconds since the step, or infinity if there is none.
 * `samples` are in the order of time and may be sorted otherwise afterwards. */
double step_settled_ms(step_sample_t *samples, size_t count, double base_ns);

#endif
