/* SPDX-License-Identifier: MIT */
#include "scarce_memory.h"

#include <stdbool.h>

/* The names are the linker's. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

static size_t allowed = SCARCE_MEMORY_ENOUGH;

void scarce_memory_allow(size_t allocations)
{
    allowed = allocations;
}

static bool may(void)
{
    if (allowed == 0)
        return false;
    if (allowed != SCARCE_MEMORY_ENOUGH)
        allowed--;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return may() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return may() ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return may() ? __real_realloc(memory, bytes) : NULL;
}
