/* SPDX-License-Identifier: MIT */

/* Callers x explicit pipelines, a connection for each caller, and shoal on one
 * connection beside: the whole latency curve of every cell. */

#include "profile/profile.h"
#include "server/machine.h"

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

static void show(findings_t *findings, const plan_t *plan)
{
    static const column_t columns[] = {
        {"", "ops/s", FIGURE_OPS_PER_S, 7, COLUMN_MEDIAN},
        {"p50", "us", FIGURE_LATENCY_P50, 7, COLUMN_MEDIAN},
        {"p90", "us", FIGURE_LATENCY_P90, 7, COLUMN_MEDIAN},
        {"p99", "us", FIGURE_LATENCY_P99, 7, COLUMN_MEDIAN},
        {"p99.9", "us", FIGURE_LATENCY_P99_9, 7, COLUMN_MEDIAN},
        {"p99.99", "us", FIGURE_LATENCY_P99_99, 7, COLUMN_MEDIAN},
        {"max", "us", FIGURE_LATENCY_P100, 7, COLUMN_MEDIAN},
        {"client", "us/op", FIGURE_CLIENT_CPU_US, 7, COLUMN_MEDIAN},
        {"server", "us/op", FIGURE_SERVER_CPU_US, 7, COLUMN_MEDIAN},
    };

    findings_begin(findings,
                   "%llu callers: a connection with pipelines of N each, or shoal on "
                   "one connection",
                   (unsigned long long)plan->options->callers);
    report_columns(findings->out, plan, columns, sizeof columns / sizeof *columns);
    if (plan->options->is_verbose)
        report_flushes(findings->out, plan);
    profile_judge_throughput(findings, plan);
    fputs("\n", findings->out);
}

const profile_t profile_matrix = {"matrix",        true, set_defaults, prepare,
                                  profile_heading, show, NULL};
