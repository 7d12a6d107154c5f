/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_CONTROLS_H
#define SHOAL_BENCH_CONTROLS_H

/* Connections beside the load: one to the server, or one to each node of a cluster. */

#include "load/target.h"

typedef struct controls {
    redisContext **connections;
    size_t count;
} controls_t;

/* The nodes are those that the target lists.  Returns -1 with a line in `problem`;
 * controls_close() is needed in either case. */
int controls_open(controls_t *controls, const target_t *target, char *problem,
                  size_t problem_bytes);
void controls_close(controls_t *controls);

#endif
