/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PYTHON_SCARCE_MEMORY_H
#define TESTS_PYTHON_SCARCE_MEMORY_H

/* malloc(), calloc() and realloc() of the whole program, which the linker turns here: so
 * many allocations succeed, then none. */

#include <stddef.h>
#include <stdint.h>

#define SCARCE_MEMORY_ENOUGH SIZE_MAX

void scarce_memory_allow(size_t allocations);

#endif
