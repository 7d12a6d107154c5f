/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_CHART_H
#define SHOAL_BENCH_CHART_H

/*
 * Charts as SVG: data in, text out.  Every value that is not known (NaN) leaves a gap.
 * Texts stay the caller's until the call returns.  A chart with more lines or points than
 * the limits below is not drawn.
 */

#include "svg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CHART_WIDTH 400.0 /* of every chart, in pixels */
#define CHART_LINES_MAX 64
#define CHART_POINTS_MAX 64
#define CHART_FONT 12.0 /* of labels; the page's style sheet says the same */

/* How one strategy looks, in every chart alike. */
typedef struct chart_look {
    const char *label;
    const char *color; /* a custom property of the page, without its dashes */
    svg_mark_t mark;
    bool is_strong; /* drawn last and thicker */
    bool is_dashed;
} chart_look_t;

typedef struct chart_line {
    chart_look_t look;
    const double *y;
    const double *low; /* of the rounds; NULL: no whiskers */
    const double *high;
} chart_line_t;

/* Lines over a common logarithmic axis. */
typedef struct chart_plot {
    const char *title;
    const char *x_title;
    const char *y_title;
    const char *unit; /* of y, behind numbers; with its space */
    const double *x;  /* ascending, above 0 */
    const char *const *x_labels;
    size_t points;
    const chart_line_t *lines;
    size_t lines_count;
    bool is_y_log;
    double y_low; /* what the axis must cover at least, for panels that are compared; */
    double y_high; /* NaN: the lines alone decide */
} chart_plot_t;

void chart_plot(FILE *out, const chart_plot_t *plot);

/* The lowest and the highest of the lines and their whiskers; NaN without any. */
void chart_plot_range(const chart_plot_t *plot, double *ret_low, double *ret_high);

#endif
