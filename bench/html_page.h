/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_HTML_PAGE_H
#define SHOAL_BENCH_HTML_PAGE_H

/* The frame of the report: style sheet, sections, and what is said before and after the
 * charts. */

#include "html_study.h"
#include "report.h"

#include <stdio.h>

void html_open(FILE *out, const char *title);
void html_close(FILE *out);

/* `reading` says in plain words how the charts are read; it is HTML of ours. */
void html_section_open(FILE *out, const char *heading, const char *reading);
void html_section_close(FILE *out);

/* One chart with its title. */
void html_figure_open(FILE *out, const char *title);
void html_figure_close(FILE *out);

/* The title of the report: what was measured. */
void html_title(const study_t *study, char *text, size_t text_bytes);

/* What was measured, where, how often, and what to make of it. */
void html_heading(FILE *out, const study_t *study, const report_context_t *context);

/* The strategies, as they look in all charts, and what each of them does. */
void html_legend(FILE *out, const study_t *study);

/* The command lines that measure it again. */
void html_reproduce(FILE *out, const study_t *study, const report_context_t *context);

#endif
