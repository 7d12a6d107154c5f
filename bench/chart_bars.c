/* SPDX-License-Identifier: MIT */
#include "chart_bars.h"

#include "chart_scale.h"

#include <math.h>

#define ROW_HEIGHT 27.0
#define BAR_HEIGHT 15.0
#define COLUMNS_HEIGHT 46.0
#define TOP 10.0
#define LEGEND_HEIGHT 22.0
#define BOTTOM 42.0
#define RIGHT 58.0 /* room for the number behind a bar */

typedef struct frame {
    FILE *out;
    const chart_rows_t *chart;
    chart_scale_t x;
    double top; /* of the first row */
    double row_height;
    double bottom; /* of the last row */
} frame_t;

static bool row_has_data(const chart_rows_t *chart, const chart_row_t *row)
{
    for (size_t i = 0; i < chart->parts; i++) {
        if (row->values[i] > 0)
            return true;
    }
    return false;
}

bool chart_rows_have_data(const chart_rows_t *chart)
{
    for (size_t i = 0; i < chart->rows_count; i++) {
        if (row_has_data(chart, &chart->rows[i]))
            return true;
    }
    return false;
}

static double row_sum(const chart_rows_t *chart, const chart_row_t *row)
{
    double sum = 0;
    for (size_t i = 0; i < chart->parts; i++) {
        if (isfinite(row->values[i]))
            sum += row->values[i];
    }
    return sum;
}

static double label_room(const chart_rows_t *chart)
{
    double room = 0;
    for (size_t i = 0; i < chart->rows_count; i++)
        room = fmax(room, svg_text_width(chart->rows[i].look.label, CHART_FONT * 1.1));
    return fmin(room, 140) + 12;
}

static frame_t lay_out(FILE *out, const chart_rows_t *chart, double row_height,
                       double legend_height)
{
    size_t rows = 0;
    for (size_t i = 0; i < chart->rows_count; i++)
        rows += row_has_data(chart, &chart->rows[i]);

    frame_t frame = {
        .out = out,
        .chart = chart,
        .x = {.from = label_room(chart), .to = CHART_WIDTH - RIGHT},
        .top = TOP + legend_height,
        .row_height = row_height,
    };
    frame.bottom = frame.top + row_height * (double)rows;
    return frame;
}

static void open_frame(const frame_t *frame)
{
    svg_open(frame->out, CHART_WIDTH, frame->bottom + BOTTOM, frame->chart->title);
}

static void draw_x_axis(const frame_t *frame)
{
    double ticks[CHART_TICKS_MAX];
    double middles[CHART_TICKS_MAX];
    double widths[CHART_TICKS_MAX];
    bool is_kept[CHART_TICKS_MAX];
    char text[32];
    size_t count = chart_scale_ticks(&frame->x, 6, ticks);

    for (size_t i = 0; i < count; i++) {
        middles[i] = chart_scale_at(&frame->x, ticks[i]);
        widths[i] =
            svg_text_width(chart_tick_text(ticks[i], text, sizeof text), CHART_FONT) +
            8;
    }
    if (count > 0)
        chart_thin(middles, widths, count, is_kept);
    for (size_t i = 0; i < count; i++) {
        svg_line(frame->out, "grid", (svg_point_t){middles[i], frame->top - 2},
                 (svg_point_t){middles[i], frame->bottom});
        if (is_kept[i])
            svg_text(frame->out, "tick", (svg_point_t){middles[i], frame->bottom + 16},
                     SVG_MIDDLE, chart_tick_text(ticks[i], text, sizeof text));
    }
    svg_text(frame->out, "axis",
             (svg_point_t){(frame->x.from + frame->x.to) / 2, frame->bottom + 35},
             SVG_MIDDLE, frame->chart->x_title);
}

/* Opens the group of a row, with its name at the left. */
static void open_row(const frame_t *frame, const chart_row_t *row, double middle)
{
    svg_group_open(frame->out, row->look.is_strong ? "series strong" : "series",
                   row->look.color);
    svg_text(frame->out, "label", (svg_point_t){frame->x.from - 8, middle + 4}, SVG_END,
             row->look.label);
}

/* Bars */

