/* SPDX-License-Identifier: MIT */
#include "chart_scale.h"
#include "html_page.h"
#include "html_sections.h"

#include <math.h>
#include <stdlib.h>

#define LOG_FROM 8.0       /* highest over lowest: beyond this an axis is logarithmic */
#define CURVE_POINTS_MIN 3 /* fewer points are bars, not curves */
#define PERCENTILES 7

/* One figure over the axis of a group. */
typedef struct curve {
    figure_t figure;
    const char *name; /* in the panel's title */
    const char *y_title;
    const char *unit;
    bool shows_rounds;
} curve_t;

static const curve_t throughput = {FIGURE_OPS_PER_S, "Throughput",
                                   "commands per second", "/s", true};
static const curve_t client_cpu = {FIGURE_CLIENT_CPU_US, "Client",
                                   "\u00b5s of CPU per command", "\u00a0\u00b5s", true};
static const curve_t server_cpu = {FIGURE_SERVER_CPU_US, "Server",
                                   "\u00b5s of CPU per command", "\u00a0\u00b5s", true};
static const curve_t median_latency = {FIGURE_LATENCY_P50, "Median latency (p50)",
                                       "\u00b5s", "\u00a0\u00b5s", true};
static const curve_t tail_latency = {FIGURE_LATENCY_P99, "Latency, p99", "\u00b5s",
                                     "\u00a0\u00b5s", true};

/* Lines with memory for their values. */
typedef struct panel {
    chart_plot_t plot;
    chart_line_t *lines;
    double *values; /* x; then y, lowest and highest of each line */
    char (*names)[32];
    const char **labels; /* of x */
} panel_t;

static void panel_release(panel_t *panel)
{
    free(panel->lines);
    free(panel->values);
    free(panel->names);
    free(panel->labels);
}

static int panel_init(panel_t *panel, size_t lines, size_t points)
{
    *panel = (panel_t){
        .lines = calloc(lines + 1, sizeof *panel->lines),
        .values = calloc((lines * 3 + 1) * points + 1, sizeof *panel->values),
        .names = calloc(points + 1, sizeof *panel->names),
        .labels = calloc(points + 1, sizeof *panel->labels),
    };
    if (!panel->lines || !panel->values || !panel->names || !panel->labels) {
        panel_release(panel);
        return -1;
    }
    panel->plot = (chart_plot_t){
        .x = panel->values,
        .x_labels = panel->labels,
        .points = points,
        .lines = panel->lines,
        .lines_count = lines,
        .y_low = (double)NAN,
        .y_high = (double)NAN,
    };
    return 0; /* the caller's panel keeps them. NOLINT(clang-analyzer-unix.Malloc) */
}

/* Sets one line's look and where its values are. */
static double *panel_line(panel_t *panel, const study_t *study, size_t line)
{
    size_t points = panel->plot.points;
    double *y = panel->values + (line * 3 + 1) * points;

    panel->lines[line] =
        (chart_line_t){.look = study_look(&study->lines[line]), .y = y};
    return y;
}

static int panel_fill(panel_t *panel, const study_t *study, const study_group_t *group,
                      const curve_t *curve)
{
    size_t points = group->points;

    if (panel_init(panel, study->lines_count, points) < 0)
        return -1;
    for (size_t i = 0; i < points; i++) {
        panel->values[i] = (double)group->axis[i];
        if (group->is_open)
            chart_tick_text((double)group->axis[i], panel->names[i],
                            sizeof panel->names[i]);
        else
            snprintf(panel->names[i], sizeof panel->names[i], "%llu",
                     (unsigned long long)group->axis[i]);
        panel->labels[i] = panel->names[i];
    }
    for (size_t line = 0; line < study->lines_count; line++) {
        double *y = panel_line(panel, study, line);
        for (size_t i = 0; i < points; i++) {
            y[i] = study_value(study, group, i, line, curve->figure);
            study_range(study_series(study, group, i, line), curve->figure,
                        &y[points + i], &y[2 * points + i]);
        }
        if (curve->shows_rounds) {
            panel->lines[line].low = y + points;
            panel->lines[line].high = y + 2 * points;
        }
    }
    panel->plot.x_title = group->is_open ? "commands per second" : "callers";
    panel->plot.y_title = curve->y_title;
    panel->plot.unit = curve->unit;
    return 0;
}

