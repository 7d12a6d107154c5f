/* SPDX-License-Identifier: MIT */
#include "judge/verdict.h"

#include <math.h>

static verdict_t unknown(void)
{
    return (verdict_t){.best = VERDICT_NONE, .ratio = (double)NAN};
}

static verdict_t compare(double value, double reference, size_t best)
{
    verdict_t verdict = unknown();

    if (isnan(value) || isnan(reference) || reference <= 0)
        return verdict;
    verdict.is_known = true;
    verdict.best = best;
    verdict.ratio = value / reference;
    return verdict;
}

verdict_t verdict_throughput(const double *ops_per_s, size_t count, size_t subject)
{
    size_t best = VERDICT_NONE;

    for (size_t i = 0; i < count; i++) {
        if (i != subject && !isnan(ops_per_s[i]) &&
            (best == VERDICT_NONE || ops_per_s[i] > ops_per_s[best]))
            best = i;
    }
    if (subject >= count || best == VERDICT_NONE)
        return unknown();
    verdict_t verdict = compare(ops_per_s[subject], ops_per_s[best], best);
    verdict.holds = verdict.is_known && verdict.ratio >= VERDICT_THROUGHPUT_MIN;
    return verdict;
}

verdict_t verdict_latency(const double *latency_us, size_t subject, size_t reference)
{
    if (subject == VERDICT_NONE || reference == VERDICT_NONE)
        return unknown();
    verdict_t verdict = compare(latency_us[subject], latency_us[reference], reference);
    verdict.holds = verdict.is_known && verdict.ratio <= VERDICT_LONE_LATENCY_MAX;
    return verdict;
}

static bool keeps_up(const verdict_row_t *row, double rate)
{
    return row->ops_per_s >= VERDICT_RATE_MIN * rate;
}

verdict_t verdict_cpu(const verdict_row_t *rows, size_t count, size_t subject,
                      double rate, double tail_limit_us)
{
    size_t best = VERDICT_NONE;

    for (size_t i = 0; i < count; i++) {
        const verdict_row_t *row = &rows[i];
        if (i == subject || isnan(row->cpu_us) || !keeps_up(row, rate) ||
            !(row->p99_us <= tail_limit_us))
            continue;
        if (best == VERDICT_NONE || row->cpu_us < rows[best].cpu_us)
            best = i;
    }
    if (subject >= count || best == VERDICT_NONE)
        return unknown();
    verdict_t verdict = compare(rows[subject].cpu_us, rows[best].cpu_us, best);
    verdict.holds = verdict.is_known && verdict.ratio <= VERDICT_CPU_MAX &&
                    keeps_up(&rows[subject], rate);
    return verdict;
}

double verdict_tail_limit(double off_p99_us, double budget_us)
{
    return off_p99_us + budget_us + VERDICT_TAIL_US;
}

verdict_t verdict_tail(double p99_us, double limit_us)
{
    verdict_t verdict = compare(p99_us, limit_us, VERDICT_NONE);
    verdict.holds = verdict.is_known && verdict.ratio <= 1;
    return verdict;
}

verdict_t verdict_settled(double settled_ms)
{
    verdict_t verdict = compare(settled_ms, VERDICT_SETTLED_MS_MAX, VERDICT_NONE);
    verdict.holds = verdict.is_known && verdict.ratio <= 1;
    return verdict;
}

verdict_t verdict_at_least(double ratio, double bar)
{
    verdict_t verdict = unknown();

    verdict.is_known = !isnan(ratio) && !isnan(bar);
    verdict.holds = verdict.is_known && ratio >= bar;
    verdict.ratio = ratio;
    return verdict;
}

verdict_t verdict_at_most(double ratio, double bar)
{
    verdict_t verdict = verdict_at_least(ratio, bar);
    verdict.holds = verdict.is_known && ratio <= bar;
    return verdict;
}
