/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_LANE_H
#define SHOAL_CORE_PIPE_LANE_H

/* For pipe_replies.c: the reply to the command at the head of the registry is large
 * (heavy.h).  Its bytes are not taken in yet. */

#include "core/pipe/pipe.h"

void shoal__pipe_learn(shoal__pipe_t *pipe);

#endif
