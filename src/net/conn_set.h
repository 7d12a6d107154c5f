/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_CONN_SET_H
#define SHOAL_NET_CONN_SET_H

/*
 * The connections of one loop: which of them a turn must look at.
 *
 * A turn looks at a connection if the connection was touched since the last turn (bytes
 * came, or a command was left for it), or if the time that it asked for has come.  All
 * other connections cost nothing.
 */

#include "core/pipe/pipe.h"
#include "net/conn_shared.h"

/* 0 or SHOAL_ENOMEM; on failure nothing needs to be released. */
int shoal__conn_set_init(shoal__conn_set_t *set, uint64_t seed,
                         shoal__account_t *account);
/* Every connection was released. */
void shoal__conn_set_release(shoal__conn_set_t *set);

/* Look at those that were touched or are due.  Returns when to be called again.  No
 * connection may be released meanwhile. */
uint64_t shoal__conn_set_turn(shoal__conn_set_t *set, uint64_t now_us);
/* When a turn is due if nothing but time passes: now, if a connection was touched. */
uint64_t shoal__conn_set_next_us(const shoal__conn_set_t *set, uint64_t now_us);

/* What the pipe has outstanding counts in the account, as it is now.  For pipes without a
 * connection; the set counts the others. */
void shoal__conn_set_count(shoal__conn_set_t *set, shoal__pipe_t *pipe);
/* Bring the account up to date; also in the middle of a turn. */
void shoal__conn_set_publish(shoal__conn_set_t *set);

#endif
