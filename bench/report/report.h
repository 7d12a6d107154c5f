/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_REPORT_H
#define SHOAL_BENCH_REPORT_H

/* What a run is, in its heading; its results for scripts (CSV), for HdrHistogram's tools,
 * and for everything else (JSON).  Tables for people are in report/table.h. */

#include "profile/plan.h"
#include "report/findings.h"
#include "server/machine.h"

#include <stdio.h>

/* What is known of the machine and the server; filled in once. */
typedef struct report_context {
    char url[256];
    char server_version[64];
    machine_t machine;
} report_context_t;

/* The command as one line, with its places. */
void report_command(const options_t *options, char *text, size_t text_bytes);

/* The server, the machine, which CPU runs what: two lines. */
void report_machine(FILE *out, const options_t *options,
                    const report_context_t *context);

/* A few lines on what is measured, and where. */
void report_heading(FILE *out, const options_t *options,
                    const report_context_t *context);

void report_csv_head(FILE *out);
void report_csv(FILE *out, const plan_t *plan);

/* Writes the latencies of each run that has any to `path`, or to `path`.1, `path`.2
 * ... if there are several.  Returns -1 with errno set. */
int report_hdr(const char *path, const plan_t *plans, size_t plans_count);

/* One object with the runs of all plans, and what they mean.  Returns -1 with errno set. */
int report_json(const char *path, const plan_t *plans, size_t plans_count,
                const report_context_t *context, const findings_t *findings);

#endif
