/* SPDX-License-Identifier: MIT */
#include "profile_demo.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEMO_RATE 50000u
#define DEMO_PAUSE_US 100u
#define BAR_CELLS 46

/* The rows, in the order in which they are shown. */
typedef enum demo_row {
    ROW_POOL,
    ROW_OFF,
    ROW_FIXED,
    ROW_AUTO,
    ROW_RAW, /* not at a fixed rate */
    ROWS
} demo_row_t;

static const char *const row_names[ROWS] = {
    [ROW_POOL] = "pool of connections",  [ROW_OFF] = "shoal, off",
    [ROW_FIXED] = "shoal, fixed 100 us", [ROW_AUTO] = "shoal, auto",
    [ROW_RAW] = "raw batches",
};

/* How things are drawn on this terminal. */
typedef struct pen {
    FILE *out;
    bool is_unicode;
    const char *strong; /* begins what is to stand out */
    const char *plain;  /* ends it */
} pen_t;

typedef enum demo_part {
    PART_FAST,
    PART_PACED,
} demo_part_t;

void demo_prepare(demo_t *demo, const options_t *options)
{
    for (size_t i = 0; i < DEMO_PLANS; i++) {
        options_t *part = &demo->options[i];
        *part = *options;
        part->strategies[ROW_POOL] = (strategy_t){.mode = MODE_POOL};
        part->strategies[ROW_OFF] = (strategy_t){.flush = SHOAL_FLUSH_OFF};
        part->strategies[ROW_FIXED] =
            (strategy_t){.flush = SHOAL_FLUSH_FIXED, .pause_us = DEMO_PAUSE_US};
        part->strategies[ROW_AUTO] = (strategy_t){.flush = SHOAL_FLUSH_AUTO};
        part->strategies[ROW_RAW] =
            (strategy_t){.mode = MODE_RAW, .depth = options->callers};
        part->strategies_count = i == PART_PACED ? ROW_RAW : ROWS;
        part->requests = 0;
        part->rounds = 3;
        part->rate = i == PART_PACED ? DEMO_RATE : 0;
        part->warmup_us = i == PART_PACED ? 500000 : 200000;
        part->duration_us = i == PART_PACED ? 800000 : 700000;
        part->is_verified = false;
    }
}

/* The median of a figure; NaN if it was not measured. */
static double figure(const demo_t *demo, demo_part_t part, demo_row_t row,
                     figure_t which)
{
    const plan_t *plan = &demo->plans[part];
    if (plan->series_count <= (size_t)row || plan->series[row].rounds_count == 0)
        return (double)NAN;
    return plan->series[row].median.value[which];
}

/* CPU per command of client and server together. */
static double both_ends_us(const demo_t *demo, demo_part_t part, demo_row_t row)
{
    return figure(demo, part, row, FIGURE_CLIENT_CPU_US) +
           figure(demo, part, row, FIGURE_SERVER_CPU_US);
}

static void begin_row(const pen_t *pen, demo_row_t row)
{
    fprintf(pen->out, "%s%-20s", row == ROW_AUTO ? pen->strong : "", row_names[row]);
}

static void end_row(const pen_t *pen, demo_row_t row)
{
    fprintf(pen->out, "%s\n", row == ROW_AUTO ? pen->plain : "");
}

static void print_cell(const pen_t *pen, int width, int decimals, double value)
{
    if (isnan(value))
        fprintf(pen->out, " %*s", width, "-");
    else
        fprintf(pen->out, " %*.*f", width, decimals, value);
}

static void print_table(const pen_t *pen, const demo_t *demo)
{
    static const figure_t shown[] = {FIGURE_LATENCY_P50, FIGURE_LATENCY_P99,
                                     FIGURE_CLIENT_CPU_US, FIGURE_SERVER_CPU_US};

    fprintf(pen->out, "%-20s %-36s  %s\n", "", "  as fast as replies come",
            "  at 50 000 commands/s");
    fprintf(pen->out, "%-20s %8s %6s %6s %6s %6s  %6s %6s %6s %6s\n", "", "", "p50",
            "p99", "client", "server", "p50", "p99", "client", "server");
    fprintf(pen->out, "%-20s %8s %6s %6s %6s %6s  %6s %6s %6s %6s\n", "", "ops/s", "us",
            "us", "CPU us", "CPU us", "us", "us", "CPU us", "CPU us");
    for (int row = 0; row < ROWS; row++) {
        begin_row(pen, (demo_row_t)row);
        for (int part = PART_FAST; part <= PART_PACED; part++) {
            if (part == PART_FAST)
                print_cell(pen, 8, 0,
                           figure(demo, PART_FAST, (demo_row_t)row, FIGURE_OPS_PER_S));
            else
                fputs(" ", pen->out);
            for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
                print_cell(pen, 6, i < 2 ? 0 : 2,
                           figure(demo, (demo_part_t)part, (demo_row_t)row, shown[i]));
        }
        end_row(pen, (demo_row_t)row);
    }
}

