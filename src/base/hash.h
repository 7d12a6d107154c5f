/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_HASH_H
#define SHOAL_BASE_HASH_H

/* A number for a text, for tables that nobody attacks: whoever makes two texts meet gains
 * nothing. */

#include "base/bytes.h"
#include <stdint.h>

/* `seed`: 0, or the number of what stands before the text. */
static inline uint64_t shoal__hash(shoal__bytes_t text, uint64_t seed)
{
    uint64_t hash = seed ^ UINT64_C(0xCBF29CE484222325);

    for (size_t i = 0; i < text.bytes; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001B3);
    /* Every bit of the text counts in every bit of the number. */
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

#endif
