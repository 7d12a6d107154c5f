/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_SUCCESSION_H
#define SHOAL_CORE_PIPE_SUCCESSION_H

/*
 * A pipe leaves its connection for a new one, and keeps its commands.  renewal.h says when.
 *
 *   1. A *greeter*, a pipe that never has a user's command, greets the new connection.
 *   2. The pipe drains: nothing more leaves, and what was sent is answered.
 *   3. The pipe takes over what the greeter has learned, and goes on over the new
 *      connection.  What is queued stays queued.
 *
 * If the time for 2 is over, what is unanswered is settled as at a loss.  The new connection
 * then ends the old one first (former.h), before any command.
 */

#include "core/pipe/pipe.h"

/* NULL: no memory.  The owner hears pushes that come during the greeting, or behind it, and what
 * becomes of its own commands, if it gives the greeter any. */
shoal__pipe_t *shoal__pipe_new_greeter(const shoal__pipe_t *pipe);
/* What the greeter counted counts for the pipe.  NULL is allowed. */
void shoal__pipe_free_greeter(shoal__pipe_t *pipe, shoal__pipe_t *greeter);

/* The greeter is READY: from now on nothing leaves over the present connection but the rest
 * of what was begun. */
void shoal__pipe_drain(shoal__pipe_t *pipe, uint64_t now_us);

/* Is it time to leave the connection?  Asked after the tick. */
bool shoal__pipe_makes_way(const shoal__pipe_t *pipe, uint64_t now_us);

/* When it makes way at the latest; and when to look at the renewal again, if nothing but
 * time passes.  NEVER, both. */
uint64_t shoal__pipe_renewal_end_us(const shoal__pipe_t *pipe);
uint64_t shoal__pipe_renewal_wake_us(const shoal__pipe_t *pipe);

/* Is a command unanswered, or partly written, so that leaving the connection is a loss? */
bool shoal__pipe_owes_replies(const shoal__pipe_t *pipe);

/* Go on over the connection that the greeter, which is READY, has greeted.  The pipe is
 * READY; or GREETING, until former connections were ended.  0 or pipe->fault: treat the new
 * connection as lost. */
int shoal__pipe_succeed(shoal__pipe_t *pipe, shoal__pipe_t *greeter, uint64_t now_us);

/* The pipe makes way, but there is no other connection: say AUTH with the new credentials over
 * the present one.  The pipe is GREETING, and READY after the answer; also if the server
 * refused (greeting.is_refused).  0 or pipe->fault: treat the connection as lost. */
int shoal__pipe_authenticate(shoal__pipe_t *pipe, uint64_t now_us);

#endif
