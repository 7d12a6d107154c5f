/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_UNIT_H
#define SHOAL_CORE_PIPE_UNIT_H

/*
 * Units that can go again (keeps_units).  A node of a cluster may refuse a unit when its
 * first parts are answered already.  So the replies to its parts are kept until the last one
 * comes, and its requests and bytes stay in registry and log: unit_rule.h decides whether
 * the unit goes again, whole, or its parts get their replies, one after the other.
 *
 * Requests of the library's own may go ahead of a unit, as its first parts (ASKING).  They
 * are INTERNAL, and nobody hears of their replies.
 *
 * If the server refuses to begin the unit, the commands run one by one, and nothing is kept.
 */

#include "core/pipe/pipe.h"

/* Is the reply that came kept, or does it end the unit that was kept, because it goes again?
 * Then nothing more is to be done.  Below 0: see pipe->fault. */
int shoal__pipe_unit_answered(shoal__pipe_t *pipe, const shoal_reply_t *reply);

/* The parts get the replies that were kept.  The head of the registry is then the part whose
 * reply comes next. */
void shoal__pipe_unit_release(shoal__pipe_t *pipe);

/* The kept replies are those of another connection. */
void shoal__pipe_unit_forget(shoal__pipe_t *pipe);

/* Part i of what was refused, as it goes again: a command alone is no unit. */
shoal__request_t shoal__refused_part(const shoal__refused_t *refused, uint64_t i);
/* The bytes of all its parts in the log. */
size_t shoal__refused_bytes(const shoal__refused_t *refused);

#endif
