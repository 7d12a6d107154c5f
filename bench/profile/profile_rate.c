/* SPDX-License-Identifier: MIT */

/* Open loops at several rates x flush settings: what the CPU of both ends and the
 * latency are when commands come on their own. */

#include "profile/profile.h"

#define CALLERS 64u

static void set_defaults(options_t *options)
{
    options_default(&options->callers, CALLERS);
    profile_set_times(options, 3, 500000, 1000000);
    if (!options->has_arrivals)
        options->is_random = true;
}

static void prepare(plan_list_t *list, const options_t *options)
{
    static const uint64_t all_rates[] = {1000, 10000, 50000, 100000, 300000};
    number_list_t rates = profile_numbers(&options->rates, all_rates, 5);

    for (size_t i = 0; i < rates.count; i++) {
        options_t *point = plan_list_add(list, options);
        point->rate = rates.numbers[i];
        profile_set_flushes(point);
    }
}

static void judge(findings_t *findings, const plan_t *plan)
{
    verdict_row_t rows[OPTIONS_STRATEGIES_MAX];
    char name[64];
    size_t subject = profile_find_flush(plan, SHOAL_FLUSH_AUTO);
    size_t off = profile_find_flush(plan, SHOAL_FLUSH_OFF);
    double rate = (double)plan->options->rate;
    uint64_t budget_us = plan->options->budget_us;

    if (subject == VERDICT_NONE || off == VERDICT_NONE)
        return;
    for (size_t i = 0; i < plan->series_count; i++)
        rows[i] = (verdict_row_t){
            .ops_per_s = profile_figure(plan, i, FIGURE_OPS_PER_S),
            .p99_us = profile_figure(plan, i, FIGURE_LATENCY_P99),
            .cpu_us = profile_figure(plan, i, FIGURE_CPU_US),
        };
    double limit_us = verdict_tail_limit(
        rows[off].p99_us, budget_us == 0 ? VERDICT_BUDGET_US : (double)budget_us);
    verdict_t cpu = verdict_cpu(rows, plan->series_count, subject, rate, limit_us);
    verdict_t tail = verdict_tail(rows[subject].p99_us, limit_us);

    if (cpu.is_known)
        findings_judge(
            findings, &cpu,
            "CPU of both ends: auto %.3f of %s, the cheapest other one with p99 <= "
            "%.0f us (<= %.2f)",
            cpu.ratio, profile_series_name(plan, cpu.best, name, sizeof name), limit_us,
            VERDICT_CPU_MAX);
    else
        findings_judge(findings, &cpu,
                       "CPU of both ends: no other setting keeps up with such a p99");
    findings_judge(findings, &tail,
                   "p99: auto %.0f us (<= %.0f: off, the budget and %.0f us)",
                   rows[subject].p99_us, limit_us, VERDICT_TAIL_US);
}

static void show(findings_t *findings, const plan_t *plan)
{
    findings_begin(findings, "%llu commands/s, %s",
                   (unsigned long long)plan->options->rate,
                   plan->options->is_random ? "at random moments" : "evenly spaced");
    profile_show_table(findings->out, plan);
    judge(findings, plan);
    fputs("\n", findings->out);
}

const profile_t profile_rate = {"rate",          true, set_defaults, prepare,
                                profile_heading, show, NULL};
