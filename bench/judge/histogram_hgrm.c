/* SPDX-License-Identifier: MIT */
#include "judge/histogram.h"

#include <math.h>

#define TICKS_PER_HALVING 5.0 /* lines while the share of slower ones halves */

/* The share that the line after the one for `share` stands for. */
static double next_share(double share)
{
    double halvings = floor(log2(1 / (1 - share))) + 1;
    return share + 1 / (TICKS_PER_HALVING * exp2(halvings));
}

static void write_line(FILE *out, double us, double share, double count)
{
    fprintf(out, "%12.3f %2.12f %10.0f", us, share, count);
    if (share < 1)
        fprintf(out, " %14.2f", 1 / (1 - share));
    fputs("\n", out);
}

/* A line for each share that the commands up to here reach; returns the next share. */
static double write_bucket(FILE *out, double us, double seen, double total,
                           double share)
{
    double reached = seen / total;

    while (share <= reached && share < 1) {
        write_line(out, us, share, seen);
        share = reached < 1 || (1 - share) * total >= 1 ? next_share(share) : 1;
    }
    return share;
}

void histogram_write_hgrm(const histogram_t *histogram, FILE *out)
{
    double total = (double)histogram_total(histogram);
    double seen = 0;
    double share = 0;
    double max_us = 0;

    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS && total > 0; i++) {
        uint64_t here =
            atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
        if (here == 0)
            continue;
        seen += (double)here;
        max_us = histogram_bucket_us(i);
        share = write_bucket(out, max_us, seen, total, share);
    }
    if (total > 0)
        write_line(out, max_us, 1, total);
    fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n",
            total > 0 ? histogram_mean_us(histogram) : 0,
            total > 0 ? histogram_deviation_us(histogram) : 0);
    fprintf(out, "#[Max     = %12.3f, Total count    = %12.0f]\n", max_us, total);
    fprintf(out, "#[Buckets = %12u, SubBuckets     = %12u]\n", HISTOGRAM_POWERS,
            HISTOGRAM_PER_POWER);
}
