/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RESP_SCARCE_HIREDIS_H
#define TESTS_UNIT_RESP_SCARCE_HIREDIS_H

/* hiredis has an allocator of its own: this one lets so many allocations succeed, then
 * none. */

#include <hiredis/alloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static size_t hiredis_allowed;

static inline bool hiredis_may(void)
{
    if (hiredis_allowed == 0)
        return false;
    hiredis_allowed--;
    return true;
}

static inline void *scarce_malloc(size_t bytes)
{
    return hiredis_may() ? malloc(bytes) : NULL;
}

static inline void *scarce_calloc(size_t count, size_t bytes)
{
    return hiredis_may() ? calloc(count, bytes) : NULL;
}

static inline void *scarce_realloc(void *memory, size_t bytes)
{
    return hiredis_may() ? realloc(memory, bytes) : NULL;
}

static inline void allow_hiredis(size_t allocations)
{
    hiredisAllocFuncs functions = {.mallocFn = scarce_malloc,
                                   .callocFn = scarce_calloc,
                                   .reallocFn = scarce_realloc,
                                   .strdupFn = strdup,
                                   .freeFn = free};

    hiredis_allowed = allocations;
    hiredisSetAllocators(&functions);
}

/* Also a teardown, so that a failed test does not starve the next. */
static inline int hiredis_tear_down(void **state)
{
    (void)state;
    hiredisResetAllocators();
    return 0;
}

#endif
