/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_LANES_H
#define SHOAL_ROUTE_LANES_H

/*
 * Commands that cannot go straight to an ordinary connection: those for the bulk lane, one
 * more connection to the same server, because they would hold small ones up; and, if there
 * are several ordinary connections, those whose keys have several homes among them.
 *
 *     ordinary:  s1 a b s2 | c d ...          s: commands for one key; S: a bulk one
 *     pen:                   S s3             S waits for s1 and s2, s3 for S
 *     lane:                        S s3       once the ordinary one has answered s1, s2
 *
 * A bulk command waits in the pen until the ordinary connection has answered everything
 * that was submitted before it.  Then it moves to the lane.  Later commands for its key
 * follow it, until the lane has answered it.  Nothing that stands in a log moves, because
 * the ordinary connection has no command that takes long.
 *
 * The lane is opened for the first bulk command, which does not wait for it.  Commands take
 * the lane only while it leads to the same server process as the ordinary connection, and
 * both are ready.  It is closed when nothing used it for a minute.
 *
 * Several ordinary connections, *homes*: S waits until all of them have answered what was
 * submitted before it.  A command whose keys have several homes waits in the pen, too.
 * What leaves the pen goes to the lane if that is open, else to the first home; "in the
 * lane" below means: in the pen, in the lane, or moved from there to the first home.
 *
 * Guarantee: commands of one thread that touch one key run in the order of their
 * submission.  A lost connection of which the server may still run a command is first
 * ended by its successor.
 *
 * Threads: the loop thread, but for shoal__lanes_each() and _read().
 */

#include "route/homes.h"
#include "route/lane.h"

typedef struct shoal__lanes {
    shoal__homes_t *homes; /* borrowed */
    shoal__route_hooks_t hooks;
    void *owner;
    shoal__conn_config_t config; /* that of the ordinary connection, but for ... */
    _Atomic(shoal__lane_t *)
        bulk;               /* NULL: it was never needed; several homes have it */
    bool is_allowed;        /* by the options */
    bool is_wanted;         /* a bulk command came, and there was no lane */
    bool keeps_writes;      /* WAIT was called */
    uint64_t again_us;      /* the lane is not opened before: an attempt failed */
    bool was_looked_at;     /* since the last turn */
    uint64_t moved_us;      /* no command went to the first home instead that was
                                      submitted later; 0: none is there */
    shoal__counter_t taken; /* commands that took the lane */
} shoal__lanes_t;

/* 0 or SHOAL_ENOMEM. */
int shoal__lanes_init(shoal__lanes_t *lanes, shoal__homes_t *homes,
                      const shoal__route_hooks_t *hooks, void *owner, bool is_allowed);
/* After shut, or if nothing was ever opened. */
void shoal__lanes_release(shoal__lanes_t *lanes);

/* Which commands have left the lane?  For a caller that asks for each command: looks once
 * between two turns, because it looks at all that are there. */
void shoal__lanes_look_once(shoal__lanes_t *lanes);
/* Do the lane and the homes lead to the same server process, and are all of them ready? */
bool shoal__lanes_are_twins(const shoal__lanes_t *lanes);

/* Some commands of a side of the mailbox. */
typedef struct shoal__lanes_share {
    size_t commands, bytes;
} shoal__lanes_share_t;
/* The pipe for the commands that lane_choice.h found, with room for them; `is_behind`: others
 * of the same side go to the ordinary connection.  NULL: no memory. */
shoal__pipe_t *shoal__lanes_reserve(shoal__lanes_t *lanes, shoal__lanes_share_t share,
                                    bool is_behind, char **ret_bytes);
/* The next one's bytes are there. */
void shoal__lanes_push(shoal__lanes_t *lanes, shoal__pipe_t *pipe,
                       const shoal__request_t *request, uint64_t now_us);

/* Open, move on from the pen, close.  Returns when to be called again. */
uint64_t shoal__lanes_turn(shoal__lanes_t *lanes, uint64_t now_us);
uint64_t shoal__lanes_next_wake_us(const shoal__lanes_t *lanes);
void shoal__lanes_read_ahead(shoal__lanes_t *lanes);

bool shoal__lanes_cancel(shoal__lanes_t *lanes, uint64_t ticket, uint64_t now_us);
void shoal__lanes_reconnect(shoal__lanes_t *lanes, uint64_t now_us);
/* The credentials changed. */
void shoal__lanes_authenticate(shoal__lanes_t *lanes, uint64_t now_us);
/* The commands in the pen count in the account. */
void shoal__lanes_publish(shoal__lanes_t *lanes);

/* Is no command outstanding, and no connection on its way? */
bool shoal__lanes_are_idle(const shoal__lanes_t *lanes);
/* Is a command outstanding that was submitted at until_us or before?  Those that went
 * straight to the first home do not count. */
bool shoal__lanes_have_since(const shoal__lanes_t *lanes, uint64_t until_us);

/* Any thread. */
void shoal__lanes_each(const shoal__lanes_t *lanes, shoal__route_visit_fn visit,
                       void *data);
void shoal__lanes_read(const shoal__lanes_t *lanes, shoal_stats_t *to);

void shoal__lanes_shut(shoal__lanes_t *lanes, uint64_t now_us);
void shoal__lanes_forget(shoal__lanes_t *lanes);

#endif
