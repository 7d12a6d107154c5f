/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_ENTROPY_H
#define SHOAL_NET_ENTROPY_H

/* A seed from the system's entropy, never from the time. */

#include <stdint.h>

uint64_t shoal__entropy(void);

#endif
