/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_FAILING_MEMORY_H
#define SHOAL_TESTS_FAILING_MEMORY_H

/* Memory that runs out on request, for the library and for hiredis alike, and that is
 * counted, so that a leak shows without a sanitizer.  libuv's memory is counted only:
 * libuv itself ends the process when it cannot grow its tables. */

#include <stddef.h>

/* Call it once, before anything else of the library. */
void failing_memory_install(void);

/* Let `skip` allocations succeed, then fail `failures` of them, then succeed again. */
void failing_memory_arm(size_t skip, size_t failures);
/* No allocation fails any more.  Returns how many failed since the last call. */
size_t failing_memory_disarm(void);

/* How many blocks are allocated and not yet freed. */
size_t failing_memory_live(void);

#endif
