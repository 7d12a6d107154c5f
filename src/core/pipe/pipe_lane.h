/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_LANE_H
#define SHOAL_CORE_PIPE_LANE_H

/* What the bulk lane wants to know of a pipe. */

#include "core/pipe/pipe.h"

/* When the oldest outstanding command was submitted, our own not counted; 0: one waits to
 * be sent again; SHOAL__NEVER_US: none is outstanding. */
uint64_t shoal__pipe_oldest_us(const shoal__pipe_t *pipe);
/* ... and the youngest one in the registry; 0: there is none. */
uint64_t shoal__pipe_youngest_us(const shoal__pipe_t *pipe);

/* For pipe_replies.c: the reply to the command at the head of the registry is large
 * (heavy.h).  Its bytes are not taken in yet. */
void shoal__pipe_learn(shoal__pipe_t *pipe);

#endif
