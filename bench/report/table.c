/* SPDX-License-Identifier: MIT */
#include "report/table.h"

#include <math.h>
#include <string.h>

void report_number(double number, char *text, size_t text_bytes)
{
    if (isnan(number))
        snprintf(text, text_bytes, "-");
    else if (isinf(number))
        snprintf(text, text_bytes, "never");
    else if (number >= 9.995e6)
        snprintf(text, text_bytes, "%.1fM", number / 1e6);
    else if (number >= 999500)
        snprintf(text, text_bytes, "%.2fM", number / 1e6);
    else if (number >= 99950)
        snprintf(text, text_bytes, "%.0fk", number / 1e3);
    else if (number >= 9995)
        snprintf(text, text_bytes, "%.1fk", number / 1e3);
    else if (number >= 99.95)
        snprintf(text, text_bytes, "%.0f", number);
    else if (number >= 9.995)
        snprintf(text, text_bytes, "%.1f", number);
    else
        snprintf(text, text_bytes, "%.2f", number);
}

void report_wrapped(FILE *out, const char *text, int indent, int columns)
{
    int column = indent;

    while (*text != '\0') {
        int bytes = (int)strcspn(text, " ");
        if (column + 1 + bytes > columns) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        fprintf(out, " %.*s", bytes, text);
        column += bytes + 1;
        text += bytes;
        text += strspn(text, " ");
    }
    fputs("\n", out);
}

/* One line of the heads: the upper or the lower one. */
static void print_heads(FILE *out, const column_t *columns, size_t count, bool is_upper)
{
    for (size_t i = 0; i < count; i++)
        fprintf(out, " %*s", columns[i].width,
                is_upper ? columns[i].upper : columns[i].lower);
}

static double cell(const plan_t *plan, const series_t *series, const column_t *column)
{
    switch (column->kind) {
    case COLUMN_RATIO:
        return series_ratio(series, &plan->series[0], column->figure);
    case COLUMN_HIGHEST:
        return series_highest(series, column->figure);
    case COLUMN_MEDIAN:
        break;
    }
    return series->median.value[column->figure];
}

static void print_cells(FILE *out, const plan_t *plan, const series_t *series,
                        const column_t *columns, size_t count)
{
    char text[32];

    for (size_t i = 0; i < count; i++) {
        report_number(cell(plan, series, &columns[i]), text, sizeof text);
        fprintf(out, " %*s", columns[i].width, text);
    }
}

static void print_name(FILE *out, const series_t *series)
{
    char text[64];

    strategy_name(&series->strategy, text, sizeof text);
    fprintf(out, "%-*s", REPORT_NAME_COLUMNS, text);
}

static void print_spread(FILE *out, double spread)
{
    if (isnan(spread))
        fprintf(out, " %5s", "-");
    else
        fprintf(out, " %4.0f%%", spread * 100);
}

static void print_row(FILE *out, const plan_t *plan, const series_t *series,
                      const column_t *columns, size_t count, bool shows_spread)
{
    const figures_t *median = &series->median;

    print_name(out, series);
    if (series->rounds_count == 0) {
        fputs(" not measured\n", out);
        return;
    }
    print_cells(out, plan, series, columns, 1);
    if (shows_spread)
        print_spread(out, series_spread(series, FIGURE_OPS_PER_S));
    print_cells(out, plan, series, columns + 1, count - 1);
    if (median->value[FIGURE_ERRORS] > 0)
        fprintf(out, "  %.0f errors: %s", median->value[FIGURE_ERRORS],
                series->first_error);
    if (median->value[FIGURE_LOST_MESSAGES] > 0)
        fprintf(out, "  %.0f messages lost", median->value[FIGURE_LOST_MESSAGES]);
    fputs("\n", out);
}

void report_columns(FILE *out, const plan_t *plan, const column_t *columns,
                    size_t count)
{
    bool shows_spread =
        plan->options->rounds > 1 && columns[0].figure == FIGURE_OPS_PER_S;

    for (int line = 0; line < 2; line++) {
        fprintf(out, "%-*s", REPORT_NAME_COLUMNS, "");
        print_heads(out, columns, 1, line == 0);
        if (shows_spread)
            fputs(line == 0 ? "      " : "   +- ", out);
        print_heads(out, columns + 1, count - 1, line == 0);
        fputs("\n", out);
    }
    for (size_t i = 0; i < plan->series_count; i++)
        print_row(out, plan, &plan->series[i], columns, count, shows_spread);
}

