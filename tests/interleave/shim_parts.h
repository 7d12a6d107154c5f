/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_SHIM_PARTS_H
#define TESTS_INTERLEAVE_SHIM_PARTS_H

/* What shim_begin() and shim_end() consist of. */
void shim_locks_begin(void);
void shim_locks_end(void);
void shim_descriptors_begin(void);
void shim_descriptors_end(void);
void shim_memory_begin(void);
void shim_memory_end(void);

#endif
