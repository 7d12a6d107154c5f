/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_JUDGE_VERDICT_H
#define SHOAL_BENCH_JUDGE_VERDICT_H

/* What is asked of the automatic flush policy, as pure rules over measured figures.  NaN
 * means not measured and is never the best. */

#include <stdbool.h>
#include <stddef.h>

#define VERDICT_THROUGHPUT_MIN 0.95   /* of the best other setting */
#define VERDICT_LONE_LATENCY_MAX 1.05 /* of the latency without gathering */
#define VERDICT_CPU_MAX 1.10          /* of the best other setting */
#define VERDICT_RATE_MIN 0.98         /* of the asked rate; below, it did not keep up */
#define VERDICT_TAIL_US 50.0          /* allowed to the p99 on top of the budget */
#define VERDICT_SETTLED_MS_MAX 100.0
#define VERDICT_BUDGET_US 100 /* the library's default */

#define VERDICT_NONE ((size_t)-1)

typedef struct verdict {
    bool is_known; /* false: figures are missing, nothing is claimed */
    bool holds;
    size_t best; /* what it was compared with; VERDICT_NONE: nothing */
    double ratio;
} verdict_t;

/* One setting at one rate. */
typedef struct verdict_row {
    double ops_per_s;
    double p99_us;
    double cpu_us; /* of both ends, per command */
} verdict_row_t;

/* Throughput of `subject` against the best of the others. */
verdict_t verdict_throughput(const double *ops_per_s, size_t count, size_t subject);

/* Latency of a lone caller against that of `reference`. */
verdict_t verdict_latency(const double *latency_us, size_t subject, size_t reference);

/* CPU of `subject` against the cheapest other one that keeps up with the rate, and whose
 * p99 is at most verdict_tail_limit().  What does not keep up itself fails. */
verdict_t verdict_cpu(const verdict_row_t *rows, size_t count, size_t subject,
                      double rate, double tail_limit_us);

/* The p99 of the setting that does not gather, the budget, and a little. */
double verdict_tail_limit(double off_p99_us, double budget_us);

/* The p99 of `subject` against the limit. */
verdict_t verdict_tail(double p99_us, double limit_us);

/* A ratio that must be `bar` or more, or `bar` or less.  A bar that is NaN asks nothing. */
verdict_t verdict_at_least(double ratio, double bar);
verdict_t verdict_at_most(double ratio, double bar);

/* How long a change of load had an effect. */
verdict_t verdict_settled(double settled_ms);

#endif