bool html_has_curves(const study_group_t *group)
{
    return !group->is_step && group->points >= CURVE_POINTS_MIN;
}

static bool is_curve(const study_group_t *group, bool is_open)
{
    return group->is_open == is_open && html_has_curves(group);
}

/* The range that all panels of the given figures cover, so that they compare. */
static void common_range(const study_t *study, bool is_open,
                         const curve_t *const *curves, size_t count, double range[2])
{
    range[0] = range[1] = (double)NAN;
    for (size_t i = 0; i < study->groups_count; i++) {
        for (size_t k = 0; k < count && is_curve(&study->groups[i], is_open); k++) {
            panel_t panel;
            double low;
            double high;
            if (panel_fill(&panel, study, &study->groups[i], curves[k]) < 0)
                continue;
            panel.plot.is_y_log = true; /* leaves out what has no logarithm */
            chart_plot_range(&panel.plot, &low, &high);
            range[0] = fmin(range[0], low); /* ignores NaN */
            range[1] = fmax(range[1], high);
            panel_release(&panel);
        }
    }
}

static void draw_curve(FILE *out, const study_t *study, const study_group_t *group,
                       const curve_t *curve, const double range[2])
{
    panel_t panel;
    char name[160];
    char title[240];
    double low;
    double high;

    if (panel_fill(&panel, study, group, curve) < 0)
        return;
    study_group_name(study, group, name, sizeof name);
    snprintf(title, sizeof title, "%s%s%s", curve->name, name[0] ? ", " : "", name);
    panel.plot.title = title;
    panel.plot.is_y_log = range[1] > range[0] * LOG_FROM;
    panel.plot.y_low = range[0];
    panel.plot.y_high = range[1];
    chart_plot_range(&panel.plot, &low, &high);
    if (isfinite(low)) {
        html_figure_open(out, title);
        chart_plot(out, &panel.plot);
        html_figure_close(out);
    }
    panel_release(&panel);
}

static void draw_ranking(FILE *out, const study_t *study, const study_group_t *group)
{
    char name[160];
    char title[240];

    study_group_name(study, group, name, sizeof name);
    snprintf(title, sizeof title, "Share of the best%s%s", name[0] ? ", " : "", name);
    html_figure_open(out, title);
    html_ranking(out, study, group);
    html_figure_close(out);
}

/* One section: the curves side by side, group by group. */
static void draw_section(FILE *out, const study_t *study, bool is_open,
                         const curve_t *const *curves, size_t count,
                         const char *const texts[2])
{
    double range[2];

    common_range(study, is_open, curves, count, range);
    if (isnan(range[0]))
        return;
    html_section_open(out, texts[0], texts[1]);
    for (size_t i = 0; i < study->groups_count; i++) {
        for (size_t k = 0; k < count && is_curve(&study->groups[i], is_open); k++)
            draw_curve(out, study, &study->groups[i], curves[k], range);
        if (curves[0] == &throughput && is_curve(&study->groups[i], is_open))
            draw_ranking(out, study, &study->groups[i]);
    }
    html_section_close(out);
}

#define BOTH_SCALES "  Panels of one section share their scale."

void html_callers(FILE *out, const study_t *study)
{
    static const curve_t *const one[] = {&throughput};
    static const curve_t *const cpu[] = {&client_cpu, &server_cpu};
    static const curve_t *const latency[] = {&median_latency, &tail_latency};

    draw_section(
        out, study, false, one, 1,
        (const char *const[]){
            "Throughput over callers",
            "Higher is better.  Each caller waits for its reply before it sends "
            "its next command.  The vertical stroke at a point spans its "
            "rounds; where strokes overlap, strategies do not differ.  The table "
            "gives each throughput as a share of the best at the same number of "
            "callers, raw batches left out: a row that is dark all along suits "
            "every load."});
    draw_section(out, study, false, cpu, 2,
                 (const char *const[]){
                     "CPU per command over callers",
                     "Lower is better.  What one command costs the process of the "
                     "client, the load included, and the server; batches make both "
                     "cheaper." BOTH_SCALES});
    draw_section(out, study, false, latency, 2,
                 (const char *const[]){
                     "Latency over callers",
                     "Lower is better.  Half of the commands are answered within p50, "
                     "all but one in a hundred within p99.  A pause between flushes "
                     "shows as a floor that no number of callers gets "
                     "below." BOTH_SCALES});
}

