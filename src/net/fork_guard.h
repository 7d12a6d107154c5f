/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_FORK_GUARD_H
#define SHOAL_NET_FORK_GUARD_H

/* Tells a forked child from its parent for the price of a load, where asking for the
 * process id would be a system call.  (I14) */

#include <stdint.h>

/* A number that differs between a process and its children. */
uint64_t shoal__fork_generation(void);

/* Begin to count; before the first client.  0 or SHOAL_ESYSTEM. */
int shoal__fork_guard_start(void);

#endif
