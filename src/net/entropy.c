/* SPDX-License-Identifier: MIT */
#include "net/entropy.h"

#include "base/random.h"
#include <stdatomic.h>
#include <string.h>
#include <uv.h>

/* For a system that has no entropy at all.  The numbers differ in each process and each
 * time, but they can be foreseen. */
static void make_do(char *memory, size_t bytes)
{
    static _Atomic uint64_t times;
    shoal__random_t random;

    shoal__random_init(&random, (uint64_t)uv_os_getpid() << 32 ^
                                    (uint64_t)(uintptr_t)&random ^
                                    atomic_fetch_add(&times, 1) << 16);
    for (size_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t word = shoal__random_next(&random);
        size_t left = bytes - done;
        memcpy(memory + done, &word, left < sizeof word ? left : sizeof word);
    }
}

void shoal__entropy_fill(void *memory, size_t bytes)
{
    if (uv_random(NULL, NULL, memory, bytes, 0, NULL) < 0)
        make_do(memory, bytes);
}

uint64_t shoal__entropy(void)
{
    uint64_t seed;

    shoal__entropy_fill(&seed, sizeof seed);
    return seed;
}
