/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_RANDOM_H
#define SHOAL_BASE_RANDOM_H

/* A seeded generator (splitmix64): for jitter, and in place of entropy on a system that
 * has none.  The caller gives the seed. */

#include <stdint.h>

typedef struct shoal__random {
    uint64_t state;
} shoal__random_t;

void shoal__random_init(shoal__random_t *random, uint64_t seed);
uint64_t shoal__random_next(shoal__random_t *random);

/* Uniform in 0 .. bound - 1; bound 0 gives 0. */
uint64_t shoal__random_below(shoal__random_t *random, uint64_t bound);

#endif
