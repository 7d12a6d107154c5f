/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_ALLOC_H
#define SHOAL_BASE_ALLOC_H

/*
 * Every allocation of the library goes through here, so that it can be counted,
 * replaced by the user's hook, and made to fail by a test.
 * The fail counter is compiled in always: it costs one load per allocation, and
 * the steady state makes none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *shoal__malloc(size_t bytes);
void *shoal__calloc(size_t count, size_t bytes);
void *shoal__realloc(void *memory, size_t bytes);
void shoal__free(void *memory);

/* A NUL-terminated copy; NULL if memory ran out. */
char *shoal__strdup(const char *text);

/* Overwrite before freeing: for credentials. NULL is allowed. */
void shoal__wipe_free(void *memory, size_t bytes);

/* Overwrite in a way that the compiler cannot leave out. */
void shoal__wipe(void *memory, size_t bytes);

/* Successful allocations so far, in the process. */
uint64_t shoal__alloc_count(void);

/* Tests: let `allowed` more allocations succeed, then fail every one, until _never. */
void shoal__test_fail_alloc_after(size_t allowed);
void shoal__test_fail_alloc_never(void);

#endif
