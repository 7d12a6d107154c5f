/* SPDX-License-Identifier: MIT */
#include "html_page.h"

static const char *mode_words(bench_mode_t mode)
{
    switch (mode) {
    case MODE_CALLBACK:
        return "callers are callbacks on the client's thread";
    case MODE_SYNC:
        return "callers are threads in blocking calls";
    case MODE_BORROWED:
        return "one thread submits and steps";
    case MODE_QUEUE:
        return "threads submit and take results off completion queues";
    case MODE_EXPLICIT:
        return "hiredis, pipelines filled and emptied by hand; latency is that of "
               "whole "
               "pipelines";
    case MODE_POOL:
        return "hiredis, a thread with a connection of its own for each caller";
    case MODE_COLLECTOR:
        return "hiredis, one thread gathers what callers have queued";
    case MODE_RAW:
        return "the limit: encoded beforehand, one write for a whole batch, replies "
               "skipped; latency is that of whole batches";
    }
    return "";
}

static const char *flush_words(shoal_flush_mode_t flush)
{
    switch (flush) {
    case SHOAL_FLUSH_AUTO:
        return "shoal decides by itself when a batch leaves";
    case SHOAL_FLUSH_OFF:
        return "shoal sends what there is at the end of each loop turn";
    case SHOAL_FLUSH_FIXED:
        return "shoal pauses this many microseconds between batches";
    }
    return "";
}

static void put_line(FILE *out, const study_line_t *line)
{
    fprintf(out,
            "<li%s style=\"--c:var(--%s)\"><svg class=\"swatch\" viewBox=\"0 0 26 12\" "
            "aria-hidden=\"true\"><path class=\"line%s\" d=\"M1 6H25\"/>",
            line->is_strong ? " class=\"strong\"" : "", line->color,
            line->is_dashed ? " dashed" : "");
    svg_mark(out, line->mark, (svg_point_t){13, 6}, 4, NULL);
    fputs("</svg><b>", out);
    svg_escape(out, line->label);
    fputs("</b> <span class=\"soft\">", out);
    if (strategy_is_shoal(&line->strategy))
        fprintf(out, "%s; ", flush_words(line->strategy.flush));
    fprintf(out, "%s</span></li>\n", mode_words(line->strategy.mode));
}

void html_legend(FILE *out, const study_t *study)
{
    fputs("<section>\n<h2>What is compared</h2>\n<ul class=\"legend\">\n", out);
    for (size_t i = 0; i < study->lines_count; i++)
        put_line(out, &study->lines[i]);
    fputs("</ul>\n</section>\n", out);
}
