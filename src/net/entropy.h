/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_ENTROPY_H
#define SHOAL_NET_ENTROPY_H

/* Unpredictable bytes from the system's entropy; a poor substitute on a system that has
 * none. */

#include <stddef.h>
#include <stdint.h>

/* A seed. */
uint64_t shoal__entropy(void);

/* The same for any number of bytes. */
void shoal__entropy_fill(void *memory, size_t bytes);

#endif