void html_rates(FILE *out, const study_t *study)
{
    static const curve_t *const cpu[] = {&client_cpu, &server_cpu};
    static const curve_t *const latency[] = {&median_latency, &tail_latency};

    draw_section(
        out, study, true, cpu, 2,
        (const char *const[]){
            "CPU per command over the rate",
            "Lower is better.  Commands come at a given rate, however fast the "
            "replies are, so throughput is the same for all that keep up, and "
            "what differs is the cost." BOTH_SCALES});
    draw_section(
        out, study, true, latency, 2,
        (const char *const[]){
            "Latency over the rate",
            "Lower is better.  It counts from the moment at which a command was "
            "meant to be sent, so a stall is charged to all that it delays.  A "
            "line that turns up steeply has reached its limit." BOTH_SCALES});
}

/* Percentiles */

static const struct {
    double x; /* one command in so many is slower */
    const char *name;
    figure_t figure;
} percentiles[PERCENTILES] = {
    {2, "p50", FIGURE_LATENCY_P50},       {10, "p90", FIGURE_LATENCY_P90},
    {20, "p95", FIGURE_LATENCY_P95},      {100, "p99", FIGURE_LATENCY_P99},
    {1e3, "p99.9", FIGURE_LATENCY_P99_9}, {1e4, "p99.99", FIGURE_LATENCY_P99_99},
    {1e5, "max", FIGURE_LATENCY_P100},
};

void html_percentile_chart(FILE *out, const study_t *study, const study_group_t *group,
                           size_t point, const char *title)
{
    panel_t panel;
    double low;
    double high;

    if (panel_init(&panel, study->lines_count, PERCENTILES) < 0)
        return;
    for (size_t i = 0; i < PERCENTILES; i++) {
        panel.values[i] = percentiles[i].x;
        panel.labels[i] = percentiles[i].name;
    }
    for (size_t line = 0; line < study->lines_count; line++) {
        double *y = panel_line(&panel, study, line);
        for (size_t i = 0; i < PERCENTILES; i++)
            y[i] = study_value(study, group, point, line, percentiles[i].figure);
    }
    panel.plot.title = title;
    panel.plot.x_title = "share of the commands";
    panel.plot.y_title = "\u00b5s";
    panel.plot.unit = "\u00a0\u00b5s";
    panel.plot.is_y_log = true;
    chart_plot_range(&panel.plot, &low, &high);
    if (isfinite(low)) {
        html_figure_open(out, title);
        chart_plot(out, &panel.plot);
        html_figure_close(out);
    }
    panel_release(&panel);
}

size_t html_choose_points(const study_group_t *group, size_t ret_points[3])
{
    size_t count = group->points < 3 ? group->points : 3;

    for (size_t i = 0; i < count; i++)
        ret_points[i] = group->points < 3 ? i : i * (group->points - 1) / 2;
    return count;
}

static bool has_any_curves(const study_t *study)
{
    for (size_t i = 0; i < study->groups_count; i++) {
        if (html_has_curves(&study->groups[i]))
            return true;
    }
    return false;
}

void html_percentiles(FILE *out, const study_t *study)
{
    if (!has_any_curves(study))
        return;
    html_section_open(
        out, "Latency, from the median to the slowest command",
        "Lower and flatter is better.  The further to the right, the rarer: "
        "at p99.9 one command in a thousand takes longer than the line "
        "says.  The last points rest on a handful of commands, and vary "
        "from run to run.");
    for (size_t i = 0; i < study->groups_count; i++) {
        const study_group_t *group = &study->groups[i];
        size_t points[3];
        size_t count = html_has_curves(group) ? html_choose_points(group, points) : 0;
        for (size_t k = 0; k < count; k++) {
            char title[240];
            study_point_name(study, group, points[k], title, sizeof title);
            html_percentile_chart(out, study, group, points[k], title);
        }
    }
    html_section_close(out);
}
