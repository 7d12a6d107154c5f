/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_INTERRUPT_H
#define SHOAL_BENCH_INTERRUPT_H

/* Ctrl-C, SIGTERM and SIGHUP ask for an orderly end.  The second one ends at once. */

#include <stdbool.h>

int interrupt_catch(void);

bool interrupt_happened(void);

/* Readable from the first signal on. */
int interrupt_fd(void);

#endif
