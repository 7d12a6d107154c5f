/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_MATRIX_CHILD_H
#define SHOAL_TESTS_MATRIX_CHILD_H

/* A part of a test in a process of its own: it begins without a rig and may have one.  What
 * fails there ends it, and fails the test that waits for it. */

#include <sys/types.h>

/* Fork and run; no rig may be under way, and no other thread (support/lone_fork.h).  The
 * child dies with this process. */
pid_t matrix_child_start(void (*run)(void *data), void *data);
/* Wait for its end; a failure unless it ran to the end of `run`. */
void matrix_child_end(pid_t child);

#endif
