/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_MEMORY_METER_H
#define TESTS_FUZZ_MEMORY_METER_H

/* Counts the library's live bytes by its allocator hook, and can look into memory that
 * is given back. */

#include <stddef.h>

typedef struct memory_meter {
    size_t live_bytes, live_bytes_max;
    const char *secret; /* must not be in freed memory; NULL: nothing is looked for */
} memory_meter_t;

extern memory_meter_t memory_meter;

/* From now on; memory from before must not be freed any more until memory_meter_off(). */
void memory_meter_on(void);
void memory_meter_off(void);

#endif
