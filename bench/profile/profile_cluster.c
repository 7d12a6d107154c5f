/* SPDX-License-Identifier: MIT */

/* A private cluster against one server beside it, on the same CPU: what the client pays for
 * a batch at each node instead of one. */

#include "profile/profile.h"

#define CLIENT_CPU_MAX 1.25 /* of what a command costs with one server */

static void set_defaults(options_t *options)
{
    profile_set_times(options, 5, 300000, 1000000);
}

/* Each flush setting twice. */
static void set_strategies(options_t *point)
{
    const strategy_t given = point->strategies[0];
    size_t flushes = point->flushes.count;

    point->strategies_count = 0;
    for (size_t i = 0; i < (flushes ? flushes : 1); i++) {
        strategy_t strategy = flushes ? point->flushes.strategies[i] : given;
        strategy.mode = given.mode;
        point->strategies[point->strategies_count++] = strategy;
        strategy.is_standalone = true;
        point->strategies[point->strategies_count++] = strategy;
    }
}

static void prepare(plan_list_t *list, const options_t *options)
{
    static const uint64_t all_callers[] = {16, 128, 1024};
    number_list_t callers = profile_callers(options, all_callers, 3);

    for (size_t i = 0; i < callers.count; i++) {
        options_t *point = plan_list_add(list, options);
        point->callers = callers.numbers[i];
        set_strategies(point);
    }
}

static void show(findings_t *findings, const plan_t *plan)
{
    const options_t *options = plan->options;
    char name[64];

    findings_begin(findings, "%llu %s, %llu %s", (unsigned long long)options->callers,
                   options->callers == 1 ? "caller" : "callers",
                   (unsigned long long)options->nodes,
                   options->nodes == 1 ? "primary" : "primaries");
    profile_show_table(findings->out, plan);
    profile_note_standalone(findings, plan);
    for (size_t i = 0; i < plan->series_count; i++) {
        size_t twin = profile_find_standalone(plan, i);
        if (twin == VERDICT_NONE)
            continue;
        double ratio =
            series_ratio(&plan->series[i], &plan->series[twin], FIGURE_CLIENT_CPU_US);
        verdict_t verdict = verdict_at_most(ratio, CLIENT_CPU_MAX);
        findings_judge(
            findings, &verdict, "CPU of the client: %s %.2f of one server (<= %.2f)",
            profile_series_name(plan, i, name, sizeof name), ratio, CLIENT_CPU_MAX);
    }
    fputs("\n", findings->out);
}

const profile_t profile_cluster = {"cluster",       true, set_defaults, prepare,
                                   profile_heading, show, NULL};
