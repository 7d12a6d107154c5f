/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_RIG_PARTS_H
#define TESTS_INTERLEAVE_RIG_PARTS_H

/* Between the loop of the rig and its connection. */

#include <stdbool.h>

void rig_loop_begin(void);
/* Has the loop's thread something to read?  What to watch for that. */
bool rig_socket_is_readable(void);
const void *rig_socket(void);
void rig_socket_read(void);

#endif
