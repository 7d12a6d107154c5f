/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_DOUBT_H
#define SHOAL_CORE_PIPE_DOUBT_H

/*
 * Is a reply settled (shoal_result_is_settled())?
 *
 * Commands of one client use several connections.  So a reply is settled only if no pipe of
 * the loop has lost a connection whose commands the server that answered may still run
 * (former.h).  shoal__pipe_doubt_changed() tells the others.
 */

#include "core/pipe/pipe.h"

/* What other pipes doubt has changed: does it matter to this one? */
void shoal__pipe_doubt_look(shoal__pipe_t *pipe);
/* Are the replies that come now settled?  Asked for each. */
static inline bool shoal__pipe_is_settled(shoal__pipe_t *pipe)
{
    if (pipe->doubts_seen != pipe->shared->doubts_changed)
        shoal__pipe_doubt_look(pipe);
    return pipe->is_settled && pipe->are_others_settled;
}

#endif