static void draw_parts_legend(const frame_t *frame)
{
    double x = frame->x.from;
    static const char *const classes[] = {"bar", "bar second"};

    for (size_t i = 0; i < frame->chart->parts && i < 2; i++) {
        const char *name = frame->chart->part_names[i];
        svg_rect(frame->out, classes[i], (svg_point_t){x, TOP - 6}, 12, 11, NULL);
        svg_text(frame->out, "tick", (svg_point_t){x + 17, TOP + 4}, SVG_START, name);
        x += 17 + svg_text_width(name, CHART_FONT) + 18;
    }
}

static void draw_bar(const frame_t *frame, const chart_row_t *row, double middle)
{
    const chart_rows_t *chart = frame->chart;
    double at = 0;
    double end = frame->x.from;
    char number[32];
    char hint[160];

    for (size_t i = 0; i < chart->parts; i++) {
        if (!(row->values[i] > 0))
            continue;
        double left = chart_scale_at(&frame->x, at);
        at += row->values[i];
        end = chart_scale_at(&frame->x, at);
        snprintf(hint, sizeof hint, "%s, %s: %s%s", row->look.label,
                 chart->part_names[i],
                 chart_number(row->values[i], number, sizeof number), chart->unit);
        svg_rect(frame->out, i == 0 ? "bar" : "bar second",
                 (svg_point_t){left, middle - BAR_HEIGHT / 2}, end - left, BAR_HEIGHT,
                 hint);
    }
    if (chart->parts == 1 && row->high > row->low) {
        double high = chart_scale_at(&frame->x, row->high);
        svg_line(frame->out, "whisker over",
                 (svg_point_t){chart_scale_at(&frame->x, row->low), middle},
                 (svg_point_t){high, middle});
        end = fmax(end, high);
    }
    svg_text(frame->out, "value", (svg_point_t){end + 6, middle + 4}, SVG_START,
             chart_number(at, number, sizeof number));
}

void chart_bars(FILE *out, const chart_rows_t *chart)
{
    double highest = 0;

    if (!chart_rows_have_data(chart))
        return;
    for (size_t i = 0; i < chart->rows_count; i++) {
        highest = fmax(highest, row_sum(chart, &chart->rows[i]));
        if (chart->parts == 1)
            highest = fmax(highest, chart->rows[i].high);
    }
    frame_t frame =
        lay_out(out, chart, ROW_HEIGHT, chart->parts > 1 ? LEGEND_HEIGHT : 0);
    chart_scale_cover(&frame.x, 0, highest);

    open_frame(&frame);
    draw_x_axis(&frame);
    if (chart->parts > 1)
        draw_parts_legend(&frame);
    double middle = frame.top + ROW_HEIGHT / 2;
    for (size_t i = 0; i < chart->rows_count; i++) {
        if (!row_has_data(chart, &chart->rows[i]))
            continue;
        open_row(&frame, &chart->rows[i], middle);
        draw_bar(&frame, &chart->rows[i], middle);
        svg_group_close(out);
        middle += ROW_HEIGHT;
    }
    svg_close(out);
}

/* Ranges */

static const svg_mark_t part_marks[] = {
    SVG_MARK_CIRCLE,
    SVG_MARK_DIAMOND,
    SVG_MARK_SQUARE,
    SVG_MARK_TRIANGLE,
};

#define PART_MARKS (sizeof part_marks / sizeof *part_marks)

static void draw_marks_legend(const frame_t *frame)
{
    double x = frame->x.from + 5;

    for (size_t i = 0; i < frame->chart->parts; i++) {
        const char *name = frame->chart->part_names[i];
        svg_group_open(frame->out, "key", NULL);
        svg_mark(frame->out, part_marks[i % PART_MARKS], (svg_point_t){x, TOP}, 4,
                 NULL);
        svg_group_close(frame->out);
        svg_text(frame->out, "tick", (svg_point_t){x + 9, TOP + 4}, SVG_START, name);
        x += 9 + svg_text_width(name, CHART_FONT) + 16;
    }
}

