/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_DOUBTS_H
#define SHOAL_ROUTE_DOUBTS_H

/*
 * A connection that was lost with writes unanswered is ended by its successor, which greets
 * with CLIENT KILL (former.h).  It may have none for a while, or for good: a lease closes it,
 * or the server takes no more connections.  Then another connection of the client ends it.
 *
 * Loop thread.
 */

#include "net/conn.h"
#include "net/conn_set.h"

/* Has a connection of the set left something to ask for? */
static inline bool shoal__doubts_exist(const shoal__conn_set_t *set)
{
    return set->shared.doubtful != NULL;
}

/* Ask over this connection, if it is ready and there is something to ask. */
void shoal__doubts_ask(shoal__conn_t *over, uint64_t now_us);

#endif
