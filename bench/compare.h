/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_COMPARE_H
#define SHOAL_BENCH_COMPARE_H

/* What differs between two files of --json. */

#include <stdbool.h>
#include <stdio.h>

/* Shows run by run: old, new, difference, and whether it is beyond the noise.  Runs belong
 * together if their configurations are the same.
 *
 * Returns an exit code: 0; 1 with `is_strict` if something is worse beyond the noise; 2,
 * after saying why, if a file cannot be read or nothing belongs together. */
int compare_files(const char *old_path, const char *new_path, bool is_strict);

#endif
