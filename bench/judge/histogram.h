/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_JUDGE_HISTOGRAM_H
#define SHOAL_BENCH_JUDGE_HISTOGRAM_H

/*
 * Counts durations in nanoseconds.  Below 2048 ns every value has a bucket of its
 * own; above, each power of two has 1024, so that a value is off by less than 0.1 %.
 * Recording is one increment of an array.
 */

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_EXACT 2048u     /* buckets of one nanosecond */
#define HISTOGRAM_PER_POWER 1024u /* buckets per power of two above them */
#define HISTOGRAM_POWERS 30u      /* up to 2^41 ns, 36 minutes */
#define HISTOGRAM_BUCKETS (HISTOGRAM_EXACT + HISTOGRAM_POWERS * HISTOGRAM_PER_POWER)

typedef struct histogram {
    _Atomic uint64_t counts[HISTOGRAM_BUCKETS];
} histogram_t;

static inline uint32_t histogram_bucket(uint64_t ns)
{
    if (ns < HISTOGRAM_EXACT)
        return (uint32_t)ns;

    uint32_t power = 63u - (uint32_t)__builtin_clzll(ns); /* 11 or more */
    if (power >= 11 + HISTOGRAM_POWERS)
        return HISTOGRAM_BUCKETS - 1;
    return HISTOGRAM_EXACT + (power - 11) * HISTOGRAM_PER_POWER +
           (uint32_t)((ns >> (power - 10)) - HISTOGRAM_PER_POWER);
}

/* For a histogram that only one thread writes. */
static inline void histogram_record(histogram_t *histogram, uint64_t ns)
{
    _Atomic uint64_t *count = &histogram->counts[histogram_bucket(ns)];
    uint64_t former = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, former + 1, memory_order_relaxed);
}

/* For a histogram that many threads write. */
static inline void histogram_record_shared(histogram_t *histogram, uint64_t ns)
{
    atomic_fetch_add_explicit(&histogram->counts[histogram_bucket(ns)], 1,
                              memory_order_relaxed);
}

void histogram_clear(histogram_t *histogram);

/* Adds the counts of another one that no thread writes. */
void histogram_add(histogram_t *histogram, const histogram_t *other);

/* The middle of a bucket. */
double histogram_bucket_us(uint32_t bucket);

uint64_t histogram_total(const histogram_t *histogram);

/* For each of `count` ascending quantiles (0 .. 1) the value, in microseconds, that
 * this share of the recorded durations does not exceed.  NaN without any. */
void histogram_quantiles_us(const histogram_t *histogram, const double *quantiles,
                            uint32_t count, double *ret_us);

/* NaN if nothing was recorded. */
double histogram_mean_us(const histogram_t *histogram);

/* NaN if nothing was recorded. */
double histogram_deviation_us(const histogram_t *histogram);

/* Writes the distribution as HdrHistogram's tools print and read it (.hgrm), values in
 * microseconds. */
void histogram_write_hgrm(const histogram_t *histogram, FILE *out);

#endif
