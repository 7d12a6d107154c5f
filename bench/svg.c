/* SPDX-License-Identifier: MIT */
#include "svg.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const char *const anchor_names[] = {
    [SVG_START] = "start",
    [SVG_MIDDLE] = "middle",
    [SVG_END] = "end",
};

void svg_escape(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '&')
            fputs("&amp;", out);
        else if (c == '<')
            fputs("&lt;", out);
        else if (c == '>')
            fputs("&gt;", out);
        else if (c == '"')
            fputs("&quot;", out);
        else if (c == '\'')
            fputs("&#39;", out);
        else if (c < 0x20 || c == 0x7f)
            fputs("&#xFFFD;", out);
        else
            fputc(c, out);
    }
}

void svg_open(FILE *out, double width, double height, const char *title)
{
    fprintf(out,
            "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
            "style=\"max-width:%.0fpx\" aria-label=\"",
            width, height, width * 1.25);
    svg_escape(out, title);
    fputs("\">\n", out);
}

void svg_close(FILE *out)
{
    fputs("</svg>\n", out);
}

void svg_group_open(FILE *out, const char *class_name, const char *color)
{
    fprintf(out, "<g class=\"%s\"", class_name);
    if (color)
        fprintf(out, " style=\"--c:var(--%s)\"", color);
    fputs(">\n", out);
}

void svg_group_close(FILE *out)
{
    fputs("</g>\n", out);
}

void svg_line(FILE *out, const char *class_name, svg_point_t from, svg_point_t to)
{
    fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", class_name,
            from.x, from.y, to.x, to.y);
}

/* Ends the element that is open, with the hint inside. */
static void close_shape(FILE *out, const char *name, const char *hint)
{
    if (!hint) {
        fputs("/>\n", out);
        return;
    }
    fputs("><title>", out);
    svg_escape(out, hint);
    fprintf(out, "</title></%s>\n", name);
}

void svg_rect(FILE *out, const char *class_name, svg_point_t corner, double width,
              double height, const char *hint)
{
    fprintf(out,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"",
            class_name, corner.x, corner.y, width, height);
    close_shape(out, "rect", hint);
}

void svg_path(FILE *out, const char *class_name, const svg_point_t *points,
              size_t count)
{
    bool is_down = false;

    fprintf(out, "<path class=\"%s\" d=\"", class_name);
    for (size_t i = 0; i < count; i++) {
        bool is_known = isfinite(points[i].x) && isfinite(points[i].y);
        if (is_known)
            fprintf(out, "%c%.1f %.1f", is_down ? 'L' : 'M', points[i].x, points[i].y);
        is_down = is_known;
    }
    fputs("\"/>\n", out);
}

/* The outline of a mark, as an SVG path relative to its centre. */
static const char *outline(svg_mark_t mark, double radius, char *text, size_t bytes)
{
    double r = radius;

    switch (mark) {
    case SVG_MARK_SQUARE:
        snprintf(text, bytes, "m%.2f %.2fh%.2fv%.2fh%.2fz", -.86 * r, -.86 * r,
                 1.72 * r, 1.72 * r, -1.72 * r);
        return text;
    case SVG_MARK_DIAMOND:
        snprintf(text, bytes, "m0 %.2fl%.2f %.2fl%.2f %.2fl%.2f %.2fz", -1.2 * r,
                 1.2 * r, 1.2 * r, -1.2 * r, 1.2 * r, -1.2 * r, -1.2 * r);
        return text;
    case SVG_MARK_TRIANGLE:
        snprintf(text, bytes, "m0 %.2fl%.2f %.2fh%.2fz", -1.15 * r, 1.1 * r, 1.9 * r,
                 -2.2 * r);
        return text;
    case SVG_MARK_TRIANGLE_DOWN:
        snprintf(text, bytes, "m0 %.2fl%.2f %.2fh%.2fz", 1.15 * r, 1.1 * r, -1.9 * r,
                 -2.2 * r);
        return text;
    case SVG_MARK_CIRCLE:
    case SVG_MARKS:
        break;
    }
    snprintf(text, bytes, "m%.2f 0a%.2f %.2f 0 1 0 %.2f 0a%.2f %.2f 0 1 0 %.2f 0z", -r,
             r, r, 2 * r, r, r, -2 * r);
    return text;
}

void svg_mark(FILE *out, svg_mark_t mark, svg_point_t center, double radius,
              const char *hint)
{
    char path[160];

    fprintf(out, "<path class=\"mark\" d=\"M%.1f %.1f%s\"", center.x, center.y,
            outline(mark, radius, path, sizeof path));
    close_shape(out, "path", hint);
}

void svg_text(FILE *out, const char *class_name, svg_point_t at, svg_anchor_t anchor,
              const char *text)
{
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
            class_name, at.x, at.y, anchor_names[anchor]);
    svg_escape(out, text);
    fputs("</text>\n", out);
}

double svg_text_width(const char *text, double font_size)
{
    double ems = 0;

    for (; *text != '\0'; text++) {
        if (((unsigned char)*text & 0xc0) == 0x80)
            continue; /* a character counts once */
        ems += strchr(" .,:;'|!ijlt", *text) ? 0.32 : 0.6;
    }
    return ems * font_size;
}
