/* SPDX-License-Identifier: MIT */
#include "report_flushes.h"

#include "report.h"

#include <math.h>

/* Figures per command, behind the reasons. */
typedef struct column {
    const char *upper;
    const char *lower;
    figure_t figure;
} column_t;

static const column_t columns[] = {
    {"cmds/", "write", FIGURE_COMMANDS_PER_WRITE},
    {"loop", "woken", FIGURE_WAKEUPS},
    {"callers", "woken", FIGURE_CALLER_WAKEUPS},
    {"direct", "calls", FIGURE_DIRECT_CALLS},
    {"hand-", "overs", FIGURE_HANDOVERS},
};

#define COLUMNS (sizeof columns / sizeof *columns)

static uint64_t sum_of(const figures_t *figures)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++)
        sum += figures->flush_reasons[i];
    return sum;
}

static bool is_used(const plan_t *plan, size_t reason)
{
    for (size_t i = 0; i < plan->series_count; i++) {
        if (plan->series[i].median.flush_reasons[reason] > 0)
            return true;
    }
    return false;
}

static void print_heads(FILE *out, const plan_t *plan)
{
    fprintf(out, "%-20s", "");
    for (size_t i = 0; i < COLUMNS; i++)
        fprintf(out, " %7s", columns[i].upper);
    fprintf(out, "  flushes by reason, %%\n%-20s", "");
    for (size_t i = 0; i < COLUMNS; i++)
        fprintf(out, " %7s", columns[i].lower);
    fputs(" ", out);
    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++) {
        if (is_used(plan, i))
            fprintf(out, " %8s", shoal_flush_reason_name((shoal_flush_reason_t)i));
    }
    fputs("\n", out);
}

static void print_row(FILE *out, const plan_t *plan, const series_t *series)
{
    char text[64];
    const figures_t *median = &series->median;
    uint64_t sum = sum_of(median);

    strategy_name(&series->strategy, text, sizeof text);
    fprintf(out, "%-20s", text);
    for (size_t i = 0; i < COLUMNS; i++) {
        report_number(median->value[columns[i].figure], text, sizeof text);
        fprintf(out, " %7s", text);
    }
    fputs(" ", out);
    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++) {
        if (is_used(plan, i))
            fprintf(out, " %8.1f",
                    sum == 0 ? 0
                             : (double)median->flush_reasons[i] * 100 / (double)sum);
    }
    fputs("\n", out);
}

void report_flushes(FILE *out, const plan_t *plan)
{
    bool has_heads = false;

    for (size_t i = 0; i < plan->series_count; i++) {
        if (!plan->series[i].median.has_batches)
            continue;
        if (!has_heads) {
            fputs("\nPer command, and why batches left\n", out);
            print_heads(out, plan);
        }
        has_heads = true;
        print_row(out, plan, &plan->series[i]);
    }
}
