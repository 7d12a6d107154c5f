/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_REPORT_H
#define SHOAL_BENCH_REPORT_H

/* Results for people (a table), for scripts (CSV) and for everything else (JSON). */

#include "plan.h"

#include <stdio.h>

/* What is known of the machine and the server; filled in once. */
typedef struct report_context {
    char url[256];
    char server_version[64];
    char system[128];
    char cpu[128];
    size_t cpus;
} report_context_t;

/* The command as one line, with its places. */
void report_command(const options_t *options, char *text, size_t text_bytes);

/* "1234", "12.3k", "1.23M", "-": four characters that matter. */
void report_number(double number, char *text, size_t text_bytes);

/* The server, the machine, who runs where: two lines. */
void report_machine(FILE *out, const options_t *options,
                    const report_context_t *context);

/* A few lines on what is measured, and where. */
void report_heading(FILE *out, const options_t *options,
                    const report_context_t *context);

void report_table(FILE *out, const plan_t *plan);
void report_csv_head(FILE *out);
void report_csv(FILE *out, const plan_t *plan);

/* Writes the latencies of each run that has any to `path`, or to `path`.1, `path`.2
 * ... if there are several.  Returns -1 with errno set. */
int report_hdr(const char *path, const plan_t *plans, size_t plans_count);

/* One object with the runs of all plans.  Returns -1 with errno set. */
int report_json(const char *path, const plan_t *plans, size_t plans_count,
                const report_context_t *context);

#endif
