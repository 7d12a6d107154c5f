/* SPDX-License-Identifier: MIT */
#include "net/entropy.h"

#include <uv.h>

uint64_t shoal__entropy(void)
{
    uint64_t seed = 0;

    /* It fails only where a system has no entropy at all; jitter is then the same in
     * every process, which is poorer but not wrong. */
    if (uv_random(NULL, NULL, &seed, sizeof seed, 0, NULL) < 0)
        seed = (uint64_t)(uintptr_t)&seed;
    return seed;
}
