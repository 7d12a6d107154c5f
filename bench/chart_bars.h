/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_CHART_BARS_H
#define SHOAL_BENCH_CHART_BARS_H

/* Charts with one row for each strategy.  A row without any value is left out. */

#include "chart.h"

#define CHART_PARTS_MAX 24

typedef struct chart_row {
    chart_look_t look;
    double values[CHART_PARTS_MAX]; /* one for each part */
    double low;                     /* of the rounds, for bars of one part */
    double high;
} chart_row_t;

typedef struct chart_rows {
    const char *title;
    const char *x_title;
    const char *unit; /* behind numbers; with its space */
    const char *const *part_names;
    const char *const *part_colors; /* for shares */
    size_t parts;
    const chart_row_t *rows;
    size_t rows_count;
} chart_rows_t;

/* One bar for each row from 0, its parts one after the other: one or two. */
void chart_bars(FILE *out, const chart_rows_t *chart);

/* A mark for each part on a logarithmic axis, joined by a line. */
void chart_ranges(FILE *out, const chart_rows_t *chart);

/* Bars of equal length, divided as the values stand to each other. */
void chart_shares(FILE *out, const chart_rows_t *chart);

/* A small histogram for each row: the share of each part in the row's sum. */
void chart_columns(FILE *out, const chart_rows_t *chart);

/* Whether any value of any row is there to be drawn. */
bool chart_rows_have_data(const chart_rows_t *chart);

#endif
