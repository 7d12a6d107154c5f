/* SPDX-License-Identifier: MIT */

/* Half a minute that shows what shoal is for. */

#include "profile/profile.h"
#include "server/machine.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEMO_FEW 16u
#define DEMO_RATE 50000u
#define DEMO_RATE_TEXT "50 000"
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

typedef enum demo_part {
    PART_MANY,
    PART_FEW,
    PART_PACED,
} demo_part_t;

/* How things are drawn on this terminal. */
typedef struct pen {
    FILE *out;
    const char *first_cell; /* of a bar, and the one of its second part */
    const char *second_cell;
    const char *strong; /* begins what is to stand out */
    const char *plain;  /* ends it */
} pen_t;

static void set_strategies(options_t *part)
{
    part->strategies[ROW_POOL] = (strategy_t){.mode = MODE_POOL};
    part->strategies[ROW_OFF] = (strategy_t){.flush = SHOAL_FLUSH_OFF};
    part->strategies[ROW_FIXED] =
        (strategy_t){.flush = SHOAL_FLUSH_FIXED, .pause_us = DEMO_PAUSE_US};
    part->strategies[ROW_AUTO] = (strategy_t){.flush = SHOAL_FLUSH_AUTO};
    part->strategies[ROW_RAW] = (strategy_t){.mode = MODE_RAW, .depth = part->callers};
    part->strategies_count = ROWS;
}

static void set_defaults(options_t *options)
{
    options_default(&options->callers, 128);
    options_default(&options->rounds, 3);
}

/* A rate takes a policy longer to find out about than callers do. */
static void set_part(options_t *part, demo_part_t kind)
{
    bool is_paced = kind == PART_PACED;

    part->is_verified = false;
    options_default(&part->warmup_us, is_paced ? 450000 : 150000);
    options_default(&part->duration_us, is_paced ? 500000 : 450000);
    if (kind == PART_FEW)
        part->callers = DEMO_FEW;
    set_strategies(part);
    if (is_paced) {
        part->rate = DEMO_RATE;
        part->is_random = true;
        part->strategies_count = ROW_RAW;
    }
}

static void prepare(plan_list_t *list, const options_t *options)
{
    for (demo_part_t part = PART_MANY; part <= PART_PACED; part++)
        set_part(plan_list_add(list, options), part);
}

/* The median of a figure; NaN if it was not measured. */
static double figure(const plan_list_t *demo, demo_part_t part, demo_row_t row,
                     figure_t which)
{
    return profile_figure(&demo->plans[part], (size_t)row, which);
}

static double ops(const plan_list_t *demo, demo_part_t part, demo_row_t row)
{
    return figure(demo, part, row, FIGURE_OPS_PER_S);
}

/* CPU per command of client and server together. */
static double both_ends_us(const plan_list_t *demo, demo_part_t part, demo_row_t row)
{
    return profile_figure(&demo->plans[part], (size_t)row, FIGURE_CPU_US);
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
        fprintf(pen->out, "%*s", width, "-");
    else
        fprintf(pen->out, "%*.*f", width, decimals, value);
}

