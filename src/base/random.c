/* SPDX-License-Identifier: MIT */
#include "base/random.h"

void shoal__random_init(shoal__random_t *random, uint64_t seed)
{
    random->state = seed;
}

uint64_t shoal__random_next(shoal__random_t *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t shoal__random_below(shoal__random_t *random, uint64_t bound)
{
    if (bound == 0)
        return 0;

    /* 2^64 mod bound values too many would favour the small numbers: skip those. */
    uint64_t excess = (UINT64_MAX - bound + 1) % bound;
    uint64_t value = shoal__random_next(random);

    while (value < excess)
        value = shoal__random_next(random);
    return value % bound;
}
