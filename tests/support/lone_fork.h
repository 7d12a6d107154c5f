/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_LONE_FORK_H
#define SHOAL_TESTS_LONE_FORK_H

/* Fork for a child that goes on as a test, and needs memory for it.
 *
 * A fork takes a copy of every lock, but only the thread that forks.  The C library frees
 * its allocator's locks in the child; AddressSanitizer (of gcc 12) does not, and a child
 * that was forked while another thread allocated waits for ever.  So the parent must have
 * one thread: begin the others afterwards. */

#include <sys/types.h>

/* fork(), which succeeds; fails the test unless this process has one thread. */
pid_t lone_fork(void);

/* _exit() for a child that was forked beside threads that allocate.  In builds for coverage
 * _exit() writes down what was reached, and allocates for it (tools/coverage.sh). */
_Noreturn void busy_fork_exit(int status);

#endif
