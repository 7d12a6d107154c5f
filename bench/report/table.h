/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_REPORT_TABLE_H
#define SHOAL_BENCH_REPORT_TABLE_H

/* Text for a terminal: numbers, wrapped sentences, and tables with a row for each series
 * of a plan. */

#include "profile/plan.h"

#include <stdio.h>

#define REPORT_NAME_COLUMNS 25 /* of a row's name */

/* What a cell shows of its series. */
typedef enum column_kind {
    COLUMN_MEDIAN,  /* of the rounds */
    COLUMN_HIGHEST, /* of the rounds */
    COLUMN_RATIO,   /* to the figure of the first series */
} column_kind_t;

/* A column of a table; its head has two lines. */
typedef struct column {
    const char *upper;
    const char *lower;
    figure_t figure;
    int width;
    column_kind_t kind;
} column_t;

/* "1234", "12.3k", "1.23M", "-", "never": four characters that matter. */
void report_number(double number, char *text, size_t text_bytes);

/* Prints words, each behind a space, and ends the line.  The cursor is at column `indent`;
 * lines that follow begin there, and none is longer than `columns`. */
void report_wrapped(FILE *out, const char *text, int indent, int columns);

/* A table of its columns; the spread of the rounds stands behind the first one if there
 * are several rounds and the first column is the throughput. */
void report_columns(FILE *out, const plan_t *plan, const column_t *columns,
                    size_t count);

/* The table of the usual columns. */
void report_table(FILE *out, const plan_t *plan);

/* Why batches left, and how often threads were woken: a row for each series that uses
 * the library. */
void report_flushes(FILE *out, const plan_t *plan);

#endif
