/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_JUDGE_THREAD_STEPS_H
#define SHOAL_BENCH_JUDGE_THREAD_STEPS_H

/*
 * How soon the throughput is what it stays at, after the number of threads has changed; as
 * pure functions of calls that were counted in slices of time.  A stage is the time
 * between two changes.
 */

#include <stddef.h>
#include <stdint.h>

#define THREAD_STEP_SLICE_NS 5000000u
#define THREAD_STEP_SHARE 0.9     /* of the reference: the regime is reached */
#define THREAD_STEP_LATE_MS 100.0 /* the regime ought to be reached by then */
#define THREAD_STEP_AHEAD 5u      /* slices whose median must have that share as well */

/* Calls per slice at the end of a stage: the median over its second half.  NaN without
 * slices. */
double thread_step_steady(const uint32_t *slices, size_t count);

/* What the stages with one number of threads are held against: the upper quartile of
 * their steady() values, so that a stage that never gets there does not lower it.  NaN
 * without stages.  Sorts them. */
double thread_step_reference(double *steady, size_t count);

/* The end, in milliseconds since the change, of the first slice with the share of the
 * reference, if the median of this slice and of those ahead has it, too.  Infinite if there
 * is none, NaN without a reference. */
double thread_step_reached_ms(const uint32_t *slices, size_t count, double reference);

#endif