void report_table(FILE *out, const plan_t *plan)
{
    static const column_t columns[] = {
        {"", "ops/s", FIGURE_OPS_PER_S, 7, COLUMN_MEDIAN},
        {"p50", "us", FIGURE_LATENCY_P50, 6, COLUMN_MEDIAN},
        {"p99", "us", FIGURE_LATENCY_P99, 6, COLUMN_MEDIAN},
        {"p99.9", "us", FIGURE_LATENCY_P99_9, 6, COLUMN_MEDIAN},
        {"client", "us/op", FIGURE_CLIENT_CPU_US, 6, COLUMN_MEDIAN},
        {"server", "us/op", FIGURE_SERVER_CPU_US, 6, COLUMN_MEDIAN},
        {"client", "CPU %", FIGURE_CLIENT_CPU_PERCENT, 6, COLUMN_MEDIAN},
        {"server", "CPU %", FIGURE_SERVER_CPU_PERCENT, 6, COLUMN_MEDIAN},
        {"cmds/", "read", FIGURE_COMMANDS_PER_SERVER_READ, 6, COLUMN_MEDIAN},
        {"large", "/s", FIGURE_LARGE_PER_S, 6, COLUMN_MEDIAN},
    };
    size_t count = sizeof columns / sizeof *columns;

    report_columns(out, plan, columns, count - (plan->options->large_bytes == 0));
}

/* Figures per command, in front of the reasons. */
static const column_t flush_columns[] = {
    {"cmds/", "write", FIGURE_COMMANDS_PER_WRITE, 7, COLUMN_MEDIAN},
    {"loop", "woken", FIGURE_WAKEUPS, 7, COLUMN_MEDIAN},
    {"callers", "woken", FIGURE_CALLER_WAKEUPS, 7, COLUMN_MEDIAN},
    {"direct", "calls", FIGURE_DIRECT_CALLS, 7, COLUMN_MEDIAN},
    {"hand-", "overs", FIGURE_HANDOVERS, 7, COLUMN_MEDIAN},
};

#define FLUSH_COLUMNS (sizeof flush_columns / sizeof *flush_columns)

static bool is_used(const plan_t *plan, size_t reason)
{
    for (size_t i = 0; i < plan->series_count; i++) {
        if (plan->series[i].median.flush_reasons[reason] > 0)
            return true;
    }
    return false;
}

static void print_flush_heads(FILE *out, const plan_t *plan)
{
    fprintf(out, "\nPer command, and why batches left\n%-*s", REPORT_NAME_COLUMNS, "");
    print_heads(out, flush_columns, FLUSH_COLUMNS, true);
    fprintf(out, "  flushes by reason, %%\n%-*s", REPORT_NAME_COLUMNS, "");
    print_heads(out, flush_columns, FLUSH_COLUMNS, false);
    fputs(" ", out);
    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++) {
        if (is_used(plan, i))
            fprintf(out, " %8s", shoal_flush_reason_name((shoal_flush_reason_t)i));
    }
    fputs("\n", out);
}

static void print_flush_row(FILE *out, const plan_t *plan, const series_t *series)
{
    const figures_t *median = &series->median;
    double sum = 0;

    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++)
        sum += (double)median->flush_reasons[i];
    print_name(out, series);
    print_cells(out, plan, series, flush_columns, FLUSH_COLUMNS);
    fputs(" ", out);
    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++) {
        if (is_used(plan, i))
            fprintf(out, " %8.1f",
                    sum > 0 ? (double)median->flush_reasons[i] * 100 / sum : 0);
    }
    fputs("\n", out);
}

void report_flushes(FILE *out, const plan_t *plan)
{
    bool has_heads = false;

    for (size_t i = 0; i < plan->series_count; i++) {
        if (!plan->series[i].median.has_batches)
            continue;
        if (!has_heads)
            print_flush_heads(out, plan);
        has_heads = true;
        print_flush_row(out, plan, &plan->series[i]);
    }
}
