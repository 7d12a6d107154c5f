/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_PROFILE_H
#define SHOAL_BENCH_PROFILE_H

/* A ready set of measurements: which plans there are, how they are shown, and what is
 * asked of the figures.  A plan is one point, with one series for each strategy. */

#include "profile/plan.h"
#include "report/report.h"
#include "report/table.h"

#include <stdio.h>

typedef struct plan_list {
    plan_t *plans;
    options_t **options; /* of each plan */
    size_t count;
    size_t capacity;
    bool has_failed; /* memory ran out while plans were added */
} plan_list_t;

typedef struct profile {
    const char *name;
    bool has_flushes; /* needs a mode of the library */

    /* Gives options that the command line left open their values. */
    void (*set_defaults)(options_t *options);

    /* Adds the plans by plan_list_add(). */
    void (*prepare)(plan_list_t *list, const options_t *options);

    void (*heading)(FILE *out, const options_t *options,
                    const report_context_t *context, const plan_list_t *list);

    /* Shows and judges a plan when it was measured, or all of them at the end.  Both may
     * be NULL. */
    void (*show)(findings_t *findings, const plan_t *plan);
    void (*summarise)(findings_t *findings, const plan_list_t *list);
} profile_t;

extern const profile_t profile_plain; /* no profile: one point, as the options say */
extern const profile_t profile_demo;
extern const profile_t profile_sweep;
extern const profile_t profile_rate;
extern const profile_t profile_latency;
extern const profile_t profile_matrix;
extern const profile_t profile_step;
extern const profile_t profile_threads;
extern const profile_t profile_mixed;
extern const profile_t profile_ladder;
extern const profile_t profile_cluster;

/* NULL if there is none of that name. */
const profile_t *profile_find(const char *name);

/* A copy of `base` that becomes a plan; to be changed before plans are measured.  When
 * memory ran out it belongs to no plan. */
options_t *plan_list_add(plan_list_t *list, const options_t *base);
void plan_list_release(plan_list_t *list);

/* Rounds, warm-up and duration for those that the command line left open. */
void profile_set_times(options_t *options, uint64_t rounds, uint64_t warmup_us,
                       uint64_t duration_us);

/* The machine, and how long it will take. */
void profile_heading(FILE *out, const options_t *options,
                     const report_context_t *context, const plan_list_t *list);

/* The numbers of the command line, or `fallback` where it has none. */
number_list_t profile_numbers(const number_list_t *given, const uint64_t *fallback,
                              size_t count);

/* As above, but a plain option that was given counts as a list of one. */
number_list_t profile_callers(const options_t *options, const uint64_t *fallback,
                              size_t count);
number_list_t profile_rtts(const options_t *options, const uint64_t *fallback,
                           size_t count);

/* The private server is reached by both kinds of sockets, if the command line asks for
 * none of them. */
void profile_default_transports(options_t *options);

/* Whether one kind is to be measured; the first one stands for a server that the user
 * named, whatever its address is. */
bool profile_has_transport(const options_t *options, bool is_tcp);
void profile_set_transport(options_t *point, bool is_tcp);

/* "Unix socket" or "TCP"; of a point whose server is known. */
const char *profile_transport(const options_t *options);

/* Makes the flush settings of the command line, or off, fixed:20 .. 1000 and auto, the
 * strategies, in the mode of the command line. */
void profile_set_flushes(options_t *options);

/* The series of a flush setting; VERDICT_NONE if there is none. */
size_t profile_find_flush(const plan_t *plan, shoal_flush_mode_t flush);

/* A figure of one series; NaN if it was not measured. */
double profile_figure(const plan_t *plan, size_t series, figure_t figure);

/* The name that a verdict calls a series by. */
const char *profile_series_name(const plan_t *plan, size_t series, char *text,
                                size_t text_bytes);

/* The table of a plan, and with --verbose why batches left. */
void profile_show_table(FILE *out, const plan_t *plan);

/* "1 caller, added round trip 200 us": the heading of a point of a closed loop. */
void profile_begin_point(findings_t *findings, const plan_t *plan, const char *remark);

/* The throughput of `subject` against the best of the others. */
verdict_t profile_throughput(const plan_t *plan, size_t subject);

/* The series that differs from this one in nothing but that it goes to one server beside the
 * cluster; VERDICT_NONE if there is none. */
size_t profile_find_standalone(const plan_t *plan, size_t series);

/* States what a cluster is against one server, for each series that has both. */
void profile_note_standalone(findings_t *findings, const plan_t *plan);

/* Judges the throughput of the automatic setting. */
void profile_judge_throughput(findings_t *findings, const plan_t *plan);

/* Judges the median latency of `subject` against that of `reference`; no verdict if one of
 * the two was not measured. */
void profile_judge_latency(findings_t *findings, const plan_t *plan, size_t subject,
                           size_t reference, const char *reference_name);

#endif
