/* SPDX-License-Identifier: MIT */
#include "support/failing/failing_memory.h"

#include <hiredis/alloc.h>
#include <shoal/alloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static _Atomic size_t live;
static _Atomic size_t before_first; /* allocations that succeed before the failures */
static _Atomic size_t to_fail;
static _Atomic size_t failed;

static bool take_one(_Atomic size_t *count)
{
    size_t left = atomic_load(count);

    while (left > 0)
        if (atomic_compare_exchange_weak(count, &left, left - 1))
            return true;
    return false;
}

static bool runs_out(void)
{
    if (atomic_load(&to_fail) == 0 || take_one(&before_first) || !take_one(&to_fail))
        return false;
    atomic_fetch_add(&failed, 1);
    return true;
}

static void *counted(void *memory)
{
    if (memory)
        atomic_fetch_add(&live, 1);
    return memory;
}

static void *count_malloc(size_t bytes)
{
    return counted(malloc(bytes));
}

static void *count_calloc(size_t count, size_t bytes)
{
    return counted(calloc(count, bytes));
}

static void *count_realloc(void *memory, size_t bytes)
{
    void *moved = realloc(memory, bytes);

    return memory ? moved : counted(moved);
}

static void count_free(void *memory)
{
    if (memory)
        atomic_fetch_sub(&live, 1);
    free(memory);
}

static void *fail_malloc(size_t bytes)
{
    return runs_out() ? NULL : count_malloc(bytes);
}

static void *fail_calloc(size_t count, size_t bytes)
{
    return runs_out() ? NULL : count_calloc(count, bytes);
}

static void *fail_realloc(void *memory, size_t bytes)
{
    return runs_out() ? NULL : count_realloc(memory, bytes);
}

static char *fail_strdup(const char *text)
{
    char *copy = fail_malloc(strlen(text) + 1);

    return copy ? strcpy(copy, text) : NULL;
}

void failing_memory_install(void)
{
    const shoal_allocator_t ours = {fail_malloc, fail_calloc, fail_realloc, count_free};
    hiredisAllocFuncs theirs = {fail_malloc, fail_calloc, fail_realloc, fail_strdup,
                                count_free};

    (void)hiredisSetAllocators(&theirs);
    if (shoal_allocator_set(&ours) != 0 ||
        uv_replace_allocator(count_malloc, count_realloc, count_calloc, count_free) !=
            0) {
        fprintf(stderr, "no allocator can be set\n");
        abort();
    }
}

void failing_memory_arm(size_t skip, size_t failures)
{
    atomic_store(&before_first, skip);
    atomic_store(&to_fail, failures);
}

size_t failing_memory_disarm(void)
{
    atomic_store(&to_fail, 0);
    return atomic_exchange(&failed, 0);
}

size_t failing_memory_live(void)
{
    return atomic_load(&live);
}
