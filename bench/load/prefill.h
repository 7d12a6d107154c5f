/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_PREFILL_H
#define SHOAL_BENCH_LOAD_PREFILL_H

#include "load/run.h"

/* Writes the keys that a GET will read, by a client of the library, where the load of the
 * strategy goes.  Returns -1 with a line in `problem`. */
int prefill(const options_t *options, const strategy_t *strategy,
            const workload_t *workload, char *problem, size_t problem_bytes);

#endif
