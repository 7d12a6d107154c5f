/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_NUMBER_TEXT_H
#define SHOAL_PYTHON_NUMBER_TEXT_H

/* Numbers as Python's repr() writes them. */

#include <stddef.h>
#include <stdint.h>

#define SHOALPY_NUMBER_BYTES 32

/* The length, SHOALPY_NUMBER_BYTES at most; not NUL-terminated. */
size_t shoalpy_integer_text(int64_t value, char *text);
/* The shortest text that reads back as the same number. */
size_t shoalpy_float_text(double value, char *text);

#endif
