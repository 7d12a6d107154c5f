/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_JUDGE_FIGURES_H
#define SHOAL_BENCH_JUDGE_FIGURES_H

/* The numbers of one round, or the medians of several.  NaN: not measured. */

#include "judge/histogram.h"
#include "load/strategy.h"

#include <shoal/stats.h>
#include <stddef.h>
#include <stdint.h>

#define FIGURE_STEPS 4 /* of a ladder of threads, at most */

/* X(name, group or NULL, key): keys as they stand in the JSON. */
#define FIGURE_MAP(X)                                                                  \
    X(OPS_PER_S, NULL, "ops_per_s")                                                    \
    X(COMMANDS, NULL, "commands")                                                      \
    X(SECONDS, NULL, "seconds")                                                        \
    X(LATENCY_P0, "latency_us", "p0")                                                  \
    X(LATENCY_P50, "latency_us", "p50")                                                \
    X(LATENCY_P90, "latency_us", "p90")                                                \
    X(LATENCY_P95, "latency_us", "p95")                                                \
    X(LATENCY_P99, "latency_us", "p99")                                                \
    X(LATENCY_P99_9, "latency_us", "p99_9")                                            \
    X(LATENCY_P99_99, "latency_us", "p99_99")                                          \
    X(LATENCY_P100, "latency_us", "p100")                                              \
    X(LATENCY_MEAN, "latency_us", "mean")                                              \
    X(SERVICE_P0, "service_latency_us", "p0")                                          \
    X(SERVICE_P50, "service_latency_us", "p50")                                        \
    X(SERVICE_P90, "service_latency_us", "p90")                                        \
    X(SERVICE_P95, "service_latency_us", "p95")                                        \
    X(SERVICE_P99, "service_latency_us", "p99")                                        \
    X(SERVICE_P99_9, "service_latency_us", "p99_9")                                    \
    X(SERVICE_P99_99, "service_latency_us", "p99_99")                                  \
    X(SERVICE_P100, "service_latency_us", "p100")                                      \
    X(SERVICE_MEAN, "service_latency_us", "mean")                                      \
    X(BESIDE_P0, "beside_latency_us", "p0")                                            \
    X(BESIDE_P50, "beside_latency_us", "p50")                                          \
    X(BESIDE_P90, "beside_latency_us", "p90")                                          \
    X(BESIDE_P95, "beside_latency_us", "p95")                                          \
    X(BESIDE_P99, "beside_latency_us", "p99")                                          \
    X(BESIDE_P99_9, "beside_latency_us", "p99_9")                                      \
    X(BESIDE_P99_99, "beside_latency_us", "p99_99")                                    \
    X(BESIDE_P100, "beside_latency_us", "p100")                                        \
    X(BESIDE_MEAN, "beside_latency_us", "mean")                                        \
    X(BESIDE_PER_S, NULL, "beside_per_s")                                              \
    X(CLIENT_CPU_US, NULL, "client_cpu_us_per_op")                                     \
    X(CLIENT_CPU_PERCENT, NULL, "client_cpu_percent")                                  \
    X(SERVER_CPU_US, NULL, "server_cpu_us_per_op")                                     \
    X(SERVER_CPU_PERCENT, NULL, "server_cpu_percent")                                  \
    X(CPU_US, NULL, "cpu_us_per_op")                                                   \
    X(SLEEPS, NULL, "voluntary_switches")                                              \
    X(PREEMPTIONS, NULL, "involuntary_switches")                                       \
    X(COMMANDS_PER_WRITE, NULL, "commands_per_write")                                  \
    X(COMMANDS_PER_SERVER_READ, NULL, "commands_per_server_read")                      \
    X(WRITES, NULL, "writes")                                                          \
    X(READS, NULL, "reads")                                                            \
    X(WAKEUPS, NULL, "wakeups")                                                        \
    X(CALLER_WAKEUPS, NULL, "caller_wakeups")                                          \
    X(DIRECT_CALLS, NULL, "direct_calls")                                              \
    X(HANDOVERS, NULL, "handovers")                                                    \
    X(STEP_BASE, NULL, "step_base_us")                                                 \
    X(STEP_SETTLED, NULL, "step_settled_ms")                                           \
    X(STEP_SETTLED_MAX, NULL, "step_settled_ms_max")                                   \
    X(LADDER_OPS_1, "ladder_ops_per_s", "1")                                           \
    X(LADDER_OPS_2, "ladder_ops_per_s", "2")                                           \
    X(LADDER_OPS_3, "ladder_ops_per_s", "3")                                           \
    X(LADDER_OPS_4, "ladder_ops_per_s", "4")                                           \
    X(LADDER_REACHED_1, "ladder_reached_ms", "1")                                      \
    X(LADDER_REACHED_2, "ladder_reached_ms", "2")                                      \
    X(LADDER_REACHED_3, "ladder_reached_ms", "3")                                      \
    X(LADDER_REACHED_4, "ladder_reached_ms", "4")                                      \
    X(LADDER_REACHED_MAX_1, "ladder_reached_ms_max", "1")                              \
    X(LADDER_REACHED_MAX_2, "ladder_reached_ms_max", "2")                              \
    X(LADDER_REACHED_MAX_3, "ladder_reached_ms_max", "3")                              \
    X(LADDER_REACHED_MAX_4, "ladder_reached_ms_max", "4")                              \
    X(LADDER_LATE_1, "ladder_late", "1")                                               \
    X(LADDER_LATE_2, "ladder_late", "2")                                               \
    X(LADDER_LATE_3, "ladder_late", "3")                                               \
    X(LADDER_LATE_4, "ladder_late", "4")                                               \
    X(LADDER_STALL_1, "ladder_stall_ms", "1")                                          \
    X(LADDER_STALL_2, "ladder_stall_ms", "2")                                          \
    X(LADDER_STALL_3, "ladder_stall_ms", "3")                                          \
    X(LADDER_STALL_4, "ladder_stall_ms", "4")                                          \
    X(LARGE_PER_S, NULL, "large_per_s")                                                \
    X(PEAK_RSS_BYTES, NULL, "peak_rss_bytes")                                          \
    X(ALLOCATIONS, NULL, "allocations_per_op")                                         \
    X(LOST_MESSAGES, NULL, "lost_messages")                                            \
    X(ERRORS, NULL, "errors")

