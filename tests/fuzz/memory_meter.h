/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_MEMORY_METER_H
#define TESTS_FUZZ_MEMORY_METER_H

/* Counts the library's live bytes by its allocator hook, and can look into memory that
 * is given back. */

#include <stddef.h>

typedef struct memory_meter {
    size_t live_bytes, live_bytes_max;
    const char *secret; /* a text that freed memory must not contain; NULL: none */
} memory_meter_t;

extern memory_meter_t memory_meter;

/* Count from now on.  Memory that was allocated before must not be freed before
 * memory_meter_off(). */
void memory_meter_on(void);
void memory_meter_off(void);

#endif
