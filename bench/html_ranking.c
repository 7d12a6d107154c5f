/* SPDX-License-Identifier: MIT */
#include "html_sections.h"

#include <math.h>

/* The best throughput at a point; raw is a limit, not a contestant. */
static double best_at(const study_t *study, const study_group_t *group, size_t point)
{
    double best = 0;

    for (size_t i = 0; i < study->lines_count; i++) {
        if (study->lines[i].strategy.mode != MODE_RAW)
            best = fmax(best, study_value(study, group, point, i, FIGURE_OPS_PER_S));
    }
    return best;
}

static void put_rank(FILE *out, const study_t *study, const study_group_t *group,
                     size_t line)
{
    const study_line_t *its = &study->lines[line];

    fprintf(out, "<tr%s><th>", its->is_strong ? " class=\"strong\"" : "");
    svg_escape(out, its->label);
    fputs("</th>", out);
    for (size_t i = 0; i < group->points; i++) {
        double percent = study_value(study, group, i, line, FIGURE_OPS_PER_S) /
                         best_at(study, group, i) * 100;
        if (isfinite(percent))
            fprintf(out, "<td class=\"heat\" style=\"--h:%.0f\">%.0f\u00a0%%</td>",
                    percent * percent * 0.0045, percent);
        else
            fputs("<td class=\"heat\" style=\"--h:0\">-</td>", out);
    }
    fputs("</tr>\n", out);
}

void html_ranking(FILE *out, const study_t *study, const study_group_t *group)
{
    fputs("<div class=\"wide\"><table>\n<thead><tr><th>callers</th>", out);
    for (size_t i = 0; i < group->points; i++)
        fprintf(out, "<th style=\"text-align:center\">%llu</th>",
                (unsigned long long)group->axis[i]);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < study->lines_count; i++) {
        bool is_there = false;
        for (size_t k = 0; k < group->points; k++)
            is_there = is_there || study_series(study, group, k, i);
        if (is_there && study->lines[i].strategy.mode != MODE_RAW)
            put_rank(out, study, group, i);
    }
    fputs("</tbody></table></div>\n", out);
}
