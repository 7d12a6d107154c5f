/* SPDX-License-Identifier: MIT */

/* Many callers come and go, ten times: how soon the one that stays is as fast as it was
 * before. */

#include "profile/profile.h"

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

static void show(findings_t *findings, const plan_t *plan)
{
    static const column_t columns[] = {
        {"base", "p50, us", FIGURE_STEP_BASE, 10, COLUMN_MEDIAN},
        {"median", "back, ms", FIGURE_STEP_SETTLED, 10, COLUMN_MEDIAN},
        {"longest", "back, ms", FIGURE_STEP_SETTLED_MAX, 10, COLUMN_MEDIAN},
    };

    findings_begin(findings,
                   "1 to %llu callers and back, ten times; latencies are those of the "
                   "one that stays, alone",
                   (unsigned long long)plan->options->callers);
    profile_show_table(findings->out, plan);
    fputs("\n", findings->out);
    report_columns(findings->out, plan, columns, sizeof columns / sizeof *columns);
    size_t subject = profile_find_flush(plan, SHOAL_FLUSH_AUTO);
    verdict_t verdict =
        verdict_settled(profile_figure(plan, subject, FIGURE_STEP_SETTLED_MAX));
    findings_judge(findings, &verdict,
                   "auto: within 5 %% of its base at most %.0f ms after each step down",
                   VERDICT_SETTLED_MS_MAX);
    fputs("\n", findings->out);
}

const profile_t profile_step = {"step",          true, set_defaults, prepare,
                                profile_heading, show, NULL};