static void draw_range(const frame_t *frame, const chart_row_t *row, double middle)
{
    const chart_rows_t *chart = frame->chart;
    svg_point_t points[CHART_PARTS_MAX];
    char number[32];
    char hint[160];

    for (size_t i = 0; i < chart->parts; i++)
        points[i] = (svg_point_t){chart_scale_at(&frame->x, row->values[i]), middle};
    svg_path(frame->out, "range", points, chart->parts);
    for (size_t i = chart->parts; i-- > 0;) {
        if (!isfinite(points[i].x))
            continue;
        snprintf(hint, sizeof hint, "%s, %s: %s%s", row->look.label,
                 chart->part_names[i],
                 chart_number(row->values[i], number, sizeof number), chart->unit);
        svg_mark(frame->out, part_marks[i % PART_MARKS], points[i], i == 0 ? 5 : 4,
                 hint);
    }
}

void chart_ranges(FILE *out, const chart_rows_t *chart)
{
    double low = (double)INFINITY;
    double high = 0;

    if (!chart_rows_have_data(chart))
        return;
    for (size_t i = 0; i < chart->rows_count; i++) {
        for (size_t k = 0; k < chart->parts; k++) {
            double value = chart->rows[i].values[k];
            if (value > 0) {
                low = fmin(low, value);
                high = fmax(high, value);
            }
        }
    }
    frame_t frame = lay_out(out, chart, ROW_HEIGHT, LEGEND_HEIGHT);
    frame.x.to = CHART_WIDTH - 24;
    frame.x.is_log = true;
    chart_scale_cover(&frame.x, low, high);

    open_frame(&frame);
    draw_x_axis(&frame);
    draw_marks_legend(&frame);
    double middle = frame.top + ROW_HEIGHT / 2;
    for (size_t i = 0; i < chart->rows_count; i++) {
        if (!row_has_data(chart, &chart->rows[i]))
            continue;
        open_row(&frame, &chart->rows[i], middle);
        draw_range(&frame, &chart->rows[i], middle);
        svg_group_close(out);
        middle += ROW_HEIGHT;
    }
    svg_close(out);
}

/* Shares */

static bool part_has_data(const chart_rows_t *chart, size_t part)
{
    for (size_t i = 0; i < chart->rows_count; i++) {
        if (chart->rows[i].values[part] > 0)
            return true;
    }
    return false;
}

/* Draws the legend, or only measures it with out == NULL; returns its height. */
static double shares_legend(FILE *out, const chart_rows_t *chart, double from)
{
    double x = from;
    double y = TOP;

    for (size_t i = 0; i < chart->parts; i++) {
        if (!part_has_data(chart, i))
            continue;
        double width = 17 + svg_text_width(chart->part_names[i], CHART_FONT) + 16;
        if (x > from && x + width > CHART_WIDTH) {
            x = from;
            y += 18;
        }
        if (out) {
            svg_group_open(out, "share", chart->part_colors[i]);
            svg_rect(out, "bar", (svg_point_t){x, y - 6}, 12, 11, NULL);
            svg_group_close(out);
            svg_text(out, "tick", (svg_point_t){x + 17, y + 4}, SVG_START,
                     chart->part_names[i]);
        }
        x += width;
    }
    return y - TOP + LEGEND_HEIGHT;
}

static void draw_share(const frame_t *frame, const chart_row_t *row, double middle)
{
    const chart_rows_t *chart = frame->chart;
    double sum = row_sum(chart, row);
    double at = 0;
    char text[160];

    for (size_t i = 0; i < chart->parts; i++) {
        if (!(row->values[i] > 0))
            continue;
        double percent = row->values[i] / sum * 100;
        double left = chart_scale_at(&frame->x, at);
        at += percent;
        double right = chart_scale_at(&frame->x, at);
        snprintf(text, sizeof text, "%s, %s: %.3g %%", row->look.label,
                 chart->part_names[i], percent);
        svg_group_open(frame->out, "share", chart->part_colors[i]);
        svg_rect(frame->out, "bar", (svg_point_t){left, middle - 9}, right - left, 18,
                 text);
        snprintf(text, sizeof text, "%.0f %%", percent);
        if (right - left > svg_text_width(text, CHART_FONT) + 8)
            svg_text(frame->out, "inside",
                     (svg_point_t){(left + right) / 2, middle + 4}, SVG_MIDDLE, text);
        svg_group_close(frame->out);
    }
}