static void print_table(const pen_t *pen, const plan_list_t *demo)
{
    char heads[2][40];

    for (int part = PART_MANY; part <= PART_FEW; part++)
        snprintf(heads[part], sizeof heads[part], "%llu callers",
                 (unsigned long long)demo->options[part]->callers);
    fprintf(pen->out, "%20s %21s %21s %20s/s\n", "", heads[PART_MANY], heads[PART_FEW],
            DEMO_RATE_TEXT);
    fprintf(pen->out, "%20s %8s%6s%7s %8s%6s%7s %8s%7s%7s\n", "", "", "p99", "CPU", "",
            "p99", "CPU", "p50", "p99", "CPU");
    fprintf(pen->out, "%20s %8s%6s%7s %8s%6s%7s %8s%7s%7s\n", "", "per s", "us", "us",
            "per s", "us", "us", "us", "us", "us");
    for (demo_row_t row = 0; row < ROWS; row++) {
        begin_row(pen, row);
        for (demo_part_t part = PART_MANY; part <= PART_PACED; part++) {
            bool is_paced = part == PART_PACED;
            print_cell(pen, 9, 0,
                       is_paced ? figure(demo, part, row, FIGURE_LATENCY_P50)
                                : ops(demo, part, row));
            print_cell(pen, is_paced ? 7 : 6, 0,
                       figure(demo, part, row, FIGURE_LATENCY_P99));
            print_cell(pen, 7, 2, both_ends_us(demo, part, row));
        }
        end_row(pen, row);
    }
    fputs("CPU: of client and server together, per command\n", pen->out);
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

/* A bar for each row that was measured: the part of `first`, then the rest of `values`. */
static void draw_bars(const pen_t *pen, const double *values, const double *first,
                      int decimals)
{
    double cell = highest(values) / BAR_CELLS;

    for (demo_row_t row = 0; row < ROWS; row++) {
        if (isnan(values[row]))
            continue;
        long first_cells = lround(first[row] / cell);
        begin_row(pen, row);
        fputs(" ", pen->out);
        repeat(pen, pen->first_cell, first_cells);
        repeat(pen, pen->second_cell, lround(values[row] / cell) - first_cells);
        fprintf(pen->out, " %.*f", decimals, values[row]);
        end_row(pen, row);
    }
}

static void draw_throughput(const pen_t *pen, const plan_list_t *demo, demo_part_t part)
{
    double values[ROWS];

    for (demo_row_t row = 0; row < ROWS; row++)
        values[row] = ops(demo, part, row);
    if (highest(values) <= 0)
        return;
    fprintf(pen->out, "\nThroughput, %llu callers, commands/s\n",
            (unsigned long long)demo->options[part]->callers);
    draw_bars(pen, values, values, 0);
}

static void draw_cpu(const pen_t *pen, const plan_list_t *demo, demo_part_t part)
{
    double sums[ROWS];
    double client[ROWS];

    for (demo_row_t row = 0; row < ROWS; row++) {
        sums[row] = both_ends_us(demo, part, row);
        client[row] = figure(demo, part, row, FIGURE_CLIENT_CPU_US);
    }
    if (highest(sums) <= 0)
        return;
    fprintf(pen->out, "\nCPU per command at %u/s, us:  %s client  %s server\n",
            DEMO_RATE, pen->first_cell, pen->second_cell);
    draw_bars(pen, sums, client, 2);
}

/* "3.2 times", "12 % less than", "about as much as": what the ratio is in words. */
static const char *ratio_words(double ratio, char *text, size_t text_bytes)
{
    if (ratio >= 1.5)
        snprintf(text, text_bytes, "%.1f times as much as", ratio);
    else if (ratio >= 1.05)
        snprintf(text, text_bytes, "%.0f %% more than", (ratio - 1) * 100);
    else if (ratio > 0.95)
        snprintf(text, text_bytes, "about as much as");
    else
        snprintf(text, text_bytes, "%.0f %% less than", (1 - ratio) * 100);
    return text;
}

/* Sharing a connection against having one each. */
static void explain_sharing(findings_t *findings, const plan_list_t *demo,
                            demo_part_t part)
{
    char words[40];
    char cpu[80] = "";
    unsigned long long callers = demo->options[part]->callers;
    double ratio = ops(demo, part, ROW_AUTO) / ops(demo, part, ROW_POOL);

    if (isnan(ratio))
        return;
    if (!isnan(both_ends_us(demo, part, ROW_AUTO)))
        snprintf(cpu, sizeof cpu, ", for %.2f us of CPU per command instead of %.2f",
                 both_ends_us(demo, part, ROW_AUTO),
                 both_ends_us(demo, part, ROW_POOL));
    findings_note(findings,
                  "%llu callers on one connection, with no pipeline in their code, do "
                  "%s a pool of %llu connections%s.",
                  callers, ratio_words(ratio, words, sizeof words), callers, cpu);
}

/* How much is left to gain, and what a fixed pause loses. */
static void explain_flushing(findings_t *findings, const plan_list_t *demo)
{
    char many[40];
    char few[40];
    unsigned long long callers = demo->options[PART_MANY]->callers;
    double raw = ops(demo, PART_MANY, ROW_AUTO) / ops(demo, PART_MANY, ROW_RAW);
    double fixed_many =
        ops(demo, PART_MANY, ROW_FIXED) / ops(demo, PART_MANY, ROW_AUTO);
    double fixed_few = ops(demo, PART_FEW, ROW_FIXED) / ops(demo, PART_FEW, ROW_AUTO);

    if (!isnan(raw))
        findings_note(findings,
                      "auto does %.0f %% of raw batches, a thread that writes %llu "
                      "ready-made commands, waits for all replies and skips them.",
                      raw * 100, callers);
    if (!isnan(fixed_few))
        findings_note(findings,
                      "A fixed pause of %u us between flushes does %s auto with %llu "
                      "callers, and %s auto with %u.",
                      DEMO_PAUSE_US, ratio_words(fixed_many, many, sizeof many),
                      callers, ratio_words(fixed_few, few, sizeof few), DEMO_FEW);
}

/* What gathering commands is worth when callers come at a rate. */
static void explain_rate(findings_t *findings, const plan_list_t *demo)
{
    char words[40];
    const demo_part_t part = PART_PACED;
    double off = both_ends_us(demo, part, ROW_OFF);
    double automatic = both_ends_us(demo, part, ROW_AUTO);

    if (isnan(off / automatic))
        return;
    findings_note(findings,
                  "At " DEMO_RATE_TEXT " commands/s auto sends %.1f commands per write "
                  "and off %.1f.  Of the CPU of both ends it uses %s off; the median "
                  "latency is %.0f us, and %.0f us with off.",
                  figure(demo, part, ROW_AUTO, FIGURE_COMMANDS_PER_WRITE),
                  figure(demo, part, ROW_OFF, FIGURE_COMMANDS_PER_WRITE),
                  ratio_words(automatic / off, words, sizeof words),
                  figure(demo, part, ROW_AUTO, FIGURE_LATENCY_P50),
                  figure(demo, part, ROW_OFF, FIGURE_LATENCY_P50));
}

/* What was not reached, and how far the rounds differ. */
static void explain_limits(findings_t *findings, const plan_list_t *demo)
{
    double spread = 0;

    for (demo_row_t row = 0; row < ROWS; row++) {
        double rate = ops(demo, PART_PACED, row);
        if (rate < 0.98 * DEMO_RATE)
            findings_note(findings, "%s could not keep up: %.0f commands/s.",
                          row_names[row], rate);
    }
    for (size_t part = 0; part < demo->count; part++) {
        const plan_t *plan = &demo->plans[part];
        for (size_t i = 0; i < plan->series_count; i++)
            spread = fmax(spread, series_spread(&plan->series[i], FIGURE_OPS_PER_S));
    }
    findings_note(
        findings,
        "Medians of %llu interleaved rounds, which differ by up to +-%.0f %%%s",
        (unsigned long long)demo->options[PART_MANY]->rounds, spread * 100,
        spread > 0.1 ? ": the machine is busy with other things; trust ratios." : ".");
}

static pen_t choose_pen(FILE *out)
{
    bool is_terminal = isatty(fileno(out)) && getenv("NO_COLOR") == NULL;

    setlocale(LC_CTYPE, "");
    bool is_unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    return (pen_t){
        .out = out,
        .first_cell = is_unicode ? "\u2588" : "#",
        .second_cell = is_unicode ? "\u2592" : ":",
        .strong = is_terminal ? "\033[1;32m" : "",
        .plain = is_terminal ? "\033[0m" : "",
    };
}

static void heading(FILE *out, const options_t *options,
                    const report_context_t *context, const plan_list_t *list)
{
    (void)list;
    fprintf(
        out,
        "%s, %s%s; %s, %zu CPUs\n"
        "The same commands (SET, %llu bytes) on their way by five strategies: half a "
        "minute\n\n",
        context->server_version, options->is_private ? "private" : context->url,
        options->server_cpu != MACHINE_NO_CPU ? ", on a CPU of its own" : "",
        context->machine.cpu, context->machine.cpus,
        (unsigned long long)options->value_bytes);
}

/* Table, picture and sentences, all from the figures of this run. */
static void summarise(findings_t *findings, const plan_list_t *demo)
{
    const pen_t pen = choose_pen(findings->out);

    print_table(&pen, demo);
    draw_throughput(&pen, demo, PART_MANY);
    draw_throughput(&pen, demo, PART_FEW);
    draw_cpu(&pen, demo, PART_PACED);
    fputs("\nWhat it means\n", findings->out);
    explain_sharing(findings, demo, PART_MANY);
    explain_flushing(findings, demo);
    explain_rate(findings, demo);
    explain_limits(findings, demo);
}

const profile_t profile_demo = {"demo",  false, set_defaults, prepare,
                                heading, NULL,  summarise};
