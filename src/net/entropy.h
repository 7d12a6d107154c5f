/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_ENTROPY_H
#define SHOAL_NET_ENTROPY_H

/* A seed from the system's entropy, never from the time. */

#include <stddef.h>
#include <stdint.h>

uint64_t shoal__entropy(void);

/* The same for any number of bytes. */
void shoal__entropy_fill(void *memory, size_t bytes);

#endif
