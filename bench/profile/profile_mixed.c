/* SPDX-License-Identifier: MIT */

/* Threads in blocking calls beside callbacks at a rate, on the same client: what each of
 * the two is alone, and what both are together. */

#include "profile/profile.h"

#include <math.h>

/* The strategies, in this order. */
enum { MIXED, THREADS, CALLBACKS, STRATEGIES };

#define THREADS_COUNT 4u
#define RATE 100000u
#define TOGETHER_MIN 0.9 /* of what it is alone */
#define TOGETHER_MAX 1.1

static void set_defaults(options_t *options)
{
    options_default(&options->callers, THREADS_COUNT);
    profile_set_times(options, 5, 300000, 1000000);
    if (options->beside_rate == 0)
        options->beside_rate = RATE;
    profile_default_transports(options);
}

static void prepare(plan_list_t *list, const options_t *options)
{
    static const uint64_t all_rtts[] = {0};
    static const bench_mode_t modes[STRATEGIES] = {MODE_MIXED, MODE_SYNC,
                                                   MODE_CALLBACK};
    number_list_t rtts = profile_rtts(options, all_rtts, 1);

    for (int is_tcp = 0; is_tcp < 2; is_tcp++) {
        for (size_t i = 0; profile_has_transport(options, is_tcp) && i < rtts.count;
             i++) {
            options_t *point = plan_list_add(list, options);
            profile_set_transport(point, is_tcp);
            point->rtt_us = rtts.numbers[i];
            point->strategies_count = STRATEGIES;
            for (size_t k = 0; k < STRATEGIES; k++) {
                point->strategies[k] = options->strategies[0];
                point->strategies[k].mode = modes[k];
            }
        }
    }
}

/* A figure of both together, as a ratio to what it is alone. */
static void judge(findings_t *findings, const plan_t *plan, size_t alone,
                  figure_t figure, const char *what)
{
    if (alone >= plan->series_count)
        return;
    double ratio = series_ratio(&plan->series[MIXED], &plan->series[alone], figure);
    bool is_rate = figure == FIGURE_OPS_PER_S || figure == FIGURE_BESIDE_PER_S;
    verdict_t verdict = is_rate ? verdict_at_least(ratio, TOGETHER_MIN)
                                : verdict_at_most(ratio, TOGETHER_MAX);

    findings_judge(findings, &verdict, "%s: together %.3f of alone (%s %.2f)", what,
                   ratio, is_rate ? ">=" : "<=", is_rate ? TOGETHER_MIN : TOGETHER_MAX);
}

static void show(findings_t *findings, const plan_t *plan)
{
    static const column_t columns[] = {
        {"calls", "/s", FIGURE_OPS_PER_S, 7, COLUMN_MEDIAN},
        {"p50", "us", FIGURE_LATENCY_P50, 6, COLUMN_MEDIAN},
        {"p99", "us", FIGURE_LATENCY_P99, 6, COLUMN_MEDIAN},
        {"beside", "/s", FIGURE_BESIDE_PER_S, 7, COLUMN_MEDIAN},
        {"p50", "us", FIGURE_BESIDE_P50, 6, COLUMN_MEDIAN},
        {"p99", "us", FIGURE_BESIDE_P99, 6, COLUMN_MEDIAN},
        {"client", "us/op", FIGURE_CLIENT_CPU_US, 6, COLUMN_MEDIAN},
        {"server", "us/op", FIGURE_SERVER_CPU_US, 6, COLUMN_MEDIAN},
        {"client", "CPU %", FIGURE_CLIENT_CPU_PERCENT, 6, COLUMN_MEDIAN},
    };
    const options_t *options = plan->options;

    findings_begin(
        findings,
        "%llu blocking %s beside %llu callbacks/s, %s, added round trip %llu us",
        (unsigned long long)options->callers,
        options->callers == 1 ? "thread" : "threads",
        (unsigned long long)options->beside_rate, profile_transport(options),
        (unsigned long long)options->rtt_us);
    report_columns(findings->out, plan, columns, sizeof columns / sizeof *columns);
    if (options->is_verbose)
        report_flushes(findings->out, plan);
    judge(findings, plan, THREADS, FIGURE_OPS_PER_S, "throughput of the threads");
    judge(findings, plan, THREADS, FIGURE_LATENCY_P99, "p99 of the threads");
    judge(findings, plan, CALLBACKS, FIGURE_BESIDE_PER_S, "rate of the callbacks");
    judge(findings, plan, CALLBACKS, FIGURE_BESIDE_P50, "p50 of the callbacks");
    judge(findings, plan, CALLBACKS, FIGURE_BESIDE_P99, "p99 of the callbacks");
    fputs("\n", findings->out);
}

const profile_t profile_mixed = {"mixed",         true, set_defaults, prepare,
                                 profile_heading, show, NULL};
