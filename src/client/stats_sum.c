/* SPDX-License-Identifier: MIT */
#include "client/stats_sum.h"

#include <stddef.h>
#include <string.h>

#define NUMBERS_AT offsetof(shoal_stats_t, commands)
#define NUMBERS ((sizeof(shoal_stats_t) - NUMBERS_AT) / sizeof(uint64_t))
_Static_assert(NUMBERS_AT + NUMBERS * sizeof(uint64_t) == sizeof(shoal_stats_t),
               "numbers only, behind the size");

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

static void add_numbers(char *sum, const char *numbers)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        uint64_t left, right;

        memcpy(&left, sum + i * sizeof left, sizeof left);
        memcpy(&right, numbers + i * sizeof right, sizeof right);
        left += right;
        memcpy(sum + i * sizeof left, &left, sizeof left);
    }
}

void shoal__stats_sum_add(shoal_stats_t *sum, const shoal_stats_t *stats)
{
    uint64_t is_open_now = most_of(sum->is_open_now, stats->is_open_now);
    uint64_t gap_ns_now = join_gaps(sum->gap_ns_now, stats->gap_ns_now);
    uint64_t rtt_us_now = most_of(sum->rtt_us_now, stats->rtt_us_now);
    uint64_t late_us_now = most_of(sum->late_us_now, stats->late_us_now);

    add_numbers((char *)sum + NUMBERS_AT, (const char *)stats + NUMBERS_AT);
    sum->is_open_now = is_open_now;
    sum->gap_ns_now = gap_ns_now;
    sum->rtt_us_now = rtt_us_now;
    sum->late_us_now = late_us_now;
}
