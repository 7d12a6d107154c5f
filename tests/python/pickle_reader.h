/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PYTHON_PICKLE_READER_H
#define TESTS_PYTHON_PICKLE_READER_H

/*
 * Reads a pickle stream of the Python binding, by rules of its own, which share nothing
 * with the writer's: only the opcodes that plain data needs, each in its shortest form;
 * marks balanced, one value, nothing left over; keys and members that are hashable; text
 * that is UTF-8; bytearrays only where they mark what needs help.
 */

#include <stdbool.h>
#include <stddef.h>

/* Text that grows; its end is a NUL that does not count.  Aborts without memory. */
typedef struct pickle_text {
    char *data;
    size_t bytes, capacity;
} pickle_text_t;

void pickle_text_add(pickle_text_t *text, const char *data, size_t bytes);
__attribute__((format(printf, 2, 3))) void pickle_text_print(pickle_text_t *text,
                                                             const char *format, ...);
/* As Python writes bytes and str: 'ab\x00'.  A str's bytes from 0x80 up stay. */
void pickle_text_quote(pickle_text_t *text, const char *prefix, const char *data,
                       size_t bytes, bool is_str);
/* 1.5, inf, -0.0, nan ... with as many digits as it takes. */
void pickle_text_float(pickle_text_t *text, double value);
void pickle_text_release(pickle_text_t *text);

/* The value as Python's repr() would write it, in ret_text, which is empty at first.
 * NULL; or what is wrong with the stream, at which offset. */
const char *pickle_read(const char *stream, size_t bytes, pickle_text_t *ret_text,
                        size_t *ret_offset);

/* Is it UTF-8: well-formed, shortest, no surrogate, at most U+10FFFF? */
bool pickle_is_utf8(const char *data, size_t bytes);

#endif
