/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include "chart_scale.h"

#include <math.h>
#include <stdlib.h>

#define MARGIN_LEFT 50.0
#define MARGIN_TOP 30.0
#define MARGIN_BOTTOM 42.0
#define PLOT_HEIGHT 216.0
#define LABEL_GAP 14.0
#define LABEL_SPACE 26.0 /* between the end of a line and its label */
#define TICK_SPACE 7.0

/* A chart that is being drawn. */
typedef struct canvas {
    FILE *out;
    const chart_plot_t *plot;
    chart_scale_t x;
    chart_scale_t y;
    double height;
} canvas_t;

static void widen(double value, double *low, double *high)
{
    if (!isfinite(value))
        return;
    *low = isnan(*low) ? value : fmin(*low, value);
    *high = isnan(*high) ? value : fmax(*high, value);
}

void chart_plot_range(const chart_plot_t *plot, double *ret_low, double *ret_high)
{
    *ret_low = *ret_high = (double)NAN;
    for (size_t i = 0; i < plot->lines_count; i++) {
        const chart_line_t *line = &plot->lines[i];
        for (size_t k = 0; k < plot->points; k++) {
            if (plot->is_y_log && !(line->y[k] > 0))
                continue;
            widen(line->y[k], ret_low, ret_high);
            if (line->low)
                widen(line->low[k], ret_low, ret_high);
            if (line->high)
                widen(line->high[k], ret_low, ret_high);
        }
    }
}

/* The widest label at the right, so that none is cut off. */
static double label_room(const chart_plot_t *plot)
{
    double room = 0;
    for (size_t i = 0; i < plot->lines_count; i++)
        room = fmax(room, svg_text_width(plot->lines[i].look.label, CHART_FONT * 1.1));
    return fmin(room, 130) + LABEL_SPACE + 4;
}

static canvas_t lay_out(FILE *out, const chart_plot_t *plot)
{
    double low;
    double high;
    double plot_height = fmax(PLOT_HEIGHT, LABEL_GAP * (double)plot->lines_count);
    canvas_t canvas = {
        .out = out,
        .plot = plot,
        .height = MARGIN_TOP + plot_height + MARGIN_BOTTOM,
        .x = {.is_log = true,
              .low = plot->x[0],
              .high = plot->x[plot->points - 1],
              .from = MARGIN_LEFT + 10,
              .to = CHART_WIDTH - label_room(plot)},
        .y = {.is_log = plot->is_y_log,
              .from = MARGIN_TOP + plot_height,
              .to = MARGIN_TOP},
    };
    if (!(canvas.x.high > canvas.x.low)) {
        canvas.x.low /= 2;
        canvas.x.high *= 2;
    }
    chart_plot_range(plot, &low, &high);
    widen(plot->y_low, &low, &high);
    widen(plot->y_high, &low, &high);
    chart_scale_cover(&canvas.y, low, high);
    return canvas;
}

static void draw_y_axis(const canvas_t *canvas)
{
    double ticks[CHART_TICKS_MAX];
    char text[32];
    size_t count = chart_scale_ticks(&canvas->y, 7, ticks);

    for (size_t i = 0; i < count; i++) {
        double y = chart_scale_at(&canvas->y, ticks[i]);
        svg_line(canvas->out, "grid", (svg_point_t){MARGIN_LEFT, y},
                 (svg_point_t){canvas->x.to + 4, y});
        svg_text(canvas->out, "tick", (svg_point_t){MARGIN_LEFT - 6, y + 4}, SVG_END,
                 chart_tick_text(ticks[i], text, sizeof text));
    }
    svg_text(canvas->out, "axis", (svg_point_t){2, MARGIN_TOP - 17}, SVG_START,
             canvas->plot->y_title);
}

static void draw_x_axis(const canvas_t *canvas)
{
    const chart_plot_t *plot = canvas->plot;
    double middles[CHART_POINTS_MAX];
    double widths[CHART_POINTS_MAX];
    bool is_kept[CHART_POINTS_MAX];
    double bottom = canvas->y.from;

    for (size_t i = 0; i < plot->points; i++) {
        middles[i] = chart_scale_at(&canvas->x, plot->x[i]);
        widths[i] = svg_text_width(plot->x_labels[i], CHART_FONT) + TICK_SPACE;
    }
    chart_thin(middles, widths, plot->points, is_kept);
    svg_line(canvas->out, "base", (svg_point_t){MARGIN_LEFT, bottom},
             (svg_point_t){canvas->x.to + 4, bottom});
    for (size_t i = 0; i < plot->points; i++) {
        svg_line(canvas->out, "base", (svg_point_t){middles[i], bottom},
                 (svg_point_t){middles[i], bottom + 4});
        if (is_kept[i])
            svg_text(canvas->out, "tick", (svg_point_t){middles[i], bottom + 17},
                     SVG_MIDDLE, plot->x_labels[i]);
    }
    svg_text(canvas->out, "axis",
             (svg_point_t){(canvas->x.from + canvas->x.to) / 2, bottom + 35},
             SVG_MIDDLE, plot->x_title);
}

