/* SPDX-License-Identifier: MIT */

/* Callers x explicit pipelines, a connection for each caller, and shoal on one
 * connection beside: the whole latency curve of every cell. */

#include "machine.h"
#include "profile.h"
#include "report_flushes.h"

#define SPARE_DESCRIPTORS 64u /* beside the connections */

static void set_defaults(options_t *options)
{
    profile_set_times(options, 3, 300000, 700000);
}

/* Explicit pipelines of all sizes, then shoal. */
static void set_strategies(options_t *point)
{
    static const uint64_t all_batches[] = {1, 4, 8, 16, 32, 64, 128};
    number_list_t batches = profile_numbers(&point->batches, all_batches, 7);
    strategy_t shoal = point->strategies[0];

    point->strategies_count = 0;
    for (size_t i = 0; i < batches.count; i++)
        point->strategies[point->strategies_count++] =
            (strategy_t){.mode = MODE_EXPLICIT, .depth = batches.numbers[i]};
    point->strategies[point->strategies_count++] = shoal;
}

static void prepare(plan_list_t *list, const options_t *options)
{
    static const uint64_t all_callers[] = {64, 256, 1024, 4096, 16384};
    number_list_t callers = profile_callers(options, all_callers, 5);
    uint64_t descriptors = machine_descriptors();

    for (size_t i = 0; i < callers.count; i++) {
        if (callers.numbers[i] + SPARE_DESCRIPTORS > descriptors) {
            fprintf(stderr,
                    "shoal-bench: %llu callers are left out: the system allows %llu "
                    "descriptors\n",
                    (unsigned long long)callers.numbers[i],
                    (unsigned long long)descriptors);
            continue;
        }
        options_t *point = plan_list_add(list, options);
        point->callers = callers.numbers[i];
        set_strategies(point);
        point->explicit_connections = point->callers;
    }
}

static void print_curve(FILE *out, const plan_t *plan, size_t series)
{
    static const figure_t figures[] = {FIGURE_LATENCY_P50,    FIGURE_LATENCY_P90,
                                       FIGURE_LATENCY_P99,    FIGURE_LATENCY_P99_9,
                                       FIGURE_LATENCY_P99_99, FIGURE_LATENCY_P100};
    char text[64];

    fprintf(out, "%-20s", profile_series_name(plan, series, text, sizeof text));
    report_number(profile_figure(plan, series, FIGURE_OPS_PER_S), text, sizeof text);
    fprintf(out, " %7s", text);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        report_number(profile_figure(plan, series, figures[i]), text, sizeof text);
        fprintf(out, " %7s", text);
    }
    report_number(profile_figure(plan, series, FIGURE_CLIENT_CPU_US), text,
                  sizeof text);
    fprintf(out, " %7s", text);
    report_number(profile_figure(plan, series, FIGURE_SERVER_CPU_US), text,
                  sizeof text);
    fprintf(out, " %7s\n", text);
}

static size_t show(FILE *out, const plan_t *plan)
{
    fprintf(out,
            "%llu callers: a connection with pipelines of N each, or shoal on one "
            "connection\n%-20s %7s %7s %7s %7s %7s %7s %7s %7s %7s\n%-20s %7s %7s %7s "
            "%7s %7s %7s %7s %7s %7s\n",
            (unsigned long long)plan->options->callers, "", "", "p50", "p90", "p99",
            "p99.9", "p99.99", "max", "client", "server", "", "ops/s", "us", "us", "us",
            "us", "us", "us", "us/op", "us/op");
    for (size_t i = 0; i < plan->series_count; i++)
        print_curve(out, plan, i);
    if (plan->options->is_verbose)
        report_flushes(out, plan);
    size_t failed =
        profile_judge_throughput(out, plan, profile_find_flush(plan, SHOAL_FLUSH_AUTO));
    fputs("\n", out);
    return failed;
}

const profile_t profile_matrix = {"matrix",        true, set_defaults, prepare,
                                  profile_heading, show, NULL};
