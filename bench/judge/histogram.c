/* SPDX-License-Identifier: MIT */
#include "judge/histogram.h"

#include <math.h>

double histogram_bucket_us(uint32_t bucket)
{
    if (bucket < HISTOGRAM_EXACT)
        return (double)bucket / 1e3;

    uint32_t shift = 1 + (bucket - HISTOGRAM_EXACT) / HISTOGRAM_PER_POWER;
    uint64_t low =
        HISTOGRAM_PER_POWER + (bucket - HISTOGRAM_EXACT) % HISTOGRAM_PER_POWER;
    return ((double)(low << shift) + (double)(1ull << shift) / 2) / 1e3;
}

static uint64_t count_of(const histogram_t *histogram, uint32_t bucket)
{
    return atomic_load_explicit(&histogram->counts[bucket], memory_order_relaxed);
}

void histogram_clear(histogram_t *histogram)
{
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        atomic_store_explicit(&histogram->counts[i], 0, memory_order_relaxed);
}

void histogram_add(histogram_t *histogram, const histogram_t *other)
{
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        atomic_fetch_add_explicit(&histogram->counts[i], count_of(other, i),
                                  memory_order_relaxed);
}

uint64_t histogram_total(const histogram_t *histogram)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        total += count_of(histogram, i);
    return total;
}

void histogram_quantiles_us(const histogram_t *histogram, const double *quantiles,
                            uint32_t count, double *ret_us)
{
    double total = (double)histogram_total(histogram);
    uint64_t seen = 0;
    uint32_t next = 0;

    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS && next < count && total > 0; i++) {
        uint64_t here = count_of(histogram, i);
        if (here == 0)
            continue;
        seen += here;
        while (next < count && (double)seen >= quantiles[next] * total)
            ret_us[next++] = histogram_bucket_us(i);
    }
    while (next < count)
        ret_us[next++] = (double)NAN;
}

double histogram_mean_us(const histogram_t *histogram)
{
    double sum = 0;
    uint64_t total = 0;

    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t here = count_of(histogram, i);
        sum += (double)here * histogram_bucket_us(i);
        total += here;
    }
    return total == 0 ? (double)NAN : sum / (double)total;
}

double histogram_deviation_us(const histogram_t *histogram)
{
    double mean_us = histogram_mean_us(histogram);
    double sum = 0;
    uint64_t total = 0;

    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t here = count_of(histogram, i);
        double deviation = histogram_bucket_us(i) - mean_us;
        if (here == 0)
            continue;
        sum += (double)here * deviation * deviation;
        total += here;
    }
    return total == 0 ? (double)NAN : sqrt(sum / (double)total);
}
