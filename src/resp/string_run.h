/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_STRING_RUN_H
#define SHOAL_RESP_STRING_RUN_H

#include "base/bytes.h"
#include <stdbool.h>

/* The string that begins the bytes, with its length, both line ends and, unless `has_type`,
 * the byte of its type.  How many bytes those are; 0: no whole string begins here, or it is
 * not of the plainest form, and whoever decodes everything has to look. */
size_t shoal__string_run_next(shoal__bytes_t arrived, bool has_type,
                              shoal__bytes_t *ret_text);

#endif
