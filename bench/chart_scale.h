/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_CHART_SCALE_H
#define SHOAL_BENCH_CHART_SCALE_H

/*
 * The arithmetic of charts: where a value stands, which values an axis names, how
 * numbers are written, and where labels go so that they do not cover each other.  Pure
 * functions that know nothing of SVG.
 */

#include <stdbool.h>
#include <stddef.h>

#define CHART_TICKS_MAX 16
#define CHART_LABELS_MAX 64

typedef struct chart_scale {
    bool is_log;
    double low; /* the values at both ends; above 0 for a logarithmic scale */
    double high;
    double from; /* where they stand, in pixels */
    double to;
} chart_scale_t;

/* Widens low .. high to values that an axis can end at: linear scales begin at 0,
 * logarithmic ones begin and end at 1, 2 or 5 times a power of ten. */
void chart_scale_cover(chart_scale_t *scale, double low, double high);

/* NaN for a value that has no place: NaN, or 0 and less on a logarithmic scale. */
double chart_scale_at(const chart_scale_t *scale, double value);

/* Round values between the ends, ascending, `wanted` of them or fewer if there is a
 * choice; returns how many. */
size_t chart_scale_ticks(const chart_scale_t *scale, size_t wanted,
                         double ret_ticks[CHART_TICKS_MAX]);

/* Moves positions apart until neighbours are `gap` or more away from each other, as
 * little as possible and in the order in which they stood, within low .. high.  If there
 * is no room for that gap they share what room there is evenly.  More than
 * CHART_LABELS_MAX stay where they are. */
void chart_spread(double *positions, size_t count, double gap, double low, double high);

/* Which of the labels, ascending by their middles, fit beside each other: the first and
 * the last, and what fits between them from the left. */
void chart_thin(const double *middles, const double *widths, size_t count,
                bool *ret_is_kept);

/* Three digits that matter, with an SI suffix: "2.58 M", "939 k", "0.35"; "-" for NaN.
 * The space does not break. */
const char *chart_number(double number, char *text, size_t text_bytes);

/* The same without zeros at the end, for axes: "1 M", "200 k", "0.5". */
const char *chart_tick_text(double number, char *text, size_t text_bytes);

#endif
