/* SPDX-License-Identifier: MIT */
#include "chart_scale.h"
#include "html_page.h"
#include "html_sections.h"

#include <math.h>

/* How a row is headed; a figure that is not here is headed by its JSON key. */
static const char *const heads[FIGURE_COUNT] = {
    [FIGURE_OPS_PER_S] = "commands per second",
    [FIGURE_LATENCY_P0] = "latency, fastest, \u00b5s",
    [FIGURE_LATENCY_P50] = "latency, p50, \u00b5s",
    [FIGURE_LATENCY_P90] = "latency, p90, \u00b5s",
    [FIGURE_LATENCY_P95] = "latency, p95, \u00b5s",
    [FIGURE_LATENCY_P99] = "latency, p99, \u00b5s",
    [FIGURE_LATENCY_P99_9] = "latency, p99.9, \u00b5s",
    [FIGURE_LATENCY_P99_99] = "latency, p99.99, \u00b5s",
    [FIGURE_LATENCY_P100] = "latency, slowest, \u00b5s",
    [FIGURE_LATENCY_MEAN] = "latency, mean, \u00b5s",
    [FIGURE_SERVICE_P0] = "from submission, fastest, \u00b5s",
    [FIGURE_SERVICE_P50] = "from submission, p50, \u00b5s",
    [FIGURE_SERVICE_P90] = "from submission, p90, \u00b5s",
    [FIGURE_SERVICE_P95] = "from submission, p95, \u00b5s",
    [FIGURE_SERVICE_P99] = "from submission, p99, \u00b5s",
    [FIGURE_SERVICE_P99_9] = "from submission, p99.9, \u00b5s",
    [FIGURE_SERVICE_P99_99] = "from submission, p99.99, \u00b5s",
    [FIGURE_SERVICE_P100] = "from submission, slowest, \u00b5s",
    [FIGURE_SERVICE_MEAN] = "from submission, mean, \u00b5s",
    [FIGURE_CLIENT_CPU_US] = "client CPU per command, \u00b5s",
    [FIGURE_CLIENT_CPU_PERCENT] = "client CPU, % of one",
    [FIGURE_SERVER_CPU_US] = "server CPU per command, \u00b5s",
    [FIGURE_SERVER_CPU_PERCENT] = "server CPU, % of one",
    [FIGURE_COMMANDS_PER_WRITE] = "commands per write",
    [FIGURE_COMMANDS_PER_SERVER_READ] = "commands per read of the server",
    [FIGURE_WRITES] = "writes per command",
    [FIGURE_READS] = "reads per command",
    [FIGURE_WAKEUPS] = "wake-ups per command",
    [FIGURE_CALLER_WAKEUPS] = "wake-ups of callers per command",
    [FIGURE_DIRECT_CALLS] = "direct calls per command",
    [FIGURE_HANDOVERS] = "handovers per command",
    [FIGURE_STEP_BASE] = "median latency before the step, \u00b5s",
    [FIGURE_STEP_SETTLED] = "settled after the step, ms",
    [FIGURE_STEP_SETTLED_MAX] = "settled after the step, slowest, ms",
    [FIGURE_PEAK_RSS_BYTES] = "peak memory, bytes",
    [FIGURE_ALLOCATIONS] = "allocations per command",
    [FIGURE_ERRORS] = "errors",
};

/* Whether a row of a point's table would say anything. */
static bool has_figure(const plan_t *plan, size_t figure)
{
    bool is_service = figure >= FIGURE_SERVICE_P0 && figure <= FIGURE_SERVICE_MEAN;

    if (figure == FIGURE_COMMANDS || figure == FIGURE_SECONDS)
        return false;
    if (is_service && plan->options->rate == 0)
        return false; /* the same as the latency */
    for (size_t i = 0; i < plan->series_count; i++) {
        double value = plan->series[i].median.value[figure];
        if (plan->series[i].rounds_count == 0 || !isfinite(value))
            continue;
        if (figure != FIGURE_ERRORS || value > 0)
            return true;
    }
    return false;
}

static const study_line_t *line_of(const study_t *study, const plan_t *plan, size_t at)
{
    return &study->lines[study_line_of(study, plan, &plan->series[at])];
}

static void open_cell(FILE *out, const study_t *study, const plan_t *plan, size_t at)
{
    fputs(line_of(study, plan, at)->is_strong ? "<td class=\"strong\">" : "<td>", out);
}

