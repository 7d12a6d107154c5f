/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_RANDOM_H
#define SHOAL_BASE_RANDOM_H

/* A seeded generator (splitmix64) for jitter and nonces.  The seed comes from the
 * caller: from the system's entropy in production, from the test in tests. */

#include <stdint.h>

typedef struct shoal__random {
    uint64_t state;
} shoal__random_t;

void shoal__random_init(shoal__random_t *random, uint64_t seed);
uint64_t shoal__random_next(shoal__random_t *random);

/* Uniform in 0 .. bound - 1; bound 0 gives 0. */
uint64_t shoal__random_below(shoal__random_t *random, uint64_t bound);

#endif
