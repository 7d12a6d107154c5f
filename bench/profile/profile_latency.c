/* SPDX-License-Identifier: MIT */

/* A lone caller, in every way there is, against plain hiredis in blocking calls. */

#include "profile/profile.h"

/* The plain one comes first: the others are compared with it. */
#define PLAIN 0u

static void set_defaults(options_t *options)
{
    options_default(&options->callers, 1);
    profile_set_times(options, 5, 300000, 700000);
}

static void prepare(plan_list_t *list, const options_t *options)
{
    static const uint64_t all_rtts[] = {0};
    static const strategy_t strategies[] = {
        {.mode = MODE_POOL},
        {.mode = MODE_EXPLICIT, .depth = 1},
        {.mode = MODE_SYNC, .flush = SHOAL_FLUSH_AUTO},
        {.mode = MODE_CALLBACK, .flush = SHOAL_FLUSH_AUTO},
        {.mode = MODE_BORROWED, .flush = SHOAL_FLUSH_AUTO},
    };
    number_list_t rtts = profile_rtts(options, all_rtts, 1);

    for (size_t i = 0; i < rtts.count; i++) {
        options_t *point = plan_list_add(list, options);
        point->rtt_us = rtts.numbers[i];
        point->strategies_count = sizeof strategies / sizeof *strategies;
        for (size_t k = 0; k < point->strategies_count; k++)
            point->strategies[k] = strategies[k];
    }
}

static void show(findings_t *findings, const plan_t *plan)
{
    profile_begin_point(findings, plan, "; pool is plain hiredis");
    profile_show_table(findings->out, plan);
    for (size_t i = 0; i < plan->series_count; i++) {
        if (strategy_is_shoal(&plan->series[i].strategy))
            profile_judge_latency(findings, plan, i, PLAIN, "plain hiredis");
    }
    fputs("\n", findings->out);
}

const profile_t profile_latency = {"latency",       false, set_defaults, prepare,
                                   profile_heading, show,  NULL};
