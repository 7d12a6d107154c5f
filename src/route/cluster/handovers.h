/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_HANDOVERS_H
#define SHOAL_ROUTE_CLUSTER_HANDOVERS_H

/*
 * The hand-overs of slots between the nodes of a cluster: core/handover.h moves the commands
 * of one pair of pipes; here are the pairs, and which pen has the commands of a slot.
 *
 * A slot may also go to the bulk lane of its node, and back (bulk.h).  Such a hand-over is recalled
 * when the connection is lost that the commands leave, and before the map changes: then they are
 * all where they were.  When it is over the map says LANE, or LANE no more.
 *
 * While a slot is handed over, the map says MOVES.  A pair exists as long as one of its
 * hand-overs is not over.
 *
 * Loop thread.
 */

#include "core/cluster/slot_map.h"
#include "core/handover.h"
#include "net/conn.h"

/* A slot goes from a connection's pipe to another one, of which `to_conn` is the connection;
 * NULL: it has none. */
typedef struct shoal__slot_move {
    unsigned slot;
    shoal__pipe_t *from, *to;
    shoal__conn_t *from_conn, *to_conn;
    bool is_begun; /* set by shoal__handovers_begin() */
} shoal__slot_move_t;

typedef struct shoal__pair shoal__pair_t;

typedef struct shoal__handovers {
    shoal__conn_set_t *set;                 /* borrowed: pens count in its account */
    shoal__slot_map_t *map;                 /* borrowed */
    shoal__pair_t **pairs;                  /* NULL: a place that is free */
    unsigned places;                        /* of them */
    shoal__counter_t queued_now, bytes_now; /* in the pens; any thread reads */
    uint16_t pens[SHOAL__SLOTS];            /* the number of the slot's pen; NO_PEN */
} shoal__handovers_t;

#define SHOAL__NO_PEN 0xFFFFu

void shoal__handovers_init(shoal__handovers_t *handovers, shoal__conn_set_t *set,
                           shoal__slot_map_t *map);
/* After abandon, or if none ever began. */
void shoal__handovers_release(shoal__handovers_t *handovers);

/* Begin those moves for which there is memory.  None of the slots is MOVES already.  Not
 * from a hook. */
void shoal__handovers_begin(shoal__handovers_t *handovers, shoal__slot_move_t *moves,
                            size_t count, uint64_t now_us);

/* Where new commands of a slot that MOVES go; and where commands go that the owner before
 * refuses meanwhile, if `from` is that owner; else NULL. */
shoal__pipe_t *shoal__handovers_pen(const shoal__handovers_t *handovers, unsigned slot);
const shoal__slot_move_t *shoal__handovers_move_of(const shoal__handovers_t *handovers,
                                                   unsigned slot);

/* Do commands go from this pipe, or to it? */
bool shoal__handovers_use(const shoal__handovers_t *handovers,
                          const shoal__pipe_t *pipe);

/* Is it on its way to a bulk lane, or back? */
bool shoal__handovers_are_by_lane(const shoal__handovers_t *handovers, unsigned slot);
/* Has a slot on its way between the two connections of this node's connection a command that was
 * submitted at until_us or before? */
bool shoal__handovers_lane_has_since(const shoal__handovers_t *handovers,
                                     const shoal__conn_t *conn, uint64_t until_us);
/* Recall those to the bulk lane of this node, and back; NULL: of all nodes.  Without memory some
 * are not over yet.  Not from a hook. */
void shoal__handovers_recall(shoal__handovers_t *handovers, const void *node,
                             uint64_t now_us);

/* The connection of this pipe was lost. */
void shoal__handovers_lost(shoal__handovers_t *handovers, const shoal__pipe_t *from);

/* Deadlines in the pens, and those that are over; nodes that are silent.  Before anything is
 * written. */
void shoal__handovers_turn(shoal__handovers_t *handovers, uint64_t now_us);
uint64_t shoal__handovers_next_wake_us(const shoal__handovers_t *handovers);

bool shoal__handovers_cancel(shoal__handovers_t *handovers, uint64_t ticket,
                             uint64_t now_us);
/* The commands in the pens count in the account. */
void shoal__handovers_publish(shoal__handovers_t *handovers);
/* Is nothing outstanding in the pens? */
bool shoal__handovers_are_idle(const shoal__handovers_t *handovers);
/* Settle all commands in the pens. */
void shoal__handovers_abandon(shoal__handovers_t *handovers, uint64_t now_us);

#endif