static void put_head(FILE *out, const study_t *study, const plan_t *plan)
{
    fputs("<thead><tr><th></th>", out);
    for (size_t i = 0; i < plan->series_count; i++) {
        fputs(line_of(study, plan, i)->is_strong ? "<th class=\"strong\">" : "<th>",
              out);
        svg_escape(out, line_of(study, plan, i)->label);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

static void put_figure(FILE *out, const study_t *study, const plan_t *plan,
                       figure_t figure)
{
    char text[32];

    fprintf(out, "<tr><th>%s</th>", heads[figure] ? heads[figure] : figure_key(figure));
    for (size_t i = 0; i < plan->series_count; i++) {
        const series_t *series = &plan->series[i];
        double value =
            series->rounds_count > 0 ? series->median.value[figure] : (double)NAN;
        open_cell(out, study, plan, i);
        svg_escape(out, chart_number(value, text, sizeof text));
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

static void put_spread(FILE *out, const study_t *study, const plan_t *plan)
{
    if (plan->options->rounds < 2)
        return;
    fputs("<tr><th>its rounds differ by</th>", out);
    for (size_t i = 0; i < plan->series_count; i++) {
        open_cell(out, study, plan, i);
        if (plan->series[i].rounds_count < 2)
            fputs("-", out);
        else
            fprintf(out, "\u00b1%.1f\u00a0%%",
                    series_spread(&plan->series[i], FIGURE_OPS_PER_S) * 100);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

/* A row of counted flushes: of a size, or for a reason. */
#define COUNTS (SHOAL_STATS_BATCH_BUCKETS + SHOAL_FLUSH_REASONS)

static uint64_t count_at(const figures_t *figures, size_t row)
{
    if (row < SHOAL_STATS_BATCH_BUCKETS)
        return figures->batch_histogram[row];
    return figures->flush_reasons[row - SHOAL_STATS_BATCH_BUCKETS];
}

static bool has_count(const plan_t *plan, size_t row)
{
    for (size_t i = 0; i < plan->series_count; i++) {
        const figures_t *figures = &plan->series[i].median;
        if (figures->has_batches && count_at(figures, row) > 0)
            return true;
    }
    return false;
}

static void put_count_head(FILE *out, size_t row)
{
    if (row == 0)
        fputs("<tr><th>flushes of 1 command</th>", out);
    else if (row < SHOAL_STATS_BATCH_BUCKETS)
        fprintf(out, "<tr><th>flushes of %u to %u</th>", 1u << row, (2u << row) - 1);
    else
        fprintf(out, "<tr><th>flushes, %s</th>",
                shoal_flush_reason_name(
                    (shoal_flush_reason_t)(row - SHOAL_STATS_BATCH_BUCKETS)));
}

static void put_count(FILE *out, const study_t *study, const plan_t *plan, size_t row)
{
    put_count_head(out, row);
    for (size_t i = 0; i < plan->series_count; i++) {
        const figures_t *figures = &plan->series[i].median;
        open_cell(out, study, plan, i);
        if (figures->has_batches)
            fprintf(out, "%llu", (unsigned long long)count_at(figures, row));
        else
            fputs("-", out);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

static void put_plan(FILE *out, const study_t *study, const plan_t *plan)
{
    fputs("<div class=\"wide\"><table>\n", out);
    put_head(out, study, plan);
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        if (has_figure(plan, i))
            put_figure(out, study, plan, (figure_t)i);
        if (i == FIGURE_OPS_PER_S)
            put_spread(out, study, plan);
    }
    for (size_t row = 0; row < COUNTS; row++) {
        if (has_count(plan, row))
            put_count(out, study, plan, row);
    }
    fputs("</tbody></table></div>\n", out);
}

static void put_point(FILE *out, const study_t *study, const study_group_t *group,
                      size_t point)
{
    char title[240];

    study_point_name(study, group, point, title, sizeof title);
    fputs("<h3>", out);
    svg_escape(out, title);
    fputs("</h3>\n", out);
    for (size_t i = 0; i < study->plans_count; i++) {
        if (study_is_at(group, point, &study->plans[i]))
            put_plan(out, study, &study->plans[i]);
    }
}

void html_tables(FILE *out, const study_t *study)
{
    fputs(
        "<section>\n<h2>All figures</h2>\n<p class=\"reading\">Medians of the rounds; "
        "the counts of flushes are sums.  A dash: not measured in that mode.</p>\n",
        out);
    for (size_t i = 0; i < study->groups_count; i++) {
        for (size_t k = 0; k < study->groups[i].points; k++)
            put_point(out, study, &study->groups[i], k);
    }
    fputs("</section>\n", out);
}