static void repeat(const pen_t *pen, const char *cell, long times)
{
    for (long i = 0; i < times; i++)
        fputs(cell, pen->out);
}

static double highest(const double *values)
{
    double result = 0;
    for (size_t i = 0; i < ROWS; i++)
        result = fmax(result, values[i]); /* fmax() ignores NaN */
    return result;
}

static void draw_throughput(const pen_t *pen, const demo_t *demo)
{
    double ops[ROWS];

    for (int row = 0; row < ROWS; row++)
        ops[row] = figure(demo, PART_FAST, (demo_row_t)row, FIGURE_OPS_PER_S);
    fputs("\nThroughput, commands/s\n", pen->out);
    for (int row = 0; row < ROWS; row++) {
        if (isnan(ops[row]))
            continue;
        begin_row(pen, (demo_row_t)row);
        fputs(" ", pen->out);
        repeat(pen, pen->is_unicode ? "\u2588" : "#",
               lround(ops[row] / highest(ops) * BAR_CELLS));
        fprintf(pen->out, " %.0f", ops[row]);
        end_row(pen, (demo_row_t)row);
    }
}

static void draw_cpu(const pen_t *pen, const demo_t *demo, demo_part_t part,
                     const char *title)
{
    const char *client_cell = pen->is_unicode ? "\u2588" : "#";
    const char *server_cell = pen->is_unicode ? "\u2592" : ":";
    double sums[ROWS];

    for (int row = 0; row < ROWS; row++)
        sums[row] = both_ends_us(demo, part, (demo_row_t)row);
    fprintf(pen->out, "\nCPU time per command, us, %s: %s client  %s server\n", title,
            client_cell, server_cell);
    for (int row = 0; row < ROWS; row++) {
        if (isnan(sums[row]))
            continue;
        double client = figure(demo, part, (demo_row_t)row, FIGURE_CLIENT_CPU_US);
        double cell_us = highest(sums) / BAR_CELLS;
        long client_cells = lround(client / cell_us);
        begin_row(pen, (demo_row_t)row);
        fputs(" ", pen->out);
        repeat(pen, client_cell, client_cells);
        repeat(pen, server_cell, lround(sums[row] / cell_us) - client_cells);
        fprintf(pen->out, " %.2f", sums[row]);
        end_row(pen, (demo_row_t)row);
    }
}

/* "3.2 times", or "12 % less than": whichever reads better. */
static void say_ratio(const pen_t *pen, double ratio, const char *unit)
{
    if (ratio >= 1.5)
        fprintf(pen->out, "%.1f times %s", ratio, unit);
    else if (ratio >= 1.03)
        fprintf(pen->out, "%.0f %% more than %s", (ratio - 1) * 100, unit);
    else if (ratio > 0.97)
        fprintf(pen->out, "as much as %s", unit);
    else
        fprintf(pen->out, "%.0f %% less than %s", (1 - ratio) * 100, unit);
}

