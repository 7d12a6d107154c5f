/* SPDX-License-Identifier: MIT */

/* Callers x flush settings x round trips: the exam of the automatic setting. */

#include "profile/profile.h"

#include <math.h>

#define LONE_CALLERS_MAX 2u /* up to here no caller may be held */

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

static void show(findings_t *findings, const plan_t *plan)
{
    profile_begin_point(findings, plan, "");
    profile_show_table(findings->out, plan);
    profile_judge_throughput(findings, plan);
    if (plan->options->callers <= LONE_CALLERS_MAX)
        profile_judge_latency(findings, plan,
                              profile_find_flush(plan, SHOAL_FLUSH_AUTO),
                              profile_find_flush(plan, SHOAL_FLUSH_OFF), "off");
    fputs("\n", findings->out);
}

/* One line per round trip, one column per number of callers. */
static void summarise(findings_t *findings, const plan_list_t *list)
{
    FILE *out = findings->out;
    uint64_t rtt_us = UINT64_MAX;

    if (list->count < 2)
        return;
    fputs("Throughput of auto, as a share of the best other setting\n", out);
    fprintf(out, "%14s", "callers");
    for (size_t i = 0;
         i < list->count && list->options[i]->rtt_us == list->options[0]->rtt_us; i++)
        fprintf(out, " %6llu", (unsigned long long)list->options[i]->callers);
    for (size_t i = 0; i < list->count; i++) {
        const plan_t *plan = &list->plans[i];
        size_t subject = profile_find_flush(plan, SHOAL_FLUSH_AUTO);
        double ratio = profile_throughput(plan, subject).ratio;
        if (list->options[i]->rtt_us != rtt_us)
            fprintf(out, "\n%11llu us", (unsigned long long)list->options[i]->rtt_us);
        rtt_us = list->options[i]->rtt_us;
        if (isnan(ratio))
            fprintf(out, " %6s", "-");
        else
            fprintf(out, " %6.3f", ratio);
    }
    fputs("\n", out);
}

const profile_t profile_sweep = {"sweep",         true, set_defaults, prepare,
                                 profile_heading, show, summarise};