/* What is said about a point when the pointer rests on it. */
static void describe_point(const canvas_t *canvas, const chart_line_t *line, size_t at,
                           char *hint, size_t hint_bytes)
{
    const chart_plot_t *plot = canvas->plot;
    char y[32];
    char low[32];
    char high[32];
    int written =
        snprintf(hint, hint_bytes, "%s, %s: %s%s", line->look.label, plot->x_labels[at],
                 chart_number(line->y[at], y, sizeof y), plot->unit);

    if (line->low && line->high && line->high[at] > line->low[at] && written > 0 &&
        (size_t)written < hint_bytes)
        snprintf(hint + written, hint_bytes - (size_t)written, " (rounds: %s to %s)",
                 chart_number(line->low[at], low, sizeof low),
                 chart_number(line->high[at], high, sizeof high));
}

static void draw_whisker(const canvas_t *canvas, const chart_line_t *line, size_t at,
                         double x)
{
    if (!line->low || !line->high)
        return;
    double low = chart_scale_at(&canvas->y, line->low[at]);
    double high = chart_scale_at(&canvas->y, line->high[at]);
    if (isnan(low) || isnan(high) || low - high < 1)
        return;
    svg_line(canvas->out, "whisker", (svg_point_t){x, low}, (svg_point_t){x, high});
}

static void draw_line(const canvas_t *canvas, const chart_line_t *line)
{
    const chart_plot_t *plot = canvas->plot;
    svg_point_t points[CHART_POINTS_MAX];
    char hint[200];

    for (size_t i = 0; i < plot->points; i++)
        points[i] = (svg_point_t){chart_scale_at(&canvas->x, plot->x[i]),
                                  chart_scale_at(&canvas->y, line->y[i])};
    svg_path(canvas->out, line->look.is_dashed ? "line dashed" : "line", points,
             plot->points);
    for (size_t i = 0; i < plot->points; i++) {
        if (!isfinite(points[i].y))
            continue;
        draw_whisker(canvas, line, i, points[i].x);
        describe_point(canvas, line, i, hint, sizeof hint);
        svg_mark(canvas->out, line->look.mark, points[i],
                 line->look.is_strong ? 4 : 3.2, hint);
    }
}

static void draw_label(const canvas_t *canvas, const chart_line_t *line,
                       svg_point_t end, double y)
{
    double x = canvas->x.to + LABEL_SPACE;

    svg_line(canvas->out, "leader", (svg_point_t){end.x + 6, end.y},
             (svg_point_t){x - 3, y});
    svg_text(canvas->out, "label", (svg_point_t){x, y + 4}, SVG_START,
             line->look.label);
}

/* The labels of the lines that have an end, each as near to it as the others let it. */
static void place_labels(const canvas_t *canvas, const svg_point_t *ends, double *ret_y)
{
    double wishes[CHART_LINES_MAX];
    size_t count = 0;

    for (size_t i = 0; i < canvas->plot->lines_count; i++) {
        if (isfinite(ends[i].y))
            wishes[count++] = ends[i].y;
    }
    chart_spread(wishes, count, LABEL_GAP, canvas->y.to + 2, canvas->y.from - 4);
    for (size_t i = 0, at = 0; i < canvas->plot->lines_count; i++)
        ret_y[i] = isfinite(ends[i].y) ? wishes[at++] : (double)NAN;
}

static svg_point_t find_end(const canvas_t *canvas, const chart_line_t *line)
{
    const chart_plot_t *plot = canvas->plot;

    for (size_t i = plot->points; i-- > 0;) {
        double y = chart_scale_at(&canvas->y, line->y[i]);
        if (isfinite(y))
            return (svg_point_t){chart_scale_at(&canvas->x, plot->x[i]), y};
    }
    return (svg_point_t){(double)NAN, (double)NAN};
}

static void draw_lines(const canvas_t *canvas)
{
    const chart_plot_t *plot = canvas->plot;
    svg_point_t ends[CHART_LINES_MAX];
    double label_y[CHART_LINES_MAX];

    for (size_t i = 0; i < plot->lines_count; i++)
        ends[i] = find_end(canvas, &plot->lines[i]);
    place_labels(canvas, ends, label_y);
    for (int is_strong = 0; is_strong <= 1; is_strong++) {
        for (size_t i = 0; i < plot->lines_count; i++) {
            const chart_line_t *line = &plot->lines[i];
            if (line->look.is_strong != (is_strong == 1) || !isfinite(ends[i].y))
                continue;
            svg_group_open(canvas->out, is_strong ? "series strong" : "series",
                           line->look.color);
            draw_line(canvas, line);
            draw_label(canvas, line, ends[i], label_y[i]);
            svg_group_close(canvas->out);
        }
    }
}

void chart_plot(FILE *out, const chart_plot_t *plot)
{
    double low;
    double high;

    chart_plot_range(plot, &low, &high);
    if (isnan(low) || plot->points == 0 || plot->points > CHART_POINTS_MAX ||
        plot->lines_count > CHART_LINES_MAX)
        return;
    const canvas_t canvas = lay_out(out, plot);
    svg_open(out, CHART_WIDTH, canvas.height, plot->title);
    draw_y_axis(&canvas);
    draw_x_axis(&canvas);
    draw_lines(&canvas);
    svg_close(out);
}
