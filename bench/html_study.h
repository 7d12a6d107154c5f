/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_HTML_STUDY_H
#define SHOAL_BENCH_HTML_STUDY_H

/*
 * The plans of a run as charts need them: which strategies there are and how each looks,
 * and which plans belong on one axis.  Plans that differ in nothing but the number of
 * callers (closed loop) or the rate (open loop) are a group; a point is one value of
 * that axis.
 */

#include "chart.h"
#include "plan.h"

/* One strategy in all plans. */
typedef struct study_line {
    strategy_t strategy;
    bool follows_callers; /* its depth is the number of callers, whatever that is */
    char label[48];
    char color[24];
    svg_mark_t mark;
    bool is_strong;
    bool is_dashed;
} study_line_t;

typedef struct study_group {
    bool is_open; /* the axis is the rate, not the callers */
    bool is_step;
    uint64_t rtt_us;
    uint64_t connections;
    uint64_t callers; /* of an open loop */
    uint64_t *axis;   /* ascending */
    size_t points;
} study_group_t;

typedef struct study {
    const plan_t *plans;
    size_t plans_count;
    study_line_t *lines;
    size_t lines_count;
    study_group_t *groups;
    size_t groups_count;
} study_t;

/* Returns -1 when there is no memory. */
int study_init(study_t *study, const plan_t *plans, size_t plans_count);
void study_release(study_t *study);

chart_look_t study_look(const study_line_t *line);

/* Whether a plan measures this point of this group. */
bool study_is_at(const study_group_t *group, size_t point, const plan_t *plan);

/* NULL if this was not measured. */
const series_t *study_series(const study_t *study, const study_group_t *group,
                             size_t point, size_t line);

/* The median of a figure; NaN if it was not measured. */
double study_value(const study_t *study, const study_group_t *group, size_t point,
                   size_t line, figure_t figure);

/* The lowest and the highest of the rounds; NaN if there are none. */
void study_range(const series_t *series, figure_t figure, double *ret_low,
                 double *ret_high);

/* What sets a group apart from the others: "200 us of round trip added"; "" if there is
 * nothing. */
void study_group_name(const study_t *study, const study_group_t *group, char *text,
                      size_t text_bytes);

/* "128 callers", "50 k commands/s", with the group's name if there is one. */
void study_point_name(const study_t *study, const study_group_t *group, size_t point,
                      char *text, size_t text_bytes);

/* The index of the line of a plan's series. */
size_t study_line_of(const study_t *study, const plan_t *plan, const series_t *series);

/* The greatest spread of the throughput between rounds, as a share of the median. */
double study_spread(const study_t *study);

/* 512 as "512 us", 5000 as "5 ms". */
void study_time_text(uint64_t us, char *text, size_t text_bytes);

#endif
