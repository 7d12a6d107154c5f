/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_REPORT_HTML_H
#define SHOAL_BENCH_REPORT_HTML_H

/* The results as one HTML file with charts.  It needs neither a network nor scripts. */

#include "plan.h"
#include "report.h"

/* Returns -1 with errno set. */
int report_html(const char *path, const plan_t *plans, size_t plans_count,
                const report_context_t *context);

#endif