void chart_shares(FILE *out, const chart_rows_t *chart)
{
    if (!chart_rows_have_data(chart))
        return;
    frame_t frame =
        lay_out(out, chart, ROW_HEIGHT, shares_legend(NULL, chart, label_room(chart)));
    frame.x.to = CHART_WIDTH - 20;
    frame.x.high = 100;

    open_frame(&frame);
    shares_legend(out, chart, frame.x.from);
    draw_x_axis(&frame);
    double middle = frame.top + ROW_HEIGHT / 2;
    for (size_t i = 0; i < chart->rows_count; i++) {
        if (!row_has_data(chart, &chart->rows[i]))
            continue;
        open_row(&frame, &chart->rows[i], middle);
        draw_share(&frame, &chart->rows[i], middle);
        svg_group_close(out);
        middle += ROW_HEIGHT;
    }
    svg_close(out);
}

/* Columns */

static void draw_columns(const frame_t *frame, const chart_row_t *row, double bottom)
{
    const chart_rows_t *chart = frame->chart;
    double step = (frame->x.to - frame->x.from) / (double)chart->parts;
    double sum = row_sum(chart, row);
    char text[160];

    svg_line(frame->out, "base", (svg_point_t){frame->x.from, bottom},
             (svg_point_t){frame->x.to, bottom});
    for (size_t i = 0; i < chart->parts; i++) {
        double share = row->values[i] / sum;
        double x = frame->x.from + step * (double)i;
        if (!(share > 0))
            continue;
        double height = fmax(1, share * (COLUMNS_HEIGHT - 18));
        snprintf(text, sizeof text, "%s, %s: %.3g %% of the flushes", row->look.label,
                 chart->part_names[i], share * 100);
        svg_rect(frame->out, "bar", (svg_point_t){x + 1.5, bottom - height}, step - 3,
                 height, text);
        snprintf(text, sizeof text, "%.0f", share * 100);
        if (share >= 0.095 && step > svg_text_width(text, CHART_FONT - 1))
            svg_text(frame->out, "small",
                     (svg_point_t){x + step / 2, bottom - height - 3}, SVG_MIDDLE,
                     text);
    }
}

static void name_columns(const frame_t *frame)
{
    const chart_rows_t *chart = frame->chart;
    double step = (frame->x.to - frame->x.from) / (double)chart->parts;
    double middles[CHART_PARTS_MAX];
    double widths[CHART_PARTS_MAX];
    bool is_kept[CHART_PARTS_MAX];

    for (size_t i = 0; i < chart->parts; i++) {
        middles[i] = frame->x.from + step * ((double)i + 0.5);
        widths[i] = svg_text_width(chart->part_names[i], CHART_FONT) + 5;
    }
    chart_thin(middles, widths, chart->parts, is_kept);
    for (size_t i = 0; i < chart->parts; i++) {
        if (is_kept[i])
            svg_text(frame->out, "tick", (svg_point_t){middles[i], frame->bottom + 16},
                     SVG_MIDDLE, chart->part_names[i]);
    }
    svg_text(frame->out, "axis",
             (svg_point_t){(frame->x.from + frame->x.to) / 2, frame->bottom + 35},
             SVG_MIDDLE, chart->x_title);
}

void chart_columns(FILE *out, const chart_rows_t *chart)
{
    if (!chart_rows_have_data(chart) || chart->parts > CHART_PARTS_MAX)
        return;
    frame_t frame = lay_out(out, chart, COLUMNS_HEIGHT, 0);
    frame.x.to = CHART_WIDTH - 16;

    open_frame(&frame);
    name_columns(&frame);
    double bottom = frame.top + COLUMNS_HEIGHT;
    for (size_t i = 0; i < chart->rows_count; i++) {
        if (!row_has_data(chart, &chart->rows[i]))
            continue;
        open_row(&frame, &chart->rows[i], bottom - 8);
        draw_columns(&frame, &chart->rows[i], bottom);
        svg_group_close(out);
        bottom += COLUMNS_HEIGHT;
    }
    svg_close(out);
}
