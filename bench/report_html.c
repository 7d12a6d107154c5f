/* SPDX-License-Identifier: MIT */
#include "report_html.h"

#include "html_page.h"
#include "html_sections.h"
#include "html_study.h"

#include <errno.h>
#include <stdio.h>

static void write_page(FILE *out, const study_t *study, const report_context_t *context)
{
    char title[400];

    html_title(study, title, sizeof title);
    html_open(out, title);
    html_heading(out, study, context);
    if (study->groups_count > 0) {
        html_legend(out, study);
        html_callers(out, study);
        html_rates(out, study);
        html_points(out, study);
        html_percentiles(out, study);
        html_batches(out, study);
        html_tables(out, study);
        html_reproduce(out, study, context);
    }
    html_close(out);
}

int report_html(const char *path, const plan_t *plans, size_t plans_count,
                const report_context_t *context)
{
    study_t study;

    if (study_init(&study, plans, plans_count) < 0) {
        errno = ENOMEM;
        return -1;
    }
    FILE *out = fopen(path, "we");
    if (!out) {
        study_release(&study);
        return -1;
    }
    write_page(out, &study, context);
    study_release(&study);

    bool failed = ferror(out) != 0;
    int closed = fclose(out);
    return failed || closed != 0 ? -1 : 0;
}
