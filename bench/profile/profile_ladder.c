/* SPDX-License-Identifier: MIT */

/* Threads in blocking calls come and go, 1 to 8 to 128 and back, ten times: how soon the
 * throughput is what it stays at, and how long no call ended.  A pool does the same in the
 * same rounds, and shows how far the machine itself stands still. */

#include "judge/thread_steps.h"
#include "load/stepper.h"
#include "profile/profile.h"

#include <math.h>

#define POOL 0u
#define STALL_MS_MAX 5.0

static void set_defaults(options_t *options)
{
    static const uint64_t rungs[] = {1, 8, 128, 8, 1};

    options->callers_list = profile_numbers(&options->callers_list, rungs, 5);
    options->callers = 0;
    for (size_t i = 0; i < options->callers_list.count; i++) {
        if (options->callers_list.numbers[i] > options->callers)
            options->callers = options->callers_list.numbers[i];
    }
    profile_set_times(options, 3, 300000, 12300000);
    profile_default_transports(options);
}

static void add_point(plan_list_t *list, const options_t *options, bool is_tcp,
                      uint64_t rtt_us)
{
    options_t *point = plan_list_add(list, options);
    const strategy_t given = options->strategies[0];
    size_t flushes = options->flushes.count;

    profile_set_transport(point, is_tcp);
    point->rtt_us = rtt_us;
    point->ladder = options->callers_list;
    point->strategies[POOL] = (strategy_t){.mode = MODE_POOL};
    point->strategies_count = POOL + 1;
    for (size_t i = 0; i < (flushes ? flushes : 1); i++) {
        strategy_t *strategy = &point->strategies[point->strategies_count++];
        *strategy = flushes ? options->flushes.strategies[i] : given;
        strategy->mode = MODE_SYNC;
        strategy->homes = given.homes;
    }
}

static void prepare(plan_list_t *list, const options_t *options)
{
    static const uint64_t all_rtts[] = {0};
    number_list_t rtts = profile_rtts(options, all_rtts, 1);

    for (int is_tcp = 0; is_tcp < 2; is_tcp++) {
        for (size_t i = 0; profile_has_transport(options, is_tcp) && i < rtts.count;
             i++)
            add_point(list, options, is_tcp, rtts.numbers[i]);
    }
}

/* One table, with a column for each step. */
static void show_steps(FILE *out, const plan_t *plan, const char *title, figure_t first,
                       column_kind_t kind)
{
    column_t columns[FIGURE_STEPS];
    char heads[FIGURE_STEPS][2][16];
    const number_list_t *ladder = &plan->options->ladder;
    size_t count = ladder->count - 1;

    for (size_t i = 0; i < count; i++) {
        snprintf(heads[i][0], sizeof heads[i][0], "%llu",
                 (unsigned long long)ladder->numbers[i]);
        snprintf(heads[i][1], sizeof heads[i][1], "to %llu",
                 (unsigned long long)ladder->numbers[i + 1]);
        columns[i] =
            (column_t){heads[i][0], heads[i][1], (figure_t)(first + i), 9, kind};
    }
    fprintf(out, "%s\n", title);
    report_columns(out, plan, columns, count);
}

static const char *name_ms(double ms, char *text, size_t text_bytes)
{
    snprintf(text, text_bytes, "%.1f ms", ms);
    return isinf(ms) ? "never" : text;
}

/* The highest figure of one series against its bar, or that of the pool if it is higher:
 * what the machine does to the pool is nothing that the library could avoid. */
static void judge(findings_t *findings, const plan_t *plan, size_t series,
                  figure_t figure, double bar_ms, const char *what, size_t step)
{
    char name[64], texts[2][32];
    const uint64_t *rungs = plan->options->ladder.numbers;
    double value_ms = series_highest(&plan->series[series], figure);
    double pool_ms = series_highest(&plan->series[POOL], figure);
    verdict_t verdict = verdict_at_most(value_ms, fmax(bar_ms, pool_ms));

    verdict.is_known = verdict.is_known && isfinite(pool_ms);
    findings_judge(findings, &verdict,
                   "%llu to %llu threads: %s %s at most %s (<= %.0f ms; pool %s)",
                   (unsigned long long)rungs[step], (unsigned long long)rungs[step + 1],
                   profile_series_name(plan, series, name, sizeof name), what,
                   name_ms(value_ms, texts[0], sizeof texts[0]), bar_ms,
                   name_ms(pool_ms, texts[1], sizeof texts[1]));
}

static void show(findings_t *findings, const plan_t *plan)
{
    const options_t *options = plan->options;

    findings_begin(
        findings, "threads come and go %u times, %s, added round trip %llu us",
        STEPPER_TIMES, profile_transport(options), (unsigned long long)options->rtt_us);
    show_steps(findings->out, plan, "calls/s once there", FIGURE_LADDER_OPS_1,
               COLUMN_MEDIAN);
    show_steps(findings->out, plan, "there after, ms, median", FIGURE_LADDER_REACHED_1,
               COLUMN_MEDIAN);
    show_steps(findings->out, plan, "there after, ms, at most",
               FIGURE_LADDER_REACHED_MAX_1, COLUMN_HIGHEST);
    show_steps(findings->out, plan, "later than 100 ms, of ten times",
               FIGURE_LADDER_LATE_1, COLUMN_MEDIAN);
    show_steps(findings->out, plan, "no call ended for, ms, at most",
               FIGURE_LADDER_STALL_1, COLUMN_HIGHEST);
    if (options->is_verbose)
        report_flushes(findings->out, plan);
    for (size_t series = POOL + 1; series < plan->series_count; series++) {
        for (size_t i = 0; i + 1 < options->ladder.count; i++) {
            judge(findings, plan, series, (figure_t)(FIGURE_LADDER_REACHED_MAX_1 + i),
                  THREAD_STEP_LATE_MS, "is there after", i);
            judge(findings, plan, series, (figure_t)(FIGURE_LADDER_STALL_1 + i),
                  STALL_MS_MAX, "ends no call for", i);
        }
    }
    fputs("\n", findings->out);
}

const profile_t profile_ladder = {"ladder",        false, set_defaults, prepare,
                                  profile_heading, show,  NULL};
