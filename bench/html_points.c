/* SPDX-License-Identifier: MIT */
#include "chart_bars.h"
#include "chart_scale.h"
#include "html_page.h"
#include "html_sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What rows are made of: the figures that are their parts. */
typedef struct bars {
    const char *name;
    const char *x_title;
    const char *unit;
    size_t parts;
    const char *const *part_names;
    const figure_t *figures;
    void (*draw)(FILE *out, const chart_rows_t *chart);
} bars_t;

static const bars_t throughput = {
    .name = "Throughput",
    .x_title = "commands per second",
    .unit = "/s",
    .parts = 1,
    .part_names = (const char *const[]){"throughput"},
    .figures = (const figure_t[]){FIGURE_OPS_PER_S},
    .draw = chart_bars,
};
static const bars_t cpu = {
    .name = "CPU of both ends",
    .x_title = "\u00b5s of CPU per command",
    .unit = "\u00a0\u00b5s",
    .parts = 2,
    .part_names = (const char *const[]){"client", "server"},
    .figures = (const figure_t[]){FIGURE_CLIENT_CPU_US, FIGURE_SERVER_CPU_US},
    .draw = chart_bars,
};
static const bars_t latency = {
    .name = "Latency",
    .x_title = "\u00b5s",
    .unit = "\u00a0\u00b5s",
    .parts = 4,
    .part_names = (const char *const[]){"p50", "p90", "p99", "p99.9"},
    .figures = (const figure_t[]){FIGURE_LATENCY_P50, FIGURE_LATENCY_P90,
                                  FIGURE_LATENCY_P99, FIGURE_LATENCY_P99_9},
    .draw = chart_ranges,
};

/* The rows of all strategies at one point, without values. */
static chart_row_t *rows_new(const study_t *study)
{
    chart_row_t *rows = calloc(study->lines_count + 1, sizeof *rows);

    for (size_t i = 0; rows && i < study->lines_count; i++)
        rows[i].look = study_look(&study->lines[i]);
    return rows;
}

static void draw_figure(FILE *out, const chart_rows_t *chart,
                        void (*draw)(FILE *out, const chart_rows_t *chart))
{
    if (!chart_rows_have_data(chart))
        return;
    html_figure_open(out, chart->title);
    draw(out, chart);
    html_figure_close(out);
}

static void draw_bars(FILE *out, const study_t *study, const study_group_t *group,
                      size_t point, const bars_t *bars)
{
    chart_row_t *rows = rows_new(study);
    const chart_rows_t chart = {
        .title = bars->name,
        .x_title = bars->x_title,
        .unit = bars->unit,
        .part_names = bars->part_names,
        .parts = bars->parts,
        .rows = rows,
        .rows_count = study->lines_count,
    };

    for (size_t i = 0; rows && i < study->lines_count; i++) {
        for (size_t k = 0; k < bars->parts; k++)
            rows[i].values[k] = study_value(study, group, point, i, bars->figures[k]);
        study_range(study_series(study, group, point, i), bars->figures[0],
                    &rows[i].low, &rows[i].high);
    }
    if (rows)
        draw_figure(out, &chart, bars->draw);
    free(rows);
}

void html_points(FILE *out, const study_t *study)
{
    for (size_t i = 0; i < study->groups_count; i++) {
        const study_group_t *group = &study->groups[i];
        if (html_has_curves(group))
            continue;
        for (size_t k = 0; k < group->points; k++) {
            char title[240];
            study_point_name(study, group, k, title, sizeof title);
            html_section_open(
                out, title,
                group->is_open
                    ? "Commands come at this rate, however fast the replies are.  Less "
                      "CPU and less latency is better; latency counts from the moment "
                      "at "
                      "which a command was meant to be sent.  In the last chart the "
                      "further to the right, the rarer."
                    : "Each caller waits for its reply before it sends its next "
                      "command.  "
                      "More throughput, less CPU and less latency is better.  The "
                      "stroke "
                      "at the end of a bar spans its rounds.  In the last chart the "
                      "further "
                      "to the right, the rarer: one command in a thousand takes longer "
                      "than the line says at p99.9.");
            if (!group->is_open)
                draw_bars(out, study, group, k, &throughput);
            draw_bars(out, study, group, k, &cpu);
            draw_bars(out, study, group, k, &latency);
            html_percentile_chart(out, study, group, k,
                                  "Latency, from the median to the slowest");
            html_section_close(out);
        }
    }
}

/* Batches */

static const char *const reason_colors[] = {
    "reason-0", "reason-1", "reason-2", "reason-3", "reason-4",
    "reason-5", "reason-6", "reason-7", "reason-8",
};

_Static_assert(sizeof reason_colors / sizeof *reason_colors == SHOAL_FLUSH_REASONS,
               "every reason has a colour");
_Static_assert(SHOAL_STATS_BATCH_BUCKETS <= CHART_PARTS_MAX &&
                   SHOAL_FLUSH_REASONS <= CHART_PARTS_MAX,
               "a row has room for all parts");