typedef enum figure {
#define FIGURE_VALUE(name, group, key) FIGURE_##name,
    FIGURE_MAP(FIGURE_VALUE)
#undef FIGURE_VALUE
        FIGURE_COUNT
} figure_t;

typedef struct figures {
    double value[FIGURE_COUNT];
    bool has_batches; /* the two below were counted */
    uint64_t batch_histogram[SHOAL_STATS_BATCH_BUCKETS];
    uint64_t flush_reasons[SHOAL_FLUSH_REASONS];
} figures_t;

/* All rounds of one strategy. */
typedef struct series {
    strategy_t strategy;
    size_t rounds_count;
    figures_t *rounds;
    figures_t median;      /* of each number by itself; the two histograms are sums */
    histogram_t *latency;  /* of all rounds together; NULL: not asked for */
    uint64_t sampling;     /* one command in so many was timed */
    char first_error[160]; /* "" if there was none */
} series_t;

const char *figure_key(figure_t figure);
const char *figure_group(figure_t figure); /* NULL: stands by itself */

void figures_clear(figures_t *figures);

/* In ascending order. */
void figures_sort(double *values, size_t count);

/* Sets series->median from its rounds. */
void series_summarise(series_t *series);

/* (highest - lowest) / 2, as a share of the median; 0 for a single round. */
double series_spread(const series_t *series, figure_t figure);

/* The highest value of any round; NaN if there is none. */
double series_highest(const series_t *series, figure_t figure);

/* The figure as a ratio to that of `reference`: the median of the ratios of the rounds,
 * each to the round of `reference` with the same number, which was measured next to it.
 * NaN if there are none. */
double series_ratio(const series_t *series, const series_t *reference, figure_t figure);

#endif
