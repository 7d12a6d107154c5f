/* SPDX-License-Identifier: MIT */

/* Callers x flush settings x round trips: the exam of the automatic setting. */

#include "profile.h"
#include "report_flushes.h"

#include <math.h>

#define LONE_CALLERS_MAX 2u /* up to here nobody may be held */

static void set_defaults(options_t *options)
{
    profile_set_times(options, 3, 200000, 500000);
}

static void prepare(plan_list_t *list, const options_t *options)
{
    static const uint64_t all_callers[] = {1, 2, 8, 16, 128, 1024};
    static const uint64_t all_rtts[] = {0, 200, 5000};
    number_list_t rtts = profile_rtts(options, all_rtts, 3);
    number_list_t callers = profile_callers(options, all_callers, 6);

    for (size_t i = 0; i < rtts.count; i++) {
        for (size_t k = 0; k < callers.count; k++) {
            options_t *point = plan_list_add(list, options);
            point->rtt_us = rtts.numbers[i];
            point->callers = callers.numbers[k];
            profile_set_flushes(point);
        }
    }
}

/* A lone caller waits no longer than without any gathering. */
static size_t judge_latency(FILE *out, const plan_t *plan)
{
    double p50_us[OPTIONS_STRATEGIES_MAX];

    if (plan->options->callers > LONE_CALLERS_MAX)
        return 0;
    for (size_t i = 0; i < plan->series_count; i++)
        p50_us[i] = profile_figure(plan, i, FIGURE_LATENCY_P50);
    verdict_t verdict =
        verdict_latency(p50_us, profile_find_flush(plan, SHOAL_FLUSH_AUTO),
                        profile_find_flush(plan, SHOAL_FLUSH_OFF));
    if (!verdict.is_known)
        return 0;
    size_t failed = profile_mark(out, &verdict);
    fprintf(out, "p50: auto %.3f of off (<= %.2f)\n", verdict.ratio,
            VERDICT_LONE_LATENCY_MAX);
    return failed;
}

static size_t show(FILE *out, const plan_t *plan)
{
    fprintf(out, "%llu %s, added round trip %llu us\n",
            (unsigned long long)plan->options->callers,
            plan->options->callers == 1 ? "caller" : "callers",
            (unsigned long long)plan->options->rtt_us);
    report_table(out, plan);
    if (plan->options->is_verbose)
        report_flushes(out, plan);
    size_t failed =
        profile_judge_throughput(out, plan, profile_find_flush(plan, SHOAL_FLUSH_AUTO));
    failed += judge_latency(out, plan);
    fputs("\n", out);
    return failed;
}

static double ratio_at(const plan_t *plan)
{
    double ops[OPTIONS_STRATEGIES_MAX];

    for (size_t i = 0; i < plan->series_count; i++)
        ops[i] = profile_figure(plan, i, FIGURE_OPS_PER_S);
    return verdict_throughput(ops, plan->series_count,
                              profile_find_flush(plan, SHOAL_FLUSH_AUTO))
        .ratio;
}

/* One line per round trip, one column per number of callers. */
static size_t summarise(FILE *out, const plan_list_t *list)
{
    uint64_t rtt_us = UINT64_MAX;

    if (list->count < 2)
        return 0;
    fputs("Throughput of auto, as a share of the best other setting\n", out);
    fprintf(out, "%14s", "callers");
    for (size_t i = 0;
         i < list->count && list->options[i]->rtt_us == list->options[0]->rtt_us; i++)
        fprintf(out, " %6llu", (unsigned long long)list->options[i]->callers);
    for (size_t i = 0; i < list->count; i++) {
        double ratio = ratio_at(&list->plans[i]);
        if (list->options[i]->rtt_us != rtt_us)
            fprintf(out, "\n%11llu us", (unsigned long long)list->options[i]->rtt_us);
        rtt_us = list->options[i]->rtt_us;
        if (isnan(ratio))
            fprintf(out, " %6s", "-");
        else
            fprintf(out, " %6.3f", ratio);
    }
    fputs("\n", out);
    return 0;
}

const profile_t profile_sweep = {"sweep",         true, set_defaults, prepare,
                                 profile_heading, show, summarise};
