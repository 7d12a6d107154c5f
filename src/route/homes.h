/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_HOMES_H
#define SHOAL_ROUTE_HOMES_H

/*
 * The ordinary connections of a client to one server.  Each key has one of them, its home;
 * core/lane_rule.h says which.  The first one has the commands without a key, too.
 *
 * Loop thread.
 */

#include "core/lane_rule.h"
#include "net/conn.h"
#include "route/route.h"

typedef struct shoal__homes {
    shoal__conn_t *conns; /* borrowed */
    size_t count;         /* 1 .. SHOAL__LANE_HOMES_MAX */
    uint64_t renew_us;    /* those that lead elsewhere are not renewed before */
} shoal__homes_t;

static inline bool shoal__homes_are_many(const shoal__homes_t *homes)
{
    return homes->count > 1;
}

/* Also in the callbacks that a loss runs. */
static inline bool shoal__home_is_ready(const shoal__conn_t *conn)
{
    return conn->pipe.phase == SHOAL__PIPE_READY && !conn->pipe.is_offline;
}

/* Does the connection lead to a server process that is known? */
bool shoal__home_has_process(const shoal__conn_t *conn);
/* Both do: to the same one? */
bool shoal__home_is_same_process(const shoal__conn_t *one, const shoal__conn_t *other);

/* Are all of them ready? */
bool shoal__homes_are_ready(const shoal__homes_t *homes);
/* ... and lead to processes that are known? */
bool shoal__homes_have_process(const shoal__homes_t *homes);
/* Do no two of them, as far as is known, lead to different processes? */
bool shoal__homes_are_kin(const shoal__homes_t *homes);
/* Has one of them a command that was submitted at until_us or before? */
bool shoal__homes_have_since(const shoal__homes_t *homes, uint64_t until_us);
/* When the oldest outstanding command was submitted, as shoal__pipe_oldest_us() says. */
uint64_t shoal__homes_oldest_us(const shoal__homes_t *homes);
/* One to which the last attempt to connect failed; NULL: there is none. */
const shoal__conn_t *shoal__homes_offline(const shoal__homes_t *homes);

/* All of them must be ready, and idle; the loop is worth a turn as soon as one of them is. */
void shoal__homes_view(const shoal__homes_t *homes, shoal__route_view_t *ret_view);

/* If the name of the server leads elsewhere now, all homes follow the one that was dialed
 * last, of those that are ready; and when this must be called again. */
void shoal__homes_renew(shoal__homes_t *homes, uint64_t now_us);
uint64_t shoal__homes_next_wake_us(const shoal__homes_t *homes);

#endif
