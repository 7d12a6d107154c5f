/* SPDX-License-Identifier: MIT */

/* Many callers come and go, ten times: how soon the one that stays is as fast as it was
 * before. */

#include "profile.h"
#include "report_flushes.h"

#include <math.h>

static void set_defaults(options_t *options)
{
    options_default(&options->callers, 1024);
    profile_set_times(options, 3, 300000, 4500000);
}

static void prepare(plan_list_t *list, const options_t *options)
{
    options_t *point = plan_list_add(list, options);

    point->is_step = true;
    point->connections = 1;
    if (point->flushes.count > 0) {
        profile_set_flushes(point);
    } else {
        point->strategies[0].flush = SHOAL_FLUSH_OFF;
        point->strategies[1] = point->strategies[0];
        point->strategies[1].flush = SHOAL_FLUSH_AUTO;
        point->strategies_count = 2;
    }
}

static void print_ms(FILE *out, double ms)
{
    if (isinf(ms))
        fprintf(out, " %10s", "never");
    else if (isnan(ms))
        fprintf(out, " %10s", "-");
    else
        fprintf(out, " %10.0f", ms);
}

static size_t show(FILE *out, const plan_t *plan)
{
    char name[64];

    fprintf(
        out,
        "1 to %llu callers and back, ten times; latencies are those of the one that "
        "stays, alone\n",
        (unsigned long long)plan->options->callers);
    report_table(out, plan);
    if (plan->options->is_verbose)
        report_flushes(out, plan);
    fprintf(out, "\n%-20s %10s %10s %10s\n%-20s %10s %10s %10s\n", "", "base", "median",
            "longest", "back at the base", "p50, us", "ms", "ms");
    for (size_t i = 0; i < plan->series_count; i++) {
        fprintf(out, "%-20s %10.1f", profile_series_name(plan, i, name, sizeof name),
                profile_figure(plan, i, FIGURE_STEP_BASE));
        print_ms(out, profile_figure(plan, i, FIGURE_STEP_SETTLED));
        print_ms(out, profile_figure(plan, i, FIGURE_STEP_SETTLED_MAX));
        fputs("\n", out);
    }
    verdict_t verdict = verdict_settled(profile_figure(
        plan, profile_find_flush(plan, SHOAL_FLUSH_AUTO), FIGURE_STEP_SETTLED_MAX));
    size_t failed = profile_mark(out, &verdict);
    fprintf(out,
            "auto: within 5 %% of its base at most %.0f ms after each step down\n\n",
            VERDICT_SETTLED_MS_MAX);
    return failed;
}

const profile_t profile_step = {"step",          true, set_defaults, prepare,
                                profile_heading, show, NULL};