/* The counts of one strategy at one point; NULL if they were not counted. */
static const figures_t *batches_of(const study_t *study, const study_group_t *group,
                                   size_t point, size_t line)
{
    const series_t *series = study_series(study, group, point, line);
    return series && series->median.has_batches ? &series->median : NULL;
}

static void draw_sizes(FILE *out, const study_t *study, const study_group_t *group,
                       size_t point)
{
    char names[SHOAL_STATS_BATCH_BUCKETS][16];
    const char *part_names[SHOAL_STATS_BATCH_BUCKETS];
    char title[300] = "Commands per flush, ";
    chart_row_t *rows = rows_new(study);
    size_t parts = 4;

    for (size_t i = 0; i < SHOAL_STATS_BATCH_BUCKETS; i++) {
        if (i < 14)
            snprintf(names[i], sizeof names[i], "%u", 1u << i);
        else
            snprintf(names[i], sizeof names[i], "%u\u00a0k", (1u << i) / 1024);
        part_names[i] = names[i];
    }
    for (size_t i = 0; rows && i < study->lines_count; i++) {
        const figures_t *figures = batches_of(study, group, point, i);
        for (size_t k = 0; figures && k < SHOAL_STATS_BATCH_BUCKETS; k++) {
            rows[i].values[k] = (double)figures->batch_histogram[k];
            if (rows[i].values[k] > 0 && k + 1 > parts)
                parts = k + 1;
        }
    }
    study_point_name(study, group, point, title + strlen(title),
                     sizeof title - strlen(title));
    const chart_rows_t chart = {
        .title = title,
        .x_title = "commands per flush, from this to the next",
        .part_names = part_names,
        .parts = parts,
        .rows = rows,
        .rows_count = study->lines_count,
    };
    if (rows)
        draw_figure(out, &chart, chart_columns);
    free(rows);
}

static void draw_reasons(FILE *out, const study_t *study, const study_group_t *group,
                         size_t point)
{
    const char *part_names[SHOAL_FLUSH_REASONS];
    char title[300] = "Why flushes happened, ";
    chart_row_t *rows = rows_new(study);

    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++)
        part_names[i] = shoal_flush_reason_name((shoal_flush_reason_t)i);
    for (size_t i = 0; rows && i < study->lines_count; i++) {
        const figures_t *figures = batches_of(study, group, point, i);
        for (size_t k = 0; figures && k < SHOAL_FLUSH_REASONS; k++)
            rows[i].values[k] = (double)figures->flush_reasons[k];
    }
    study_point_name(study, group, point, title + strlen(title),
                     sizeof title - strlen(title));
    const chart_rows_t chart = {
        .title = title,
        .x_title = "percent of the flushes",
        .part_names = part_names,
        .part_colors = reason_colors,
        .parts = SHOAL_FLUSH_REASONS,
        .rows = rows,
        .rows_count = study->lines_count,
    };
    if (rows)
        draw_figure(out, &chart, chart_shares);
    free(rows);
}

/* The points at which there can be a batch: not with a lone caller.  Returns how many. */
static size_t choose_batch_points(const study_t *study, const study_group_t *group,
                                  size_t ret_points[3])
{
    size_t points[3];
    size_t chosen = html_choose_points(group, points);
    size_t count = 0;

    /* Of curves, the first point has next to nobody to share a batch with. */
    for (size_t k = chosen == 3 ? 1 : 0; k < chosen; k++) {
        bool is_there = false;
        for (size_t i = 0; i < study->lines_count; i++)
            is_there = is_there || batches_of(study, group, points[k], i);
        if (is_there && (group->is_open || group->axis[points[k]] > 1))
            ret_points[count++] = points[k];
    }
    return count;
}

static bool has_batches(const study_t *study)
{
    size_t points[3];

    for (size_t i = 0; i < study->groups_count; i++) {
        if (choose_batch_points(study, &study->groups[i], points) > 0)
            return true;
    }
    return false;
}

void html_batches(FILE *out, const study_t *study)
{
    if (!has_batches(study))
        return;
    html_section_open(
        out, "Batches",
        "A flush is one batch that leaves.  On the left, how many of a strategy's "
        "flushes "
        "(in percent) carried how many commands: the further to the right, the fewer "
        "system calls per command.  On the right, what made them leave: <i>lone</i>: "
        "the "
        "only command there was; <i>full</i>: a bound of bytes or commands; "
        "<i>complete</i>: nobody was left to wait for; <i>gate</i>: enough for those "
        "in "
        "flight; <i>budget</i>: the pause or the latency budget was spent; "
        "<i>turn</i>: "
        "the policy is off; <i>stagger</i>: the second half of a batch that was "
        "split.");
    for (size_t i = 0; i < study->groups_count; i++) {
        size_t points[3];
        size_t count = choose_batch_points(study, &study->groups[i], points);
        for (size_t k = 0; k < count; k++) {
            draw_sizes(out, study, &study->groups[i], points[k]);
            draw_reasons(out, study, &study->groups[i], points[k]);
        }
    }
    html_section_close(out);
}
