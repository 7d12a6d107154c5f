/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_ESCAPE_H
#define SHOAL_BASE_ESCAPE_H

/* Foreign bytes as one line of plain ASCII, for logs and errors. */

#include "base/bytes.h"
#include <stddef.h>

/* Write what fits of `text` to the `room` bytes at `at`, NUL-terminated; other bytes than
 * printable ASCII become \xNN. */
void shoal__escape(char *at, size_t room, shoal__bytes_t text);

#endif
