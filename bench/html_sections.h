/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_HTML_SECTIONS_H
#define SHOAL_BENCH_HTML_SECTIONS_H

/* The charts and tables of the report.  Each function writes a section, or nothing if
 * the plans have no figures for it. */

#include "html_study.h"

#include <stdio.h>

/* Closed loop: throughput, CPU and latency over the number of callers. */
void html_callers(FILE *out, const study_t *study);

/* Open loop: CPU and latency over the rate. */
void html_rates(FILE *out, const study_t *study);

/* The points of groups without curves: bars. */
void html_points(FILE *out, const study_t *study);

/* Whole latency distributions at a few points of curves. */
void html_percentiles(FILE *out, const study_t *study);

/* How many commands left together, and why then, at a few points. */
void html_batches(FILE *out, const study_t *study);

/* Every figure of every point. */
void html_tables(FILE *out, const study_t *study);

/* A table within a section: the throughput of each strategy as a share of the best one at
 * the same point. */
void html_ranking(FILE *out, const study_t *study, const study_group_t *group);

/* A chart within a section: the latency distribution of each strategy at a point. */
void html_percentile_chart(FILE *out, const study_t *study, const study_group_t *group,
                           size_t point, const char *title);

/* Whether a group's figures are drawn over its axis; if not, point by point. */
bool html_has_curves(const study_group_t *group);

/* The points of a group that are worth a chart of their own: all of few; of many the
 * first, the middle and the last.  Returns how many. */
size_t html_choose_points(const study_group_t *group, size_t ret_points[3]);

#endif
