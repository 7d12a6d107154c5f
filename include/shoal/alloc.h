/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ALLOC_H
#define SHOAL_ALLOC_H

#include <shoal/version.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Replacements for four functions of the C library, with the same contracts.  The
 * structure is closed: it never gets another field. */
typedef struct shoal_allocator {
    void *(*malloc_fn)(size_t bytes);
    void *(*calloc_fn)(size_t count, size_t bytes);
    void *(*realloc_fn)(void *memory, size_t bytes);
    void (*free_fn)(void *memory);
} shoal_allocator_t;

/**
 * Use other allocation functions, in the whole process.
 *
 * Call this before any other function of the library.  Two kinds of memory do not come
 * from these functions: the parser's read buffer, which belongs to hiredis, and libuv's
 * own.
 *
 * @param allocator all four functions; copied.  NULL restores the C library's.
 *
 * Threads:   setup
 * Ownership: nothing passed in is kept
 * Errors:    SHOAL_EINVAL a function is missing
 * Since:     0.1
 */
SHOAL_EXTERN int shoal_allocator_set(const shoal_allocator_t *allocator);

/**
 * Allocations made by the library so far, in the whole process.
 *
 * Counts successful malloc, calloc and realloc calls, without those of hiredis and
 * libuv.  The difference over a period shows whether the steady state allocates (it
 * does not).
 *
 * Threads: any
 * Since:   0.1
 */
SHOAL_EXTERN unsigned long long shoal_allocations(void);

#ifdef __cplusplus
}
#endif

#endif
