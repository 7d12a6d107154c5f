/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_REPORT_FLUSHES_H
#define SHOAL_BENCH_REPORT_FLUSHES_H

/* Why batches left, and who woke whom: a row for each series that uses the library. */

#include "plan.h"

#include <stdio.h>

void report_flushes(FILE *out, const plan_t *plan);

#endif
