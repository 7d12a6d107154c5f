/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_INTERRUPT_H
#define SHOAL_BENCH_INTERRUPT_H

/* Ctrl-C, SIGTERM and SIGHUP ask for an orderly end.  One more,
 * half a second later or more, ends at once. */

#include <stdbool.h>

#define EXIT_INTERRUPTED 130

int interrupt_catch(void);

bool interrupt_happened(void);

/* Readable from the first signal on. */
int interrupt_fd(void);

#endif
