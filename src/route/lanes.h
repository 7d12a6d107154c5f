/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_LANES_H
#define SHOAL_ROUTE_LANES_H

/*
 * The bulk lane: a second connection to the server of the ordinary one, for commands that
 * would hold small ones up.
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
 * Guarantee: commands of one thread that touch one key run in the order of their
 * submission.  A lost connection of which the server may still run a command is first
 * ended by its successor.
 *
 * Threads: the loop thread, but for shoal__lanes_each() and _read().
 */

#include "core/lane_rule.h"
#include "net/conn.h"
#include "route/route.h"

typedef struct shoal__lane {
    shoal__conn_t conn;
    shoal__pipe_t pen;
    shoal__lane_map_t map;
    shoal__route_hooks_t hooks; /* of the client, and their owner */
    void *owner;
    uint64_t used_us; /* when it last had something to do */
} shoal__lane_t;

typedef struct shoal__lanes {
    shoal__conn_t *ordinary; /* borrowed */
    shoal__route_hooks_t hooks;
    void *owner;
    shoal__conn_config_t config;   /* that of the ordinary connection, but for ... */
    _Atomic(shoal__lane_t *) bulk; /* NULL: it was never needed */
    bool is_allowed;               /* by the options */
    bool is_wanted;                /* a bulk command came, and there was no lane */
    bool keeps_writes;             /* WAIT was called */
    uint64_t again_us;             /* the lane is not opened before */
    shoal__counter_t taken;        /* commands that took the lane */
} shoal__lanes_t;

void shoal__lanes_init(shoal__lanes_t *lanes, shoal__conn_t *ordinary,
                       const shoal__route_hooks_t *hooks, void *owner, bool is_allowed);
/* After shut, or if nothing was ever opened. */
void shoal__lanes_release(shoal__lanes_t *lanes);

/* Which commands have left the lane?  There must be one. */
void shoal__lanes_look(shoal__lanes_t *lanes);
/* Do the lane and the ordinary connection lead to the same server process, and are both
 * ready? */
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
/* The commands in the pen count in the account. */
void shoal__lanes_publish(shoal__lanes_t *lanes);

/* Is no command outstanding, and no connection on its way? */
bool shoal__lanes_are_idle(const shoal__lanes_t *lanes);
/* Is a command outstanding that was submitted at until_us or before? */
bool shoal__lanes_have_since(const shoal__lanes_t *lanes, uint64_t until_us);

/* Any thread. */
void shoal__lanes_each(const shoal__lanes_t *lanes, shoal__route_visit_fn visit,
                       void *data);
void shoal__lanes_read(const shoal__lanes_t *lanes, shoal_stats_t *to);

void shoal__lanes_shut(shoal__lanes_t *lanes, uint64_t now_us);
void shoal__lanes_forget(shoal__lanes_t *lanes);

#endif
