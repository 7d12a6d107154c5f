/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <shoal/alloc.h>
#include <shoal/errors.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NEVER SIZE_MAX

/* Written before the first use only, hence without a lock. */
static shoal_allocator_t allocator = {malloc, calloc, realloc, free};

static _Atomic uint64_t allocations;
static _Atomic size_t allowed_left = NEVER;

int shoal_allocator_set(const shoal_allocator_t *hook)
{
    if (!hook) {
        allocator = (shoal_allocator_t){malloc, calloc, realloc, free};
        return 0;
    }
    if (!hook->malloc_fn || !hook->calloc_fn || !hook->realloc_fn || !hook->free_fn)
        return SHOAL_EINVAL;
    allocator = *hook;
    return 0;
}

unsigned long long shoal_allocations(void)
{
    return shoal__alloc_count();
}

uint64_t shoal__alloc_count(void)
{
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

void shoal__test_fail_alloc_after(size_t allowed)
{
    atomic_store_explicit(&allowed_left, allowed, memory_order_relaxed);
}

void shoal__test_fail_alloc_never(void)
{
    shoal__test_fail_alloc_after(NEVER);
}

static bool may_allocate(void)
{
    size_t left = atomic_load_explicit(&allowed_left, memory_order_relaxed);

    while (left != NEVER && left > 0)
        if (atomic_compare_exchange_weak_explicit(&allowed_left, &left, left - 1,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed))
            break;
    return left > 0;
}

static void *counted(void *memory)
{
    if (memory)
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return memory;
}

/* An allocation of 0 bytes may return NULL.  With 1 byte instead, NULL is always a
 * failure. */
static size_t at_least_one(size_t bytes)
{
    return bytes > 0 ? bytes : 1;
}

void *shoal__malloc(size_t bytes)
{
    return may_allocate() ? counted(allocator.malloc_fn(at_least_one(bytes))) : NULL;
}

void *shoal__calloc(size_t count, size_t bytes)
{
    if (!may_allocate())
        return NULL;
    return counted(allocator.calloc_fn(at_least_one(count), at_least_one(bytes)));
}

void *shoal__realloc(void *memory, size_t bytes)
{
    if (!may_allocate())
        return NULL;
    return counted(allocator.realloc_fn(memory, at_least_one(bytes)));
}

void shoal__free(void *memory)
{
    if (memory)
        allocator.free_fn(memory);
}

char *shoal__strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = shoal__malloc(bytes);

    return copy ? memcpy(copy, text, bytes) : NULL;
}

void shoal__wipe(void *memory, size_t bytes)
{
    /* The compiler may not assume what a volatile pointer points at. */
    static void *(*const volatile overwrite)(void *, int, size_t) = memset;

    if (bytes > 0)
        overwrite(memory, 0, bytes);
}

void shoal__wipe_free(void *memory, size_t bytes)
{
    if (!memory)
        return;
    shoal__wipe(memory, bytes);
    shoal__free(memory);
}
