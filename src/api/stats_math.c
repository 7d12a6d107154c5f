/* SPDX-License-Identifier: MIT */
#include <shoal/stats.h>

/* The lower edge, also of the bucket after the last one. */
static uint64_t edge_us(size_t bucket)
{
    if (bucket < 8)
        return bucket;

    /* Four to each power of two from 8 = 4 << 1 on; core/pipe/stage_times.c is the inverse. */
    size_t power = (bucket - 8) / 4, quarter = (bucket - 8) % 4;
    return (uint64_t)(4 + quarter) << (power + 1);
}

uint64_t shoal_stats_bucket_us(size_t bucket)
{
    if (bucket >= SHOAL_STATS_LATENCY_BUCKETS)
        bucket = SHOAL_STATS_LATENCY_BUCKETS - 1;
    return edge_us(bucket);
}

uint64_t shoal_stats_latency_us(const shoal_stats_t *stats, shoal_stage_t stage,
                                unsigned permille)
{
    if (!stats || (unsigned)stage >= SHOAL_STAGES)
        return 0;
    if (permille > 1000)
        permille = 1000;

    const uint64_t *buckets = stats->latency[stage];
    uint64_t total = 0;
    for (size_t i = 0; i < SHOAL_STATS_LATENCY_BUCKETS; i++)
        total += buckets[i];
    if (total == 0)
        return 0;

    /* Rounded up, in two parts so that it cannot overflow; at least the first one. */
    uint64_t rank = total / 1000 * permille + (total % 1000 * permille + 999) / 1000;
    if (rank == 0)
        rank = 1;

    uint64_t below = 0;
    size_t bucket = 0;
    while ((below += buckets[bucket]) < rank)
        bucket += 1;
    return edge_us(bucket + 1);
}

const char *shoal_flush_reason_name(shoal_flush_reason_t reason)
{
    switch (reason) {
    case SHOAL_FLUSHED_LONE:
        return "lone";
    case SHOAL_FLUSHED_FULL:
        return "full";
    case SHOAL_FLUSHED_COMPLETE:
        return "complete";
    case SHOAL_FLUSHED_GATE:
        return "gate";
    case SHOAL_FLUSHED_BUDGET:
        return "budget";
    case SHOAL_FLUSHED_TURN:
        return "turn";
    case SHOAL_FLUSHED_URGENT:
        return "urgent";
    case SHOAL_FLUSHED_DEADLINE:
        return "deadline";
    case SHOAL_FLUSHED_STAGGER:
        return "stagger";
    case SHOAL_FLUSH_REASONS:
        break;
    }
    return "unknown";
}