static void explain_fast(const pen_t *pen, const demo_t *demo)
{
    unsigned long long callers = (unsigned long long)demo->options[0].callers;
    double pool = figure(demo, PART_FAST, ROW_POOL, FIGURE_OPS_PER_S);
    double fixed = figure(demo, PART_FAST, ROW_FIXED, FIGURE_OPS_PER_S);
    double automatic = figure(demo, PART_FAST, ROW_AUTO, FIGURE_OPS_PER_S);
    double raw = figure(demo, PART_FAST, ROW_RAW, FIGURE_OPS_PER_S);
    double pool_us = both_ends_us(demo, PART_FAST, ROW_POOL);
    double automatic_us = both_ends_us(demo, PART_FAST, ROW_AUTO);

    if (!isnan(automatic / pool)) {
        fprintf(
            pen->out,
            "- %llu callers that share one connection, with no pipeline in their code, "
            "did\n  ",
            callers);
        say_ratio(pen, automatic / pool, "the work");
        fprintf(pen->out, " of a pool of %llu connections", callers);
        if (!isnan(pool_us / automatic_us))
            fprintf(pen->out, ",\n  for %.2f us of CPU per command in place of %.2f",
                    automatic_us, pool_us);
        fputs(".\n", pen->out);
    }
    if (!isnan(automatic / raw))
        fprintf(
            pen->out,
            "- That is %.0f %% of raw batches: one thread that writes %llu encoded "
            "commands at\n  once, waits for all replies, and does nothing with them.\n",
            automatic / raw * 100, callers);
    if (!isnan(fixed / automatic)) {
        fprintf(pen->out, "- A pause of %u us between flushes did ", DEMO_PAUSE_US);
        say_ratio(pen, fixed / automatic, "auto");
        fputs(".\n", pen->out);
    }
}

/* Sums up one way of flushing at the fixed rate. */
static void describe_paced(const pen_t *pen, const demo_t *demo, demo_row_t row)
{
    fprintf(pen->out,
            "%.1f commands per write, %.2f us of CPU per command, p50 %.0f us",
            figure(demo, PART_PACED, row, FIGURE_COMMANDS_PER_WRITE),
            both_ends_us(demo, PART_PACED, row),
            figure(demo, PART_PACED, row, FIGURE_LATENCY_P50));
}

static void explain_paced(const pen_t *pen, const demo_t *demo)
{
    double pool = both_ends_us(demo, PART_PACED, ROW_POOL);
    double off = both_ends_us(demo, PART_PACED, ROW_OFF);
    double automatic = both_ends_us(demo, PART_PACED, ROW_AUTO);

    if (isnan(off / automatic))
        return;
    fprintf(pen->out, "- At %u commands/s, flushing at once (off) means ", DEMO_RATE);
    describe_paced(pen, demo, ROW_OFF);
    fputs(";\n  auto: ", pen->out);
    describe_paced(pen, demo, ROW_AUTO);
    fputs(".\n  The CPU of both ends is ", pen->out);
    say_ratio(pen, automatic / off, "with off");
    if (!isnan(pool)) {
        fputs(", and ", pen->out);
        say_ratio(pen, automatic / pool, "with the pool");
    }
    fputs(".\n", pen->out);
}

/* What to make of the figures: how far the rounds differ, and what was not reached. */
static void explain_limits(const pen_t *pen, const demo_t *demo)
{
    double spread = 0;

    for (size_t i = 0; i < demo->plans[PART_FAST].series_count; i++)
        spread = fmax(
            spread, series_spread(&demo->plans[PART_FAST].series[i], FIGURE_OPS_PER_S));
    for (int row = 0; row < ROWS; row++) {
        double rate = figure(demo, PART_PACED, (demo_row_t)row, FIGURE_OPS_PER_S);
        if (rate < 0.98 * DEMO_RATE)
            fprintf(pen->out, "- %s could not keep up: %.0f commands/s.\n",
                    row_names[row], rate);
    }
    fprintf(pen->out,
            "- Medians of %llu interleaved rounds that differ by up to +-%.0f %%%s\n",
            (unsigned long long)demo->options[0].rounds, spread * 100,
            spread > 0.1 ? ": the machine\n  is busy with other things; trust ratios."
                         : ".");
}

static pen_t choose_pen(FILE *out)
{
    bool is_terminal = isatty(fileno(out)) && getenv("NO_COLOR") == NULL;

    setlocale(LC_CTYPE, "");
    return (pen_t){
        .out = out,
        .is_unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .strong = is_terminal ? "\033[1;32m" : "",
        .plain = is_terminal ? "\033[0m" : "",
    };
}

void demo_report(FILE *out, const demo_t *demo)
{
    const pen_t pen = choose_pen(out);

    print_table(&pen, demo);
    draw_throughput(&pen, demo);
    draw_cpu(&pen, demo, PART_FAST, "at that throughput");
    draw_cpu(&pen, demo, PART_PACED, "at 50 000 commands/s");
    fputs("\nWhat it means\n", out);
    explain_fast(&pen, demo);
    explain_paced(&pen, demo);
    explain_limits(&pen, demo);
}
