/* SPDX-License-Identifier: MIT */
#include "client/stats_sum.h"

#include <string.h>

#define FIELDS (sizeof(shoal_stats_t) / sizeof(uint64_t))
_Static_assert(FIELDS * sizeof(uint64_t) == sizeof(shoal_stats_t), "numbers only");

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Two streams of commands with these mean gaps, as one stream; 0: none comes. */
static uint64_t join_gaps(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return (uint64_t)((double)a * (double)b / ((double)a + (double)b));
}

void shoal__stats_sum_add(shoal_stats_t *sum, const shoal_stats_t *stats)
{
    uint64_t left[FIELDS], right[FIELDS];
    shoal_stats_t joined;

    memcpy(left, sum, sizeof left);
    memcpy(right, stats, sizeof right);
    for (size_t i = 0; i < FIELDS; i++)
        left[i] += right[i];
    memcpy(&joined, left, sizeof joined);
    joined.is_open_now = most_of(sum->is_open_now, stats->is_open_now);
    joined.gap_ns_now = join_gaps(sum->gap_ns_now, stats->gap_ns_now);
    joined.rtt_us_now = most_of(sum->rtt_us_now, stats->rtt_us_now);
    joined.late_us_now = most_of(sum->late_us_now, stats->late_us_now);
    *sum = joined;
}
