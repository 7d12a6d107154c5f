/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_SVG_H
#define SHOAL_BENCH_SVG_H

/*
 * Shapes and text as SVG inside HTML.  Coordinates are pixels from the top left.
 * Colours and fonts come from the page's style sheet: a shape names a class and, if it
 * belongs to one of many, the custom property --c that the class uses.  Text from
 * outside is escaped here and nowhere else.
 */

#include <stddef.h>
#include <stdio.h>

typedef enum svg_anchor {
    SVG_START,
    SVG_MIDDLE,
    SVG_END,
} svg_anchor_t;

/* Shapes that tell lines apart without their colours. */
typedef enum svg_mark {
    SVG_MARK_CIRCLE,
    SVG_MARK_SQUARE,
    SVG_MARK_DIAMOND,
    SVG_MARK_TRIANGLE,
    SVG_MARK_TRIANGLE_DOWN,
    SVG_MARKS
} svg_mark_t;

typedef struct svg_point {
    double x;
    double y;
} svg_point_t;

/* For element contents and for attribute values between double quotes.  Control
 * characters become U+FFFD. */
void svg_escape(FILE *out, const char *text);

/* `title` says what is to be seen to those who cannot see it. */
void svg_open(FILE *out, double width, double height, const char *title);
void svg_close(FILE *out);

/* `color` names a custom property without its dashes; NULL: the class knows. */
void svg_group_open(FILE *out, const char *class_name, const char *color);
void svg_group_close(FILE *out);

void svg_line(FILE *out, const char *class_name, svg_point_t from, svg_point_t to);

/* `hint` appears when the pointer rests on the shape; NULL: none. */
void svg_rect(FILE *out, const char *class_name, svg_point_t corner, double width,
              double height, const char *hint);

/* Straight lines through the points; a point with a NaN breaks the line. */
void svg_path(FILE *out, const char *class_name, const svg_point_t *points,
              size_t count);

void svg_mark(FILE *out, svg_mark_t mark, svg_point_t center, double radius,
              const char *hint);

/* `y` is the base line. */
void svg_text(FILE *out, const char *class_name, svg_point_t at, svg_anchor_t anchor,
              const char *text);

/* About how wide a text is at a font size: enough to keep labels apart. */
double svg_text_width(const char *text, double font_size);

#endif
